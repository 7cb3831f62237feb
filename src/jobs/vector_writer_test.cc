#include "jobs/vector_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

namespace inlay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class VectorWriterFiles : public testing::Test {
 protected:
  VectorWriterFiles() {
    std::string pattern = testing::TempDir() + "writer-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~VectorWriterFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const { return read_file(path(name), 1 << 26).value(); }
  size_t file_count() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;
};

TEST_F(VectorWriterFiles, NpyHasTheCountOfRowsAndTheNumbers) {
  std::unique_ptr<VectorWriter> writer = open_writer(path("a.npy"), OutputFormat::kAuto, 3).value();
  const std::array<float, 3> vector = {1.5F, -0.0F, std::numeric_limits<float>::denorm_min()};
  for (uint64_t row = 0; row < 1000; ++row) ASSERT_TRUE(writer->write({row, row + 1, {}}, vector));
  ASSERT_TRUE(writer->finish());
  const std::string bytes = content("a.npy");
  ASSERT_EQ(bytes.size(), 128U + 1000 * 12);
  EXPECT_THAT(bytes, StartsWith(std::string(
                         "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 3), }", 69)));
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(std::memcmp(bytes.data() + 128 + 999 * 12, vector.data(), 12), 0);
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(VectorWriterFiles, NpyOfNoRows) {
  ASSERT_TRUE(open_writer(path("a.npy"), OutputFormat::kAuto, 384).value()->finish());
  EXPECT_THAT(content("a.npy"), HasSubstr("'shape': (0, 384)"));
}

TEST_F(VectorWriterFiles, CaseH37NpyKeepsTheRowOfAFailureAndListsIt) {
  std::unique_ptr<VectorWriter> writer = open_writer(path("a.npy"), OutputFormat::kAuto, 2).value();
  const std::array<float, 2> vector = {1, 2};
  ASSERT_TRUE(writer->write({0, 1, {}}, vector));
  ASSERT_TRUE(writer->write_failed({1, 3, "\"x\""}, "line 3: the text is blank"));
  ASSERT_TRUE(writer->write({2, 4, {}}, vector));
  ASSERT_TRUE(writer->finish());
  const std::string bytes = content("a.npy").substr(128);
  const std::array<float, 6> wanted = {1, 2, 0, 0, 1, 2};
  ASSERT_EQ(bytes.size(), sizeof wanted);
  EXPECT_EQ(std::memcmp(bytes.data(), wanted.data(), sizeof wanted), 0);
  EXPECT_EQ(content("a.npy.errors.jsonl"), "{\"row\":1,\"line\":3,\"id\":\"x\",\"error\":\"line 3: the text is blank\"}\n");
}

TEST_F(VectorWriterFiles, AnOldListOfFailuresDoesNotOutliveACleanRun) {
  std::ofstream(path("a.npy.errors.jsonl")) << "old";
  ASSERT_TRUE(open_writer(path("a.npy"), OutputFormat::kAuto, 2).value()->finish());
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(VectorWriterFiles, JsonlKeepsIdsAndFallsBackToTheIndex) {
  std::unique_ptr<VectorWriter> writer = open_writer(path("a.jsonl"), OutputFormat::kAuto, 3).value();
  const std::array<float, 3> vector = {0.1F, -2, 1e-20F};
  ASSERT_TRUE(writer->write({0, 1, "\"a\""}, vector));
  ASSERT_TRUE(writer->write({1, 2, "7"}, vector));
  ASSERT_TRUE(writer->write({2, 3, {}}, vector));
  ASSERT_TRUE(writer->write_failed({3, 4, "9"}, "line 4: \"bad\""));
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(content("a.jsonl"),
            "{\"id\":\"a\",\"embedding\":[0.1,-2,1e-20]}\n"
            "{\"id\":7,\"embedding\":[0.1,-2,1e-20]}\n"
            "{\"index\":2,\"embedding\":[0.1,-2,1e-20]}\n"
            "{\"id\":9,\"error\":\"line 4: \\\"bad\\\"\"}\n");
}

TEST_F(VectorWriterFiles, NothingIsLeftOfAJobThatDidNotFinish) {
  std::ofstream(path("a.npy")) << "before";
  {
    std::unique_ptr<VectorWriter> writer = open_writer(path("a.npy"), OutputFormat::kAuto, 1).value();
    const float one = 1;
    ASSERT_TRUE(writer->write({0, 1, {}}, {&one, 1}));
    ASSERT_TRUE(writer->write_failed({1, 2, {}}, "bad"));
    ASSERT_TRUE(writer->flush());
    EXPECT_GT(file_count(), 1U);
  }
  EXPECT_EQ(file_count(), 1U);
  EXPECT_EQ(content("a.npy"), "before");
}

TEST_F(VectorWriterFiles, ALinkStaysALink) {
  std::ofstream(path("real.jsonl")) << "before";
  std::filesystem::create_symlink("real.jsonl", path("link.jsonl"));
  ASSERT_TRUE(open_writer(path("link.jsonl"), OutputFormat::kAuto, 1).value()->finish());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.jsonl")));
  EXPECT_EQ(content("real.jsonl"), "");
}

TEST_F(VectorWriterFiles, SaysWhyItCannotWrite) {
  EXPECT_EQ(open_writer(path("missing/a.npy"), OutputFormat::kAuto, 1).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(open_writer(path("missing/a.npy"), OutputFormat::kAuto, 1).error().message,
              HasSubstr("missing/a.npy: cannot create"));
  EXPECT_EQ(open_writer(folder_.string(), OutputFormat::kNpy, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(open_writer(path("a.bin"), OutputFormat::kAuto, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(open_writer("-", OutputFormat::kNpy, 1).error().message, HasSubstr("needs a regular file"));
}

TEST_F(VectorWriterFiles, AFullDiskIsAnError) {
  std::unique_ptr<VectorWriter> writer = open_writer("/dev/full", OutputFormat::kJsonl, 1).value();
  const float one = 1;
  ASSERT_TRUE(writer->write({0, 1, {}}, {&one, 1}));
  const Result<> done = writer->flush();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "/dev/full: cannot write: No space left on device");
}

TEST_F(VectorWriterFiles, AReaderThatLeftIsACancellation) {
  signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  std::unique_ptr<VectorWriter> writer = open_writer(path("pipe"), OutputFormat::kJsonl, 1).value();
  close(reader);
  const float one = 1;
  ASSERT_TRUE(writer->write({0, 1, {}}, {&one, 1}));
  EXPECT_EQ(writer->flush().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace inlay
