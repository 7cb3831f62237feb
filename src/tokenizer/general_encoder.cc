#include "tokenizer/general_encoder.h"

#include <algorithm>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

bool is_alphanumeric(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// A token that may reach over a space, or take the space behind it, would see the cut.
bool stays_within_words(const AddedTokenMatcher::Pattern& pattern) {
  return !pattern.token.rstrip && pattern.text.find(' ') == std::string::npos;
}

bool may_cut(const GeneralEncoder::Steps& steps) {
  const AddedTokenMatcher& tokens = steps.normalized_tokens;
  return std::all_of(steps.normalizers.begin(), steps.normalizers.end(), [](const auto& step) { return step->is_local(); }) &&
         std::any_of(steps.pre_tokenizers.begin(), steps.pre_tokenizers.end(),
                     [](const auto& step) { return step->cuts_at_space(); }) &&
         std::all_of(tokens.patterns().begin(), tokens.patterns().end(), stays_within_words);
}

}  // namespace

GeneralEncoder::GeneralEncoder(Steps steps, const Model& model) : steps_(std::move(steps)), model_(model) {
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
  std::string text = is_valid_utf8(chunk) ? std::string(chunk) : replace_invalid_utf8(chunk);
  for (const std::unique_ptr<Normalizer>& normalizer : steps_.normalizers) normalizer->apply(text);
  AddedTokenMatcher::Cursor cursor;
  size_t done = 0;
  while (!sink.is_full()) {
    const std::optional<AddedTokenMatcher::Match> match =
        steps_.normalized_tokens.find(text, text.size(), state.skip_special, cursor);
    const size_t end = match ? match->begin : text.size();
    if (done < end) encode_plain(std::string_view(text).substr(done, end - done), state, sink);
    if (!match) break;
    if (match->begin < match->end) sink.push(match->id);
    done = match->end;
  }
}

void GeneralEncoder::encode_plain(std::string_view text, EncodeState& state, IdSink& sink) const {
  std::vector<std::string_view> pieces{text};
  std::vector<std::string_view> finer;
  for (const std::unique_ptr<PreTokenizer>& pre_tokenizer : steps_.pre_tokenizers) {
    finer.clear();
    for (const std::string_view piece : pieces) pre_tokenizer->split(piece, finer);
    pieces.swap(finer);
  }
  for (const std::string_view piece : pieces) {
    if (sink.is_full()) return;
    model_.tokenize(piece, state.scratch, sink);
  }
}

}  // namespace inlay
