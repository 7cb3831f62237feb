// Small cuts of ASCII text. Views point into the text given.
#pragma once

#include <string_view>
#include <vector>

namespace inlay {

// Without white space at both ends.
inline std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Parts between separators; empty parts stay, so that joining gives the text back.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// Parts between runs of white space; none is empty.
inline std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trim(text); !text.empty();) {
    const size_t end = text.find_first_of(" \t\r\n\v\f");
    words.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : trim(text.substr(end));
  }
  return words;
}

}  // namespace inlay
