#include "tensor/blob_arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace inlay {
namespace {

std::vector<std::byte> random_bytes(size_t size, std::mt19937_64& random) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(BlobArena, CopiesStayWhereTheyAreAndAreAligned) {
  std::mt19937_64 random(7);
  BlobArena arena;
  std::vector<std::vector<std::byte>> originals;
  std::vector<std::span<const std::byte>> copies;
  for (const size_t size : {1U, 63U, 64U, 65U, 4096U, 1000000U, 3000001U, 5U, 2097152U, 70000000U, 17U}) {
    originals.push_back(random_bytes(size, random));
    copies.push_back(arena.add(originals.back()));
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(copies[i].data()) % 64, 0U) << originals[i].size();
    EXPECT_TRUE(std::equal(copies[i].begin(), copies[i].end(), originals[i].begin(), originals[i].end()))
        << originals[i].size();
  }
  EXPECT_TRUE(arena.add({}).empty());
}

TEST(BlobArena, MatricesLieSideBySide) {
  const std::vector<std::byte> matrix(1769472);
  BlobArena arena;
  const std::byte* first = arena.add(matrix).data();
  EXPECT_EQ(arena.add(matrix).data(), first + matrix.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % Buffer::kHugePage, 0U);
}

}  // namespace
}  // namespace inlay
