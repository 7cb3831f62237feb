// Text on its way through the normalizers that knows where it came from: each byte has the range of the original text that it
// stands for. The ranges are those of `tokenizers`, oddities included, because the offsets of tokens come from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/utf8.h"

namespace inlay {

// Bytes of the original text.
struct ByteRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// A character that a step writes. Its change is 0 where it stands for the next character of the text before, 1 where it comes
// on top and has the range of what is before it, and -n where it stands for the next character and n more behind that one go.
struct Edit {
  uint32_t code;
  int change;
};

class AlignedText {
 public:
  // `original` is well-formed UTF-8 and lies at `begin` in the whole text, which has less than 4 GiB.
  AlignedText(std::string_view original, size_t begin);

  const std::string& text() const { return text_; }
  // Of each byte of the text.
  const std::vector<ByteRange>& ranges() const { return ranges_; }
  // False once a step met a text of which it is not known what the reference would make.
  bool is_exact() const { return is_exact_; }

  // The edits make the whole text.
  void transform(const std::vector<Edit>& edits);
  // Every character becomes change(character), which may be empty and stands for that character.
  template <class Change>
  void map_chars(Change change) {
    expect_start();
    std::string text;
    std::vector<ByteRange> ranges;
    for (size_t at = 0; at < text_.size();) {
      const size_t size = decode_utf8(text_.data() + at, text_.data() + text_.size()).size;
      text += change(std::string_view(text_).substr(at, size));
      ranges.resize(text.size(), ranges_[at]);
      at += size;
    }
    text_ = std::move(text);
    ranges_ = std::move(ranges);
  }
  // Only the bytes from `begin` to `end` stay.
  void keep(size_t begin, size_t end);
  // `content`, which stands for the end of what it replaces, in the place of each match (begin, end), in order.
  void replace(const std::vector<std::pair<size_t, size_t>>& matches, std::string_view content);
  // `prefix` stands for the first character; an empty text stays empty.
  void prepend(std::string_view prefix);

 private:
  ByteRange before(size_t at) const { return at == 0 ? ByteRange{begin_, begin_} : ranges_[at - 1]; }
  // The reference misses the beginning of a text that stands for nothing when it transforms it.
  void expect_start() { is_exact_ = is_exact_ && (ranges_.empty() || ranges_[0].begin < ranges_[0].end); }

  std::string text_;
  std::vector<ByteRange> ranges_;
  uint32_t begin_;
  bool is_exact_ = true;
};

}  // namespace inlay
