#include "tokenizer/double_array.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace inlay {
namespace {

using Entries = std::vector<std::pair<std::string_view, int32_t>>;

Entries entries_of(const std::map<std::string, int32_t>& map) { return {map.begin(), map.end()}; }

TEST(DoubleArray, EmptyFindsNothing) {
  const DoubleArray trie = DoubleArray::build({}).value();
  EXPECT_EQ(trie.find("a"), DoubleArray::kNoValue);
  EXPECT_EQ(trie.find(""), DoubleArray::kNoValue);
  EXPECT_EQ(trie.find(std::string_view("\0", 1)), DoubleArray::kNoValue);
}

TEST(DoubleArray, KnowsTheEmptyKeyAndAnyByte) {
  const std::map<std::string, int32_t> map = {{"", 7}, {std::string("\0", 1), 8}, {"\xFF\xFE", 9}, {"a", 0}, {"ab", 1}};
  const DoubleArray trie = DoubleArray::build(entries_of(map)).value();
  for (const auto& [key, value] : map) EXPECT_EQ(trie.find(key), value);
  EXPECT_EQ(trie.find("\xFF"), DoubleArray::kNoValue);
  EXPECT_EQ(trie.find("abc"), DoubleArray::kNoValue);
}

// Every step from every node is compared, so that no free unit or foreign child is ever taken for one's own.
TEST(DoubleArray, EqualsAMapOnRandomKeys) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    std::map<std::string, int32_t> map;
    std::map<std::string, bool> prefixes{{"", true}};
    const uint32_t letters = seed % 2 == 0 ? 256 : 3;
    for (int32_t i = 0; i < 3000; ++i) {
      std::string key(random() % 9, '\0');
      for (char& byte : key) byte = static_cast<char>(random() % letters);
      map[key] = i;
      for (size_t size = 0; size <= key.size(); ++size) prefixes[key.substr(0, size)] = true;
    }
    const DoubleArray trie = DoubleArray::build(entries_of(map)).value();
    for (const auto& [prefix, is_there] : prefixes) {
      DoubleArray::Node node = DoubleArray::kRoot;
      ASSERT_TRUE(trie.walk(node, prefix)) << "seed " << seed;
      const std::map<std::string, int32_t>::const_iterator found = map.find(prefix);
      ASSERT_EQ(trie.value(node), found == map.end() ? DoubleArray::kNoValue : found->second) << "seed " << seed;
      for (int byte = 0; byte < 256; ++byte) {
        DoubleArray::Node next = node;
        const bool steps = trie.step(next, static_cast<char>(byte));
        ASSERT_EQ(steps, prefixes.contains(prefix + static_cast<char>(byte))) << "seed " << seed;
      }
    }
  }
}

TEST(DoubleArray, RefusesMoreNodesThanItCanName) {
  const std::string long_key(1U << 23, 'a');
  const Result<DoubleArray> trie = DoubleArray::build({{long_key, 0}});
  ASSERT_FALSE(trie.has_value());
  EXPECT_EQ(trie.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace inlay
