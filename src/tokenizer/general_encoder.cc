#include "tokenizer/general_encoder.h"

#include <algorithm>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

// Memory for text that is kept from one call to the next.
constexpr size_t kKeptText = 64 << 10;
// Normal forms make at most 18 characters of one; nothing that a tokenizer does to text comes near this.
constexpr size_t kMaxGrowth = 64;

bool is_alphanumeric(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// A token that may reach over a space, or take the space behind it, would see the cut.
bool stays_within_words(const AddedTokenMatcher::Pattern& pattern) {
  return !pattern.token.rstrip && pattern.text.find(' ') == std::string::npos;
}

bool may_cut(const GeneralEncoder::Steps& steps) {
  const AddedTokenMatcher& tokens = steps.normalized_tokens;
  const PreTokenizers& splits = steps.pre_tokenizers;
  return std::all_of(steps.normalizers.begin(), steps.normalizers.end(), [](const auto& step) { return step->is_local(); }) &&
         std::any_of(splits.begin(), splits.end(), [](const auto& step) { return step->cuts_at_space(); }) &&
         std::all_of(splits.begin(), splits.end(), [](const auto& step) { return step->keeps_cuts(); }) &&
         std::all_of(tokens.patterns().begin(), tokens.patterns().end(), stays_within_words);
}

}  // namespace

size_t max_normalized_size(size_t size) { return size * kMaxGrowth + kKeptText; }

GeneralEncoder::GeneralEncoder(const Steps& steps, const TokenizerModel& model) : steps_(steps), model_(model) {
  can_cut_ = may_cut(steps_);
}

size_t GeneralEncoder::find_cut(std::string_view text, size_t from) const {
  if (!can_cut_) return text.size();
  for (size_t space = text.find(' ', from + 1); space < text.size(); space = text.find(' ', space + 1)) {
    if (is_alphanumeric(text[space - 1]) && space + 1 < text.size() && is_alphanumeric(text[space + 1])) return space;
  }
  return text.size();
}

void GeneralEncoder::encode(std::string_view chunk, EncodeState& state, IdSink& sink) const {
  std::string& text = state.text;
  if (is_valid_utf8(chunk)) {
    text.assign(chunk);
  } else {
    text = replace_invalid_utf8(chunk);
  }
  state.steps.max_text = max_normalized_size(text.size());
  for (const std::unique_ptr<Normalizer>& normalizer : steps_.normalizers) {
    normalizer->apply(text, state.steps);
    if (state.steps.error) return;
  }
  state.steps.start = state.is_start ? text.data() : nullptr;
  AddedTokenMatcher::Cursor cursor;
  size_t done = 0;
  while (!sink.is_full()) {
    const std::optional<AddedTokenMatcher::Match> match =
        steps_.normalized_tokens.find(text, text.size(), state.skip_special, cursor);
    const size_t end = match ? match->begin : text.size();
    if (done < end) encode_plain(std::string_view(text).substr(done, end - done), state, sink);
    if (!match || state.steps.error) break;
    if (match->begin < match->end) sink.push(match->id);
    done = match->end;
  }
  if (text.capacity() > kKeptText) std::string().swap(text);
}

void GeneralEncoder::encode_plain(std::string_view text, EncodeState& state, IdSink& sink) const {
  state.steps.arena.clear();
  state.pieces.assign(1, text);
  for (const std::unique_ptr<PreTokenizer>& pre_tokenizer : steps_.pre_tokenizers) {
    state.finer.clear();
    for (const std::string_view piece : state.pieces) {
      pre_tokenizer->split(piece, state.steps, state.finer);
      if (state.steps.error) return;
    }
    state.pieces.swap(state.finer);
  }
  for (const std::string_view piece : state.pieces) {
    if (sink.is_full()) return;
    model_.tokenize(piece, state.scratch, sink);
  }
}

}  // namespace inlay
