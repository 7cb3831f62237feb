#include "engine/engine.h"

#include <algorithm>

#include "base/check.h"
#include "engine/engine_impl.h"

namespace inlay {
void Engine::Impl::fill(EngineLane& lane, std::span<const TokenizedText* const> texts) const {
  lane.batch.clear();
  lane.prompt_tokens.clear();
  lane.outputs.clear();
  lane.queries.clear();
  lane.chunks.clear();
  lane.any_output = {};
  for (const TokenizedText* text : texts) {
    lane.batch.add(text->ids, text->type_ids, text->seen_tokens);
    lane.prompt_tokens.push_back(std::min(text->prompt_tokens, static_cast<int>(text->ids.size()) - 1));
    lane.outputs.push_back(text->outputs);
    lane.queries.push_back(text->is_query);
    lane.chunks.push_back(text->chunks);
    lane.any_output.add(text->outputs);
  }
  INLAY_CHECK(lane.batch.tokens() <= lane.workspace.max_tokens(), "batches are planned within max_batch_tokens");
}

uint64_t Engine::Impl::head_bytes() const { return head.weight_bytes() + (classifier ? classifier->weight_bytes() : 0); }

int Engine::Impl::max_lane_tokens() const { return std::max(max_batch_tokens, max_length); }

EngineLanePtr Engine::Impl::make_lane(int ranks) const {
  EngineLanePtr lane(new EngineLane(plan.compute, encoder->sizes(), max_lane_tokens(), ranks));
  if (sparse) lane->sparse_memory = sparse->make_memory(max_lane_tokens(), ranks);
  return lane;
}

Result<> Engine::Impl::check_ids(const TokenizedText& text) const {
  if (text.ids.empty()) return fail(ErrorCode::kInvalidArgument, "the text has no tokens");
  if (static_cast<int64_t>(text.ids.size()) > max_length) {
    return fail(ErrorCode::kTooLarge, "{} tokens, at most {} are taken", text.ids.size(), max_length);
  }
  for (size_t i = 0; i < text.ids.size(); ++i) {
    if (text.ids[i] >= 0 && text.ids[i] < spec.encoder.vocab_size) continue;
    return fail(ErrorCode::kInvalidArgument, "token id {} at position {} is not in 0 to {}", text.ids[i], i,
                spec.encoder.vocab_size - 1);
  }
  // Templates of a tokenizer.json say any number.
  const int types = std::max(spec.encoder.token_types, 1);
  for (const int32_t type : text.type_ids) {
    if (type >= 0 && type < types) continue;
    return fail(ErrorCode::kInvalidArgument, "token type {} is not in 0 to {}", type, types - 1);
  }
  return {};
}

Result<> Engine::Impl::check(const TokenizedText& text) const {
  if (text.outputs.empty() || !outputs.has_all(text.outputs)) {
    return fail(ErrorCode::kUnsupported, "asked for '{}', the model gives: {}", output_names(text.outputs),
                output_names(outputs));
  }
  TRY_VOID(check_ids(text));
  const int length = static_cast<int>(text.ids.size());
  for (const TokenSpan& chunk : text.chunks) {
    if (chunk.begin >= 0 && chunk.begin < chunk.end && chunk.end <= length) continue;
    return fail(ErrorCode::kInvalidArgument, "a chunk of tokens {} to {} is not in a text of {}", chunk.begin, chunk.end,
                length);
  }
  return {};
}

void EngineLaneDeleter::operator()(EngineLane* lane) const { delete lane; }

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

const ModelSpec& Engine::spec() const { return impl_->spec; }
OutputSet Engine::outputs() const { return impl_->outputs; }
Result<> Engine::require(OutputKind kind) const {
  if (impl_->outputs.has(kind)) return {};
  return fail(ErrorCode::kUnsupported, "the model gives no {}; it gives: {}", output_name(kind), output_names(impl_->outputs));
}
const Tokenizer& Engine::tokenizer() const {
  INLAY_CHECK(impl_->tokenizer, "an engine for token ids has no tokenizer");
  return *impl_->tokenizer;
}
Precision Engine::precision() const { return impl_->precision; }
std::string_view Engine::isa() const { return impl_->plan.compute.kernels->name; }
int Engine::dimensions() const { return impl_->head.dimensions(); }
int Engine::max_length() const { return impl_->max_length; }
int Engine::threads() const { return impl_->team->size(); }
uint64_t Engine::weight_bytes() const { return impl_->encoder->memory().packed_bytes() + impl_->head_bytes(); }
double Engine::flop(std::span<const int> lengths) const { return impl_->encoder->flop(lengths); }
int Engine::max_batch_tokens() const { return impl_->max_batch_tokens; }

Result<TokenizedText> Engine::tokenize(std::string_view text) const { return tokenize(text, {}); }

int Engine::Impl::most_tokens(const TextOptions& options) const {
  int most = std::min(max_length, options.max_length.value_or(max_length));
  if (!spec.tokens) return most;
  most = std::min(most, (options.is_query ? spec.tokens->query_length : spec.tokens->document_length).value_or(most));
  if (!options.is_query || !fill_id) return most;
  // What a query is filled up to is a part of the model, and no limit of the caller's.
  return spec.tokens->fill->cuts ? spec.tokens->fill->length : std::max(most, spec.tokens->fill->length);
}

void Engine::Impl::fill_up(TokenizedText& query) const {
  const size_t length = static_cast<size_t>(spec.tokens->fill->length);
  if (query.ids.size() >= length) return;
  if (!spec.tokens->fill->is_seen) query.seen_tokens = static_cast<int>(query.ids.size());
  query.ids.resize(length, *fill_id);
  if (!query.type_ids.empty()) query.type_ids.resize(length, 0);
}

Result<EncodeOptions> Engine::Impl::encode_options_for(const TextOptions& options, bool is_pair) const {
  if (!tokenizer) return fail(ErrorCode::kInvalidArgument, "the model was loaded for token ids, not for texts");
  EncodeOptions encode = encode_options;
  encode.max_length = most_tokens(options);
  if (options.truncate_side) encode.truncation = *options.truncate_side;
  const int special_tokens = tokenizer->special_tokens(is_pair);
  if (encode.max_length >= special_tokens) return encode;
  return fail(ErrorCode::kInvalidArgument, "max_length is {}, but the tokenizer alone adds {} special tokens",
              encode.max_length, special_tokens);
}

Result<TokenizedText> Engine::tokenize(std::string_view text, const TextOptions& options) const {
  const EncodeOptions encode = TRY(impl_->encode_options_for(options, false));
  const Tokenizer& tokenizer = *impl_->tokenizer;
  const std::string& prompt = options.prompt ? *options.prompt : impl_->prompt;
  int prompt_tokens = options.prompt ? 0 : impl_->prompt_tokens;
  if (options.prompt && !prompt.empty() && !pools_prompt(impl_->spec)) {
    prompt_tokens = TRY(count_prompt_tokens(tokenizer, prompt, encode));
  }
  std::string with_prompt;
  if (!prompt.empty()) {
    with_prompt.reserve(prompt.size() + text.size());
    with_prompt.append(prompt).append(text);
    text = with_prompt;
  }
  Encoding encoding = TRY(tokenizer.encode(text, encode));
  TokenizedText result{std::move(encoding.ids), std::move(encoding.type_ids), prompt_tokens, encoding.truncated};
  result.is_query = options.is_query;
  // A model without a second token type has one row; transformers feeds it zeros as well.
  if (impl_->spec.encoder.token_types < 2) result.type_ids.clear();
  if (options.is_query && impl_->fill_id) impl_->fill_up(result);
  TRY_VOID(impl_->check_ids(result));
  return result;
}

Result<TokenizedText> Engine::tokenize_pair(std::string_view first, std::string_view second, const TextOptions& options) const {
  if (impl_->spec.classifier && impl_->spec.classifier->logit_score) return impl_->tokenize_judgement(first, second, options);
  const EncodeOptions encode = TRY(impl_->encode_options_for(options, true));
  std::string prompted = options.prompt ? *options.prompt : impl_->prompt;
  prompted.append(first);
  Encoding encoding = TRY(impl_->tokenizer->encode_pair(prompted, second, encode));
  TokenizedText result{std::move(encoding.ids), std::move(encoding.type_ids), 0, encoding.truncated};
  result.outputs = {OutputKind::kScores};
  if (impl_->spec.encoder.token_types < 2) result.type_ids.clear();
  TRY_VOID(impl_->check_ids(result));
  return result;
}

Result<TokenizedText> Engine::from_ids(std::span<const int64_t> ids) const {
  if (static_cast<int64_t>(ids.size()) > impl_->max_length) {
    return fail(ErrorCode::kTooLarge, "{} tokens, at most {} are taken", ids.size(), impl_->max_length);
  }
  TokenizedText text;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= impl_->spec.encoder.vocab_size) {
      return fail(ErrorCode::kInvalidArgument, "token id {} at position {} is not in 0 to {}", ids[i], i,
                  impl_->spec.encoder.vocab_size - 1);
    }
    text.ids.push_back(static_cast<int32_t>(ids[i]));
  }
  TRY_VOID(impl_->check_ids(text));
  return text;
}

Result<> Engine::check(const TokenizedText& text) const { return impl_->check(text); }
int Engine::max_lane_tokens() const { return impl_->max_lane_tokens(); }
EngineMemory Engine::memory() const {
  const EncoderMemory encoder = impl_->encoder->memory();
  EngineMemory memory;
  memory.linear = encoder.linear;
  memory.tables = encoder.tables;
  memory.tokenizer = impl_->tokenizer_bytes;
  memory.linear.own += impl_->head_bytes();
  const std::lock_guard<std::mutex> lock(impl_->lanes_mutex);
  for (const EngineLanePtr& lane : impl_->lanes) memory.lanes.add(lane->bytes());
  return memory;
}

LaneMemory Engine::lane_memory(const EngineLane& lane) const { return lane.bytes(); }
EngineLanePtr Engine::make_lane() const { return impl_->make_lane(1); }
EngineLanePtr Engine::make_lane(int ranks) const { return impl_->make_lane(ranks); }

void Engine::embed_batch(EngineLane& lane, std::span<const TokenizedText* const> texts, float* out,
                         std::span<Result<>> status) const {
  begin_batch(lane, texts);
  run_batch(lane, Share{});
  end_batch(lane, out, status);
}

void Engine::begin_batch(EngineLane& lane, std::span<const TokenizedText* const> texts) const { impl_->fill(lane, texts); }
void Engine::run_batch(EngineLane& lane, const Share& share) const { impl_->run(lane, share); }

}  // namespace inlay
