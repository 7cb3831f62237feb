#include "engine/engine.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "engine/engine_impl.h"

namespace inlay {
void Engine::Impl::fill(EngineLane& lane, std::span<const TokenizedText* const> texts) const {
  lane.batch.clear();
  lane.prompt_tokens.clear();
  for (const TokenizedText* text : texts) {
    lane.batch.add(text->ids, text->type_ids);
    lane.prompt_tokens.push_back(std::min(text->prompt_tokens, static_cast<int>(text->ids.size()) - 1));
  }
  INLAY_CHECK(lane.batch.tokens() <= lane.workspace.max_tokens(), "batches are planned within max_batch_tokens");
}

void Engine::Impl::finish(EngineLane& lane, float* out, std::span<Result<>> status) const {
  head.apply(lane.batch, lane.prompt_tokens, lane.workspace.hidden(), lane.memory, out);
  const int dimensions = head.dimensions();
  for (int text = 0; text < lane.batch.texts(); ++text) {
    const float* vector = out + static_cast<int64_t>(text) * dimensions;
    if (std::all_of(vector, vector + dimensions, [](float value) { return std::isfinite(value); })) continue;
    status[text] = fail(ErrorCode::kInternal, "the vector is not finite (NaN or infinity)");
  }
}

int Engine::Impl::max_lane_tokens() const { return std::max(max_batch_tokens, max_length); }

EngineLanePtr Engine::Impl::make_lane(int ranks) const {
  return EngineLanePtr(new EngineLane(plan.compute, encoder->sizes(), max_lane_tokens(), ranks));
}

Result<> Engine::Impl::check(const TokenizedText& text) const {
  if (text.ids.empty()) return fail(ErrorCode::kInvalidArgument, "the text has no tokens");
  if (static_cast<int64_t>(text.ids.size()) > max_length) {
    return fail(ErrorCode::kTooLarge, "{} tokens, at most {} are taken", text.ids.size(), max_length);
  }
  for (size_t i = 0; i < text.ids.size(); ++i) {
    if (text.ids[i] >= 0 && text.ids[i] < spec.encoder.vocab_size) continue;
    return fail(ErrorCode::kInvalidArgument, "token id {} at position {} is not in 0 to {}", text.ids[i], i,
                spec.encoder.vocab_size - 1);
  }
  return {};
}

void EngineLaneDeleter::operator()(EngineLane* lane) const { delete lane; }

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

const ModelSpec& Engine::spec() const { return impl_->spec; }
const Tokenizer& Engine::tokenizer() const { return impl_->tokenizer; }
Precision Engine::precision() const { return impl_->precision; }
std::string_view Engine::isa() const { return impl_->plan.compute.kernels->name; }
int Engine::dimensions() const { return impl_->head.dimensions(); }
int Engine::max_length() const { return impl_->max_length; }
int Engine::threads() const { return impl_->team->size(); }
uint64_t Engine::weight_bytes() const { return impl_->encoder->weight_bytes() + impl_->head.weight_bytes(); }
double Engine::flop(std::span<const int> lengths) const { return impl_->encoder->flop(lengths); }
int Engine::max_batch_tokens() const { return impl_->max_batch_tokens; }

Result<TokenizedText> Engine::tokenize(std::string_view text) const { return tokenize(text, {}); }

Result<TokenizedText> Engine::tokenize(std::string_view text, const TextOptions& options) const {
  EncodeOptions encode = impl_->encode_options;
  if (options.max_length) encode.max_length = std::min(encode.max_length, *options.max_length);
  if (options.truncate_side) encode.truncation = *options.truncate_side;
  if (encode.max_length < impl_->tokenizer.special_tokens()) {
    return fail(ErrorCode::kInvalidArgument, "max_length is {}, but the tokenizer alone adds {} special tokens", encode.max_length,
                impl_->tokenizer.special_tokens());
  }
  const std::string& prompt = options.prompt ? *options.prompt : impl_->prompt;
  int prompt_tokens = options.prompt ? 0 : impl_->prompt_tokens;
  if (options.prompt && !prompt.empty() && !pools_prompt(impl_->spec)) {
    prompt_tokens = TRY(count_prompt_tokens(impl_->tokenizer, prompt, encode));
  }
  std::string with_prompt;
  if (!prompt.empty()) {
    with_prompt.reserve(prompt.size() + text.size());
    with_prompt.append(prompt).append(text);
    text = with_prompt;
  }
  Encoding encoding = TRY(impl_->tokenizer.encode(text, encode));
  TokenizedText result{std::move(encoding.ids), std::move(encoding.type_ids), prompt_tokens, encoding.truncated};
  // A model without a second token type has one row; transformers feeds it zeros as well.
  if (impl_->spec.encoder.token_types < 2) result.type_ids.clear();
  TRY_VOID(impl_->check(result));
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
  TRY_VOID(impl_->check(text));
  return text;
}

Result<> Engine::check(const TokenizedText& text) const { return impl_->check(text); }
int Engine::max_lane_tokens() const { return impl_->max_lane_tokens(); }
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
void Engine::end_batch(EngineLane& lane, float* out, std::span<Result<>> status) const { impl_->finish(lane, out, status); }

}  // namespace inlay
