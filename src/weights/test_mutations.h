// For tests: files changed at random, and a watch over what reading them allocates.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/file.h"

namespace inlay {

// Bytes that operator new gave out since the program began; allocation_watch_test.cc counts.
uint64_t allocated_bytes();

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string read_test_file(const std::string& path) {
  Result<std::string> text = read_file(path, 1 << 24);
  INLAY_CHECK(text.has_value(), "tests run in the folder of the project");
  return *std::move(text);
}

class FileMutator {
 public:
  explicit FileMutator(uint64_t seed) : random_(seed) {}

  // One to four changes: bits, bytes, numbers at their limits, parts removed, doubled or moved, the end cut off.
  std::string mutate(std::string_view original) {
    std::string text(original);
    const size_t changes = 1 + below(4);
    for (size_t i = 0; i < changes && !text.empty(); ++i) change(text);
    return text;
  }

 private:
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  void change(std::string& text) {
    const size_t at = below(text.size());
    const size_t size = std::min(text.size() - at, 1 + below(16));
    switch (below(7)) {
      case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); return;
      case 1: text[at] = static_cast<char>(below(256)); return;
      case 2: return put_number(text, at);
      case 3: text.erase(at, size); return;
      case 4: text.insert(below(text.size()), text.substr(at, size)); return;
      case 5: text.replace(std::min(below(text.size()), text.size() - size), size, text.substr(at, size)); return;
      default: text.resize(at); return;
    }
  }

  void put_number(std::string& text, size_t at) {
    static constexpr std::array<uint64_t, 10> kNumbers = {
        0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
    const uint64_t number = kNumbers[below(kNumbers.size())] - below(2);
    const size_t width = std::min<size_t>(size_t{1} << below(4), text.size() - at);
    std::memcpy(text.data() + at, &number, width);
  }

  std::mt19937_64 random_;
};

// Runs `read` on `count` changed copies of the files. It may succeed or fail, but must neither crash nor allocate much more
// than a file has bytes: at most `factor` times them and a megabyte.
inline void survive_mutations(const std::vector<std::string>& files, int count, uint64_t factor,
                              const std::function<void(std::string_view)>& read) {
  constexpr uint64_t kSeed = 20261130;
  FileMutator mutator(kSeed);
  for (int i = 0; i < count; ++i) {
    const std::string text = mutator.mutate(files[static_cast<size_t>(i) % files.size()]);
    const uint64_t before = allocated_bytes();
    read(text);
    ASSERT_LE(allocated_bytes() - before, factor * text.size() + (1 << 20)) << "seed " << kSeed << ", mutation " << i;
  }
}

}  // namespace inlay
