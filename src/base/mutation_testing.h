// For tests that feed readers with damaged input. The damage depends on the seed alone, so a failure can be repeated.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace inlay {

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  // One of `seeds`, damaged in one to four places.
  std::string damaged(const std::vector<std::string>& seeds) {
    std::string text = seeds[below(seeds.size())];
    for (size_t changes = 1 + below(4); changes > 0; --changes) change(text, seeds[below(seeds.size())]);
    return text;
  }

 private:
  // Numbers and marks at which readers of JSON and HTTP trip.
  static constexpr std::array<std::string_view, 26> kPieces = {"[",       "]",
                                                               "{",       "}",
                                                               "\"",      ":",
                                                               ",",       "null",
                                                               "true",    "-1",
                                                               "0",       "18446744073709551616",
                                                               "1e999",   "1e-40",
                                                               "\\u0",    "\\ud800",
                                                               "\r\n",    "\r\n\r\n",
                                                               "\xFF",    "\xC0\x80",
                                                               "-0.0",    "0x10",
                                                               ";",       "[[[[[[",
                                                               "{\"a\":", "9223372036854775807"};

  size_t below(size_t end) { return end == 0 ? 0 : std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

  void change(std::string& text, const std::string& other) {
    const size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        if (!text.empty()) text[below(text.size())] = static_cast<char>(below(256));
        break;
      case 1: text.erase(at, 1 + below(8)); break;
      case 2: text.insert(at, kPieces[below(kPieces.size())]); break;
      case 3: text.resize(at); break;
      case 4: text.insert(at, text.substr(below(text.size() + 1), below(32))); break;
      default: text.replace(at, std::string::npos, other.substr(below(other.size() + 1))); break;
    }
  }

  std::mt19937 random_;
};

}  // namespace inlay
