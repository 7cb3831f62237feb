// Damages text and binary files alike. The damage depends on the seed alone, so a failure can be repeated.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One of `seeds`, damaged in one place or, as often, in up to four.
  std::string damaged(const std::vector<std::string>& seeds) {
    std::string text = seeds[below(seeds.size())];
    for (size_t changes = 1 + below(1 + 3 * below(2)); changes > 0; --changes) change(text, seeds[below(seeds.size())]);
    return text;
  }

 private:
  // Numbers and marks at which readers of JSON, HTTP and regular expressions trip.
  static constexpr std::array<std::string_view, 36> kPieces = {"[",
                                                               "]",
                                                               "{",
                                                               "}",
                                                               "\"",
                                                               ":",
                                                               ",",
                                                               "null",
                                                               "true",
                                                               "-1",
                                                               "0",
                                                               "1",
                                                               "18446744073709551616",
                                                               "18446744073709551615",
                                                               "9223372036854775807",
                                                               "281474976710656",
                                                               "4294967296",
                                                               "2147483647",
                                                               "1e999",
                                                               "1e-40",
                                                               "-0.0",
                                                               "0x10",
                                                               "\\u0000",
                                                               "\\u0",
                                                               "\\ud800",
                                                               "\\p{L}",
                                                               "(",
                                                               "{9999}",
                                                               "\r\n",
                                                               "\r\n\r\n",
                                                               "\xFF",
                                                               "\xC0\x80",
                                                               ";",
                                                               "[[[[[[",
                                                               "[]",
                                                               "{\"a\":"};

  size_t below(size_t end) { return end == 0 ? 0 : std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

  void change(std::string& text, const std::string& other) {
    // Half of the changes hit the first bytes, where headers are.
    const size_t at = below(below(2) == 0 ? std::min<size_t>(text.size(), 160) : text.size() + 1);
    const size_t size = std::min(text.size() - at, 1 + below(below(4) == 0 ? 64 : 8));
    // Cutting the end off, or putting another one there, spoils most files: it happens seldom.
    switch (below(below(4) == 0 ? 12 : 10)) {
      case 0: return put_byte(text, static_cast<char>(below(256)), at);
      case 1: return put_byte(text, at < text.size() ? static_cast<char>(text[at] ^ (1 << below(8))) : 'x', at);
      case 2: return put_number(text, at);
      case 3: text.erase(at, size); return;
      case 4: text.insert(below(text.size() + 1), text.substr(at, size)); return;
      case 5: text.replace(std::min(below(text.size() + 1), text.size() - size), size, text.substr(at, size)); return;
      case 6: text.insert(at, kPieces[below(kPieces.size())]); return;
      case 7: text.replace(at, size, kPieces[below(kPieces.size())]); return;
      case 8: return change_digit(text, at);
      case 9: return copy_string(text, at);
      case 10: text.replace(at, std::string::npos, other.substr(below(other.size() + 1))); return;
      default: text.resize(at); return;
    }
  }

  static void put_byte(std::string& text, char byte, size_t at) {
    if (at < text.size()) text[at] = byte;
  }

  void put_number(std::string& text, size_t at) {
    static constexpr std::array<uint64_t, 10> kNumbers = {
        0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
    const uint64_t number = kNumbers[below(kNumbers.size())] - below(2);
    std::memcpy(text.data() + at, &number, std::min<size_t>(size_t{1} << below(4), text.size() - at));
  }

  void change_digit(std::string& text, size_t from) {
    const size_t digit = text.find_first_of("0123456789", from);
    if (digit != std::string::npos) text[digit] = static_cast<char>('0' + below(10));
  }

  // One quoted string in the place of another, which leaves the syntax whole.
  void copy_string(std::string& text, size_t from) {
    const auto string_at = [&](size_t place) {
      const size_t begin = std::min(text.find('"', place), text.size());
      return std::pair(begin, std::min(text.find('"', begin + 1), text.size()));
    };
    const auto [begin, end] = string_at(from);
    const auto [other_begin, other_end] = string_at(below(text.size() + 1));
    if (end == text.size() || other_end == text.size()) return;
    const std::string copied = text.substr(other_begin, other_end - other_begin);
    text.replace(begin, end - begin, copied);
  }

  std::mt19937_64 random_;
};

}  // namespace inlay
