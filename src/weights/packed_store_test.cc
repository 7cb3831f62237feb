#include "weights/packed_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "base/test_folder.h"

namespace inlay {
namespace {

std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(const std::optional<std::span<const std::byte>>& bytes) {
  if (!bytes) return "nothing";
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

class PackedStoreTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "deep" / "a.packed"; }

  void save(const std::string& key = "key") const {
    PackedStore store = PackedStore::open(file(), key);
    store.keep("first:panels", bytes_in(first_));
    store.keep("second \"quoted\"", bytes_in(second_));
    ASSERT_TRUE(store.is_changed());
    const Result<> saved = store.save();
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
  }
  bool is_used(const std::string& key = "key") const {
    return PackedStore::open(file(), key).find("first:panels", first_.size()).has_value();
  }
  std::string content() const { return *read_file(file(), 1 << 20); }
  void put(const std::string& content) const { folder_.write("deep/a.packed", content); }

  TestFolder folder_;
  const std::string first_ = std::string(1000, 'a');
  const std::string second_ = std::string(64, 'b');
};

TEST_F(PackedStoreTest, GivesBackWhatWasKept) {
  save();
  PackedStore store = PackedStore::open(file(), "key");
  const std::optional<std::span<const std::byte>> first = store.find("first:panels", first_.size());
  ASSERT_EQ(text_of(first), first_);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first->data()) % 64, 0U);
  EXPECT_EQ(text_of(store.find("second \"quoted\"", second_.size())), second_);
  EXPECT_EQ(text_of(store.find("second \"quoted\"", second_.size() + 1)), "nothing");
  EXPECT_EQ(text_of(store.find("third", 1)), "nothing");
  store.keep("first:panels", *first);
  EXPECT_FALSE(store.is_changed());
}

TEST_F(PackedStoreTest, AnotherKeyIsNotUsed) {
  save("one\nkey \"with\" quotes");
  EXPECT_TRUE(is_used("one\nkey \"with\" quotes"));
  EXPECT_FALSE(is_used("one\nkey \"with\" quote"));
  EXPECT_FALSE(is_used(""));
}

// A name, an offset, a digit of the checksum, a padding byte, a weight: whatever is flipped, the blobs are either right or
// unused.
TEST_F(PackedStoreTest, NoFlippedBitGoesUnseen) {
  save();
  const std::string good = content();
  int unused = 0;
  for (size_t bit = 0; bit < good.size() * 8; bit += 3) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    put(bad);
    const PackedStore store = PackedStore::open(file(), "key");
    const std::string first = text_of(store.find("first:panels", first_.size()));
    EXPECT_TRUE(first == first_ || first == "nothing") << "bit " << bit;
    unused += first == "nothing" ? 1 : 0;
  }
  EXPECT_GT(unused, static_cast<int>(good.size() * 8 / 3 * 9 / 10));
}

TEST_F(PackedStoreTest, AShortenedOrLengthenedFileIsNotUsed) {
  save();
  const std::string good = content();
  for (size_t size = 0; size < good.size(); size += 13) {
    put(good.substr(0, size));
    ASSERT_FALSE(is_used()) << size << " bytes";
  }
  put(good + std::string(64, '\0'));
  EXPECT_FALSE(is_used());
  put(good);
  EXPECT_TRUE(is_used());
}

TEST_F(PackedStoreTest, HostileFilesAreNotUsed) {
  put("");
  EXPECT_FALSE(is_used());
  put(std::string(8, '\xff') + "{}");
  EXPECT_FALSE(is_used());
  save();
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  EXPECT_FALSE(is_used()) << "anybody may write to it";
  std::filesystem::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_FALSE(is_used()) << "a pipe that nobody writes to must not hold the start up";
}

TEST_F(PackedStoreTest, WritersThatRaceLeaveAWholeFile) {
  std::vector<std::jthread> writers;
  for (int i = 0; i < 8; ++i) writers.emplace_back([this] { save(); });
  writers.clear();
  EXPECT_TRUE(is_used());
  const std::filesystem::directory_iterator files(file().parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "no temporary file stays";
}

TEST_F(PackedStoreTest, AFolderThatCannotBeMadeIsAnError) {
  folder_.write("deep", "a file where the folder should be");
  PackedStore store = PackedStore::open(file(), "key");
  store.keep("first", bytes_in(first_));
  EXPECT_FALSE(store.save().has_value());
}

}  // namespace
}  // namespace inlay
