#include "base/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace inlay {
namespace {

uint64_t sum_of(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

std::vector<std::byte> random_bytes(size_t size) {
  std::mt19937 random(5);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Checksum, SeesEveryFlippedBit) {
  std::vector<std::byte> bytes = random_bytes(333);
  const uint64_t expected = sum_of(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_NE(sum_of(bytes), expected) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  EXPECT_EQ(sum_of(bytes), expected);
}

TEST(Checksum, SeesWordsThatChangePlaces) {
  std::vector<std::byte> bytes = random_bytes(256);
  const uint64_t expected = sum_of(bytes);
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 64);
  EXPECT_NE(sum_of(bytes), expected);
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 64);
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 8);
  EXPECT_NE(sum_of(bytes), expected);
}

// Parts one after another are the same as the whole, so long as each is padded to whole blocks.
TEST(Checksum, AddsPartsAsIfPadded) {
  const std::vector<std::byte> head = random_bytes(100);
  const std::vector<std::byte> tail = random_bytes(7);
  std::vector<std::byte> whole = head;
  whole.resize(128);
  whole.insert(whole.end(), tail.begin(), tail.end());
  Checksum parts;
  parts.add(head);
  parts.add(tail);
  EXPECT_EQ(parts.value(), sum_of(whole));
  parts.add({});
  EXPECT_EQ(parts.value(), sum_of(whole));
}

}  // namespace
}  // namespace inlay
