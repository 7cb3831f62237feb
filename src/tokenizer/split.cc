#include "tokenizer/split.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

using Pieces = std::vector<std::string_view>;

// Takes a text as spans that are matches or lie between matches, and makes pieces of them.
class SpanCutter {
 public:
  SpanCutter(std::string_view text, SplitBehavior behavior, Pieces& pieces)
      : text_(text), behavior_(behavior), pieces_(pieces) {}

  void add(size_t begin, size_t end, bool is_match) {
    if (has_span_ && cuts_before(is_match)) finish_piece(begin);
    if (behavior_ == SplitBehavior::kRemoved && is_match) piece_ = end;
    was_match_ = is_match;
    has_span_ = true;
  }
  void finish() { finish_piece(text_.size()); }

 private:
  bool cuts_before(bool is_match) const {
    switch (behavior_) {
      case SplitBehavior::kRemoved:
      case SplitBehavior::kIsolated: return true;
      case SplitBehavior::kMergedWithPrevious: return !is_match || was_match_;
      case SplitBehavior::kMergedWithNext: return is_match || !was_match_;
      case SplitBehavior::kContiguous: return is_match != was_match_;
    }
    return true;
  }

  void finish_piece(size_t end) {
    if (piece_ >= end) return;
    pieces_.push_back(text_.substr(piece_, end - piece_));
    piece_ = end;
  }

  std::string_view text_;
  SplitBehavior behavior_;
  Pieces& pieces_;
  size_t piece_ = 0;  // where the piece in progress begins
  bool was_match_ = false;
  bool has_span_ = false;
};

// Patterns that tokenizers are known to use. Each takes a letter or digit run without the space behind it, a space together
// with what follows, and looks ahead from white space alone.
constexpr std::array<std::string_view, 5> kKnownPatterns = {
    // GPT-2, RoBERTa, ModernBERT
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    // Qwen 2 and 3
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    // Llama 3
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    // Qwen 3.5: letters with their marks
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

}  // namespace

const std::string_view kGpt2Pattern = kKnownPatterns[0];

bool pattern_cuts_at_space(std::string_view pattern) {
  return std::find(kKnownPatterns.begin(), kKnownPatterns.end(), pattern) != kKnownPatterns.end();
}

void RegexSplit::split(std::string_view text, StepState& state, Pieces& pieces) const {
  SpanCutter cutter(text, options_.behavior, pieces);
  Regex::Cursor cursor;
  size_t done = 0;
  while (true) {
    const Result<std::optional<Regex::Match>> found = regex_.next(text, cursor, state.regex);
    if (!found) {
      state.error = found.error();
      return;
    }
    const std::optional<Regex::Match>& match = *found;
    if (!match) break;
    if (done < match->begin) cutter.add(done, match->begin, options_.invert);
    cutter.add(match->begin, match->end, !options_.invert);
    done = match->end;
  }
  if (done < text.size()) cutter.add(done, text.size(), options_.invert);
  cutter.finish();
}

void DelimiterSplit::split(std::string_view text, StepState&, Pieces& pieces) const {
  while (!text.empty()) {
    const size_t end = std::min(text.find(delimiter_), text.size());
    if (end > 0) pieces.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + delimiter_.size(), text.size()));
  }
}

void LengthSplit::split(std::string_view text, StepState&, Pieces& pieces) const {
  while (!text.empty()) {
    size_t end = 0;
    for (size_t count = 0; count < length_ && end < text.size(); ++count) {
      end += decode_utf8(text.data() + end, text.data() + text.size()).size;
    }
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void PrefixSpace::split(std::string_view text, StepState& state, Pieces& pieces) const {
  if (text.starts_with(' ')) {
    pieces.push_back(text);
    return;
  }
  char* const out = state.arena.allocate(text.size() + 1);
  out[0] = ' ';
  std::memcpy(out + 1, text.data(), text.size());
  pieces.emplace_back(out, text.size() + 1);
}

// The space stands for the first character.
std::vector<ByteRange> PrefixSpace::align(std::string_view text, std::span<const ByteRange> ranges, const StepState&) const {
  std::vector<ByteRange> result(ranges.begin(), ranges.end());
  if (!text.starts_with(' ')) result.insert(result.begin(), ranges.front());
  return result;
}

void ByteMap::split(std::string_view text, StepState& state, Pieces& pieces) const {
  char* const begin = state.arena.allocate(text.size() * 2);
  char* out = begin;
  for (const char byte : text) out += encode_utf8(char_of_byte(static_cast<uint8_t>(byte)), out);
  state.arena.shrink(out);
  pieces.emplace_back(begin, static_cast<size_t>(out - begin));
}

std::vector<ByteRange> ByteMap::align(std::string_view text, std::span<const ByteRange> ranges, const StepState&) const {
  std::vector<ByteRange> result;
  char bytes[4];
  for (size_t at = 0; at < text.size(); ++at) {
    result.insert(result.end(), encode_utf8(char_of_byte(static_cast<uint8_t>(text[at])), bytes), ranges[at]);
  }
  return result;
}

}  // namespace inlay
