#include "tokenizer/aligned_text.h"

namespace inlay {

AlignedText::AlignedText(std::string_view original, size_t begin) : text_(original), begin_(static_cast<uint32_t>(begin)) {
  ranges_.reserve(original.size());
  for (size_t at = 0; at < original.size();) {
    const size_t size = decode_utf8(original.data() + at, original.data() + original.size()).size;
    const ByteRange range{static_cast<uint32_t>(begin + at), static_cast<uint32_t>(begin + at + size)};
    ranges_.insert(ranges_.end(), size, range);
    at += size;
  }
}

void AlignedText::transform(const std::vector<Edit>& edits) {
  expect_start();
  std::string text;
  std::vector<ByteRange> ranges;
  size_t at = 0;
  for (const Edit& edit : edits) {
    ByteRange range = before(at);
    if (edit.change <= 0) {
      is_exact_ = is_exact_ && at < text_.size();
      if (at < text_.size()) range = ranges_[at];
      for (int taken = edit.change; taken <= 0 && at < text_.size(); ++taken) {
        at += decode_utf8(text_.data() + at, text_.data() + text_.size()).size;
      }
    }
    append_utf8(text, edit.code);
    ranges.resize(text.size(), range);
  }
  text_ = std::move(text);
  ranges_ = std::move(ranges);
}

void AlignedText::keep(size_t begin, size_t end) {
  expect_start();
  text_ = text_.substr(begin, end - begin);
  ranges_ = std::vector<ByteRange>(ranges_.begin() + static_cast<std::ptrdiff_t>(begin),
                                   ranges_.begin() + static_cast<std::ptrdiff_t>(end));
}

void AlignedText::replace(const std::vector<std::pair<size_t, size_t>>& matches, std::string_view content) {
  std::string text;
  std::vector<ByteRange> ranges;
  size_t done = 0;
  const auto copy = [&](size_t end) {
    text.append(text_, done, end - done);
    ranges.insert(ranges.end(), ranges_.begin() + static_cast<std::ptrdiff_t>(done),
                  ranges_.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const auto& [begin, end] : matches) {
    copy(begin);
    text += content;
    ranges.resize(text.size(), before(end));
    done = end;
  }
  copy(text_.size());
  text_ = std::move(text);
  ranges_ = std::move(ranges);
}

void AlignedText::prepend(std::string_view prefix) {
  if (text_.empty()) return;
  text_.insert(0, prefix);
  ranges_.insert(ranges_.begin(), prefix.size(), ranges_.front());
}

}  // namespace inlay
