#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "tokenizer/added_tokens.h"
#include "tokenizer/bert_encoder.h"
#include "tokenizer/general_encoder.h"
#include "tokenizer/token_placer.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

// Bytes that are looked at before it is asked again whether enough ids are there.
constexpr size_t kChunkBytes = 4096;

using Pattern = AddedTokenMatcher::Pattern;

// An added token is not longer than this when it is normalized; nor is it in any tokenizer.
constexpr size_t kMaxPatternBytes = 1 << 20;

Result<std::vector<Pattern>> patterns_of(const std::vector<AddedToken>& tokens, bool normalized,
                                         const Normalizers& normalizers) {
  std::vector<Pattern> patterns;
  StepState state;
  state.max_text = kMaxPatternBytes;
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    Pattern pattern{token.content, token};
    if (normalized) {
      for (const std::unique_ptr<Normalizer>& normalizer : normalizers) normalizer->apply(pattern.text, state);
      if (state.error) return tl::unexpected<Error>(*std::move(state.error));
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

IdSink::Keep keep_of(TruncationSide side) { return side == TruncationSide::kLeft ? IdSink::Keep::kTail : IdSink::Keep::kHead; }

// Cuts what there is of a text to `limit`.
template <class Item>
void trim(std::vector<Item>& items, size_t limit, TruncationSide side) {
  if (items.size() <= limit) return;
  if (side == TruncationSide::kLeft) {
    items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(limit));
  } else {
    items.resize(limit);
  }
}

struct PairLengths {
  size_t first;
  size_t second;
};

// The longer text is cut to the length of the shorter, then both alike. Of two equally long ones the first counts as the
// shorter.
PairLengths fit_both(PairLengths lengths, size_t budget) {
  const bool is_swapped = lengths.first > lengths.second;
  size_t shorter = std::min(lengths.first, lengths.second);
  size_t longer = shorter > budget ? shorter : std::max(shorter, budget - shorter);
  if (shorter + longer > budget) {
    shorter = budget / 2;
    longer = shorter + budget % 2;
  }
  return is_swapped ? PairLengths{longer, shorter} : PairLengths{shorter, longer};
}

// nullopt where the text that may be cut would have nothing left.
std::optional<PairLengths> fit_pair(PairLengths lengths, size_t budget, PairTruncation strategy) {
  if (lengths.first + lengths.second <= budget) return lengths;
  if (budget == 0) return PairLengths{0, 0};
  if (strategy == PairTruncation::kLongestFirst) return fit_both(lengths, budget);
  const size_t kept = strategy == PairTruncation::kOnlyFirst ? lengths.second : lengths.first;
  if (kept >= budget) return std::nullopt;
  return strategy == PairTruncation::kOnlyFirst ? PairLengths{budget - kept, kept} : PairLengths{kept, budget - kept};
}

// Encode calls borrow their memory here, so that a short text costs no allocation and caches outlive a call.
class StatePool {
 public:
  std::unique_ptr<EncodeState> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (states_.empty()) return std::make_unique<EncodeState>();
    std::unique_ptr<EncodeState> state = std::move(states_.back());
    states_.pop_back();
    return state;
  }
  void give(std::unique_ptr<EncodeState> state) {
    state->steps.error.reset();
    state->scratch.trim();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (states_.size() < kKept) states_.push_back(std::move(state));
  }

 private:
  static constexpr size_t kKept = 64;

  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeState>> states_;
};

// Makes tokens of the vocabulary special ones, sought in the text as it is, whatever they were.
void add_special(std::vector<AddedToken>& added, const Vocabulary& vocabulary, std::span<const std::string> special) {
  for (const std::string& content : special) {
    const auto known =
        std::find_if(added.begin(), added.end(), [&content](const AddedToken& token) { return token.content == content; });
    const std::optional<int32_t> id = known != added.end() ? known->id : vocabulary.id_of(content);
    if (!id) continue;
    if (known != added.end()) added.erase(known);
    added.push_back({.content = content, .id = *id, .special = true});
  }
}

tl::unexpected<Error> too_long(int max_length) {
  return fail(ErrorCode::kTooLarge, "text has more than {} tokens, the most that fit", max_length);
}

}  // namespace

struct Tokenizer::Pipeline {
  std::unique_ptr<TokenizerModel> model;
  GeneralEncoder::Steps steps;
  std::unique_ptr<ChunkEncoder> encoder;
  AddedTokenMatcher raw_tokens;
  std::map<std::string, AddedToken, std::less<>> added_by_content;
  std::map<int32_t, const AddedToken*> added_by_id;
  PostProcessor post_processor;
  TokenDecoder decoder;
  std::optional<int> model_max_length;
  mutable StatePool states;
  bool needs_valid_text = false;  // an added token could match the U+FFFD that stands for ill-formed bytes

  // Ids that max_length leaves for the text itself.
  Result<size_t> budget(const EncodeOptions& options, bool is_pair) const;
  Result<IdSink> encode(std::string_view text, const EncodeOptions& options, size_t limit) const;
  void encode_into(std::string_view text, EncodeState& state, IdSink& sink) const;
  std::vector<PlacedToken> place(std::string_view text, const EncodeOptions& options) const;
  Encoding finish(const std::vector<int32_t>& first, const std::vector<int32_t>* second, bool add_special) const;
};

Result<size_t> Tokenizer::Pipeline::budget(const EncodeOptions& options, bool is_pair) const {
  const size_t special = options.add_special_tokens ? post_processor.special_count(is_pair) : 0;
  if (options.max_length < 1 || static_cast<size_t>(options.max_length) < special) {
    return fail(ErrorCode::kInvalidArgument, "max_length is {}, wanted at least {}: the special tokens alone take {}",
                options.max_length, std::max<size_t>(special, 1), special);
  }
  return static_cast<size_t>(options.max_length) - special;
}

Result<IdSink> Tokenizer::Pipeline::encode(std::string_view text, const EncodeOptions& options, size_t limit) const {
  IdSink sink(limit, keep_of(options.truncation));
  std::unique_ptr<EncodeState> state = states.take();
  state->skip_special = options.escape_special_tokens;
  if (needs_valid_text && !is_valid_utf8(text)) {
    encode_into(replace_invalid_utf8(text), *state, sink);
  } else {
    encode_into(text, *state, sink);
  }
  std::optional<Error> error = std::move(state->steps.error);
  states.give(std::move(state));
  if (error) return tl::unexpected<Error>(*std::move(error));
  return sink;
}

// Chunk by chunk, each up to the next added token or to a place where the text may be cut. The cut is sought only where no
// token is near, and kept until it is reached, so that the search for it stays linear.
void Tokenizer::Pipeline::encode_into(std::string_view text, EncodeState& state, IdSink& sink) const {
  AddedTokenMatcher::Cursor cursor;
  size_t cut = 0;
  size_t done = 0;
  while (done < text.size() && !sink.is_full() && !state.steps.error) {
    size_t end = std::min(text.size(), done + kChunkBytes);
    std::optional<AddedTokenMatcher::Match> match = raw_tokens.find(text, end, state.skip_special, cursor);
    if (!match && end < text.size()) {
      if (cut <= end) cut = encoder->find_cut(text, end);
      end = cut;
      match = raw_tokens.find(text, end, state.skip_special, cursor);
    }
    if (match) end = match->begin;
    state.is_start = done == 0;
    if (done < end) encoder->encode(text.substr(done, end - done), state, sink);
    if (match && match->begin < match->end && !sink.is_full()) sink.push(match->id);
    done = match ? match->end : end;
  }
}

std::vector<PlacedToken> Tokenizer::Pipeline::place(std::string_view text, const EncodeOptions& options) const {
  if (text.size() > UINT32_MAX) return {};
  std::unique_ptr<EncodeState> state = states.take();
  state->skip_special = options.escape_special_tokens;
  std::vector<PlacedToken> tokens = TokenPlacer(raw_tokens, steps, *model).place(text, *state);
  states.give(std::move(state));
  return tokens;
}

Encoding Tokenizer::Pipeline::finish(const std::vector<int32_t>& first, const std::vector<int32_t>* second,
                                     bool add_special) const {
  const Template& pieces = post_processor.of(second != nullptr);
  Encoding result;
  const size_t special = add_special ? post_processor.special_count(second != nullptr) : 0;
  result.ids.reserve(first.size() + (second != nullptr ? second->size() : 0) + special);
  const bool has_types =
      std::any_of(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) { return piece.type_id != 0; });
  for (const TemplatePiece& piece : pieces) {
    if (piece.part == TemplatePart::kSpecial && !add_special) continue;
    const std::vector<int32_t>& ids = piece.part == TemplatePart::kSpecial ? piece.ids
                                      : piece.part == TemplatePart::kFirst ? first
                                                                           : *second;
    result.ids.insert(result.ids.end(), ids.begin(), ids.end());
    if (has_types) result.type_ids.resize(result.ids.size(), piece.type_id);
  }
  if (std::all_of(result.type_ids.begin(), result.type_ids.end(), [](int32_t type) { return type == 0; }))
    result.type_ids.clear();
  return result;
}

Tokenizer::Tokenizer(std::unique_ptr<Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& folder, bool lower_case_first,
                                  std::span<const std::string> special) {
  TokenizerParts parts = TRY(read_tokenizer_files(folder, lower_case_first));
  add_special(parts.added_tokens, parts.model->vocabulary(), special);
  std::unique_ptr<Pipeline> pipeline = std::make_unique<Pipeline>();
  const std::vector<AddedToken>& added = parts.added_tokens;
  pipeline->raw_tokens = TRY(patterns_of(added, false, {}).and_then(AddedTokenMatcher::build));
  AddedTokenMatcher normalized = TRY(patterns_of(added, true, parts.steps.normalizers).and_then(AddedTokenMatcher::build));
  // BPE reads the bytes themselves rather than the characters that ByteLevel would write for them.
  if (parts.steps.ends_in_byte_map && parts.bpe != nullptr && parts.bpe->read_bytes()) parts.steps.pre_tokenizers.pop_back();
  pipeline->model = std::move(parts.model);
  pipeline->steps = {std::move(parts.steps.normalizers), std::move(normalized), std::move(parts.steps.pre_tokenizers)};
  if (parts.steps.bert && parts.word_piece != nullptr && pipeline->steps.normalized_tokens.is_empty()) {
    pipeline->encoder = std::make_unique<BertEncoder>(*parts.steps.bert, *parts.word_piece);
  } else {
    pipeline->encoder = std::make_unique<GeneralEncoder>(pipeline->steps, *pipeline->model);
  }
  for (const AddedToken& token : added) {
    pipeline->needs_valid_text |= token.content.find("\xEF\xBF\xBD") != std::string::npos;
    const AddedToken& kept = pipeline->added_by_content.emplace(token.content, token).first->second;
    pipeline->added_by_id.emplace(kept.id, &kept);
  }
  pipeline->post_processor = std::move(parts.post_processor);
  pipeline->decoder = std::move(parts.decoder);
  pipeline->model_max_length = parts.model_max_length;
  return Tokenizer(std::move(pipeline));
}

Result<Encoding> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const size_t budget = TRY(pipeline_->budget(options, false));
  IdSink sink = TRY(pipeline_->encode(text, options, budget));
  const bool truncated = sink.has_dropped();
  if (truncated && options.truncation == TruncationSide::kNone) return too_long(options.max_length);
  Encoding result = pipeline_->finish(sink.take(), nullptr, options.add_special_tokens);
  result.truncated = truncated;
  return result;
}

Result<Encoding> Tokenizer::encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const {
  const size_t budget = TRY(pipeline_->budget(options, true));
  // Which text is the longer one matters even where both are too long, so that texts are read until one of them ends.
  size_t limit = budget + 1;
  IdSink of_first = TRY(pipeline_->encode(first, options, limit));
  IdSink of_second = TRY(pipeline_->encode(second, options, limit));
  IdSink sinks[] = {std::move(of_first), std::move(of_second)};
  const bool is_shared = options.pair_truncation == PairTruncation::kLongestFirst;
  while (is_shared && sinks[0].is_full() && sinks[1].is_full() && options.truncation == TruncationSide::kRight &&
         budget % 2 == 1) {
    limit *= 2;
    sinks[0] = TRY(pipeline_->encode(first, options, limit));
    sinks[1] = TRY(pipeline_->encode(second, options, limit));
  }
  const PairLengths lengths{sinks[0].count(), sinks[1].count()};
  const std::optional<PairLengths> fits = fit_pair(lengths, budget, options.pair_truncation);
  if (!fits) {
    return fail(ErrorCode::kTooLarge, "one text of a pair fills max_length {} alone, and is not to be truncated",
                options.max_length);
  }
  const PairLengths fitting = *fits;
  const bool truncated = fitting.first < lengths.first || fitting.second < lengths.second;
  if (truncated && options.truncation == TruncationSide::kNone) return too_long(options.max_length);
  std::vector<int32_t> ids[] = {sinks[0].take(), sinks[1].take()};
  trim(ids[0], fitting.first, options.truncation);
  trim(ids[1], fitting.second, options.truncation);
  Encoding result = pipeline_->finish(ids[0], &ids[1], options.add_special_tokens);
  result.truncated = truncated;
  return result;
}

std::vector<std::optional<Offsets>> Tokenizer::offsets(const Encoding& encoding, std::string_view text,
                                                       std::optional<std::string_view> second,
                                                       const EncodeOptions& options) const {
  const std::string texts[] = {replace_invalid_utf8(text), replace_invalid_utf8(second.value_or(""))};
  std::vector<PlacedToken> tokens[] = {pipeline_->place(texts[0], options), pipeline_->place(texts[1], options)};
  const std::vector<std::optional<Offsets>> unknown(encoding.ids.size());
  const Result<size_t> budget = pipeline_->budget(options, second.has_value());
  if (!budget) return unknown;
  const std::optional<PairLengths> fits =
      fit_pair({tokens[0].size(), tokens[1].size()}, *budget, second ? options.pair_truncation : PairTruncation::kOnlyFirst);
  if (!fits) return unknown;
  trim(tokens[0], fits->first, options.truncation);
  trim(tokens[1], fits->second, options.truncation);
  std::vector<int32_t> ids;
  std::vector<std::optional<Offsets>> result;
  for (const TemplatePiece& piece : pipeline_->post_processor.of(second.has_value())) {
    if (piece.part == TemplatePart::kSpecial) {
      if (!options.add_special_tokens) continue;
      ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
      result.resize(ids.size());
      continue;
    }
    const size_t which = piece.part == TemplatePart::kFirst ? 0 : 1;
    for (const PlacedToken& token : tokens[which]) ids.push_back(token.id);
    const std::vector<std::optional<Offsets>> found = offsets_of(texts[which], tokens[which], pipeline_->post_processor.trims);
    result.insert(result.end(), found.begin(), found.end());
  }
  return ids == encoding.ids ? result : unknown;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    const std::optional<std::string_view> token = id_to_token(id);
    if (!token) continue;
    // A token counts as special by what it says, whichever id it came from.
    const auto added = pipeline_->added_by_content.find(*token);
    const bool is_special = added != pipeline_->added_by_content.end() && added->second.special;
    if (!(skip_special_tokens && is_special)) tokens.emplace_back(*token);
  }
  return pipeline_->decoder.decode(std::move(tokens));
}

int Tokenizer::vocab_size() const {
  const int64_t in_model = pipeline_->model->vocabulary().id_limit();
  const int64_t added = pipeline_->added_by_id.empty() ? 0 : int64_t{pipeline_->added_by_id.rbegin()->first} + 1;
  const int64_t in_templates = pipeline_->post_processor.id_limit();
  return static_cast<int>(std::min<int64_t>(std::max({in_model, added, in_templates}), INT32_MAX));
}

int Tokenizer::special_tokens(bool pair) const { return static_cast<int>(pipeline_->post_processor.special_count(pair)); }

bool Tokenizer::is_special(int32_t id) const {
  const auto found = pipeline_->added_by_id.find(id);
  return found != pipeline_->added_by_id.end() && found->second->special;
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto found = pipeline_->added_by_content.find(token);
  return found != pipeline_->added_by_content.end() ? found->second.id : pipeline_->model->vocabulary().id_of(token);
}

std::optional<std::string_view> Tokenizer::id_to_token(int32_t id) const {
  const auto found = pipeline_->added_by_id.find(id);
  if (found != pipeline_->added_by_id.end()) return found->second->content;
  return pipeline_->model->vocabulary().token_of(id);
}

std::string_view Tokenizer::kind() const { return pipeline_->model->kind(); }

std::optional<int> Tokenizer::model_max_length() const { return pipeline_->model_max_length; }

}  // namespace inlay
