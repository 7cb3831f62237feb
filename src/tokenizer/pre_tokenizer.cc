#include "tokenizer/pre_tokenizer.h"

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

using Pieces = std::vector<std::string_view>;

// Collects a text character by character into pieces.
class Cutter {
 public:
  Cutter(std::string_view text, Pieces& pieces)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), pieces_(pieces) {}

  bool is_done() const { return at_ == end_; }
  // The flags of the next character, which becomes the current one.
  uint16_t next() {
    const Decoded character = decode_utf8(at_, end_);
    current_ = at_;
    at_ += character.size;
    return char_class(character.code).flags;
  }
  void cut_before() { cut(current_, current_); }
  void cut_after() { cut(at_, at_); }
  // Ends the piece before the current character, which belongs to none.
  void drop() { cut(current_, at_); }
  void finish() { cut(end_, end_); }

 private:
  void cut(const char* piece_end, const char* next_begin) {
    if (begin_ < piece_end) pieces_.emplace_back(begin_, static_cast<size_t>(piece_end - begin_));
    begin_ = next_begin;
  }

  const char* begin_;  // of the piece in progress
  const char* current_ = nullptr;
  const char* at_;
  const char* end_;
  Pieces& pieces_;
};

}  // namespace

void CharSplit::split(std::string_view text, StepState&, Pieces& pieces) const {
  Cutter cutter(text, pieces);
  bool was_match = false;
  bool is_first = true;
  while (!cutter.is_done()) {
    const bool is_match = (cutter.next() & flags_) != 0;
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (is_match) cutter.drop();
        break;
      case SplitBehavior::kIsolated:
        if (is_match || was_match) cutter.cut_before();
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (was_match) cutter.cut_before();
        break;
      case SplitBehavior::kMergedWithNext:
        if (is_match) cutter.cut_before();
        break;
      case SplitBehavior::kContiguous:
        if (!is_first && is_match != was_match) cutter.cut_before();
        break;
    }
    was_match = is_match;
    is_first = false;
  }
  cutter.finish();
}

bool CharSplit::cuts_at_space() const { return (flags_ & kWhite) != 0 && behavior_ == SplitBehavior::kRemoved; }

void BertSplit::split(std::string_view text, StepState&, Pieces& pieces) const {
  Cutter cutter(text, pieces);
  while (!cutter.is_done()) {
    const uint16_t flags = cutter.next();
    if ((flags & kWhite) != 0) {
      cutter.drop();
    } else if ((flags & kPunctuation) != 0) {
      cutter.cut_before();
      cutter.cut_after();
    }
  }
  cutter.finish();
}

void WordSplit::split(std::string_view text, StepState&, Pieces& pieces) const {
  Cutter cutter(text, pieces);
  uint16_t previous = 0;
  while (!cutter.is_done()) {
    const uint16_t flags = cutter.next() & (kWord | kWhite);
    if ((flags & kWhite) != 0) {
      cutter.drop();
    } else if (flags != previous) {
      cutter.cut_before();
    }
    previous = flags;
  }
  cutter.finish();
}

}  // namespace inlay
