#include "base/input_stream.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace inlay {
namespace {

using namespace std::chrono_literals;

class InputStreamFiles : public testing::Test {
 protected:
  InputStreamFiles() {
    std::string pattern = testing::TempDir() + "input-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~InputStreamFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // A named pipe with a writer that never writes.
  std::string silent_pipe() {
    mkfifo(path("pipe").c_str(), 0600);
    keep_open_.open(path("pipe"), std::ios::in | std::ios::out);
    return path("pipe");
  }

  std::filesystem::path folder_;
  std::fstream keep_open_;
};

TEST_F(InputStreamFiles, ReadsAFileToItsEnd) {
  std::ofstream(path("a.txt")) << "hello";
  InputStream stream = InputStream::open(path("a.txt")).value();
  EXPECT_EQ(stream.size(), 5U);
  std::vector<char> bytes(3);
  EXPECT_EQ(stream.read(bytes).value(), 3U);
  EXPECT_EQ(stream.read(bytes).value(), 2U);
  EXPECT_EQ(stream.read(bytes).value(), 0U);
}

TEST_F(InputStreamFiles, TakesWhatAPipeHas) {
  InputStream stream = InputStream::open(silent_pipe()).value();
  keep_open_ << "abc" << std::flush;
  std::vector<char> bytes(100);
  EXPECT_EQ(stream.read(bytes).value(), 3U);
  EXPECT_FALSE(stream.size());
}

TEST_F(InputStreamFiles, CancelEndsARead) {
  InputStream stream = InputStream::open(silent_pipe()).value();
  const std::jthread other([&] {
    std::this_thread::sleep_for(20ms);
    stream.cancel();
  });
  std::vector<char> bytes(100);
  EXPECT_EQ(stream.read(bytes).error().code, ErrorCode::kCancelled);
}

TEST_F(InputStreamFiles, ASignalEndsARead) {
  const Interrupt interrupt;
  InputStream stream = InputStream::open(silent_pipe(), &interrupt).value();
  const std::jthread other([] {
    std::this_thread::sleep_for(20ms);
    kill(getpid(), SIGINT);
  });
  std::vector<char> bytes(100);
  EXPECT_EQ(stream.read(bytes).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(interrupt.requested());
}

TEST_F(InputStreamFiles, SaysWhyItCannotOpen) {
  EXPECT_EQ(InputStream::open(path("missing")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(InputStream::open(folder_.string()).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace inlay
