#include "jobs/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace inlay {
namespace {

// Hands out `text` in pieces of `piece` bytes, as a pipe would.
ByteSource pieces_of(std::string text, size_t piece) {
  return [text = std::move(text), piece, at = size_t{0}](std::span<char> out) mutable -> Result<size_t> {
    const size_t count = std::min({piece, out.size(), text.size() - at});
    std::copy_n(text.data() + at, count, out.data());
    at += count;
    return count;
  };
}

std::vector<std::string> lines_of(const std::string& text, size_t piece, size_t limit = 1000) {
  LineReader reader(pieces_of(text, piece), limit);
  std::vector<std::string> lines;
  while (true) {
    const Result<std::optional<Line>> line = reader.next();
    if (!line) return {line.error().message};
    if (!*line) break;
    lines.push_back((*line)->too_long ? "<long>" : std::string((*line)->text));
    EXPECT_EQ((*line)->number, lines.size());
  }
  EXPECT_EQ(reader.bytes_read(), text.size());
  return lines;
}

using testing::ElementsAre;
using testing::IsEmpty;

class EveryPieceSize : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(LineReader, EveryPieceSize, testing::Values(1, 2, 3, 7, 100000));

TEST_P(EveryPieceSize, SplitsAtLineFeedsOnly) {
  EXPECT_THAT(lines_of("a\nbc\n\nd\re\n", GetParam()), ElementsAre("a", "bc", "", "d\re"));
}

TEST_P(EveryPieceSize, TakesOneCarriageReturnOff) {
  EXPECT_THAT(lines_of("a\r\n\r\nb\r\r\nc\r", GetParam()), ElementsAre("a", "", "b\r", "c"));
}

TEST_P(EveryPieceSize, GivesTheLastLineWithoutALineBreak) { EXPECT_THAT(lines_of("a\nb", GetParam()), ElementsAre("a", "b")); }

TEST_P(EveryPieceSize, SkipsLinesBeyondTheLimitAndGoesOn) {
  EXPECT_THAT(lines_of("12345\n123456\nab\n" + std::string(99, 'x'), GetParam(), 5),
              ElementsAre("12345", "<long>", "ab", "<long>"));
}

TEST_P(EveryPieceSize, CaseH34SkipsTheByteOrderMark) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBF{1}\n{2}\n", GetParam()), ElementsAre("{1}", "{2}"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBF", GetParam()), IsEmpty());
}

TEST_P(EveryPieceSize, CaseH34RefusesUtf16) {
  EXPECT_THAT(lines_of(std::string("\xFF\xFE{\0\n\0", 6), GetParam()),
              ElementsAre("found UTF-16 or UTF-32 text, wanted UTF-8 text"));
  EXPECT_THAT(lines_of(std::string("\xFE\xFF\0{\0\n", 6), GetParam()), ElementsAre("found UTF-16 text, wanted UTF-8 text"));
}

TEST_P(EveryPieceSize, RefusesCompressedFiles) {
  EXPECT_THAT(lines_of("\x1F\x8B\x08\x00\n", GetParam()), ElementsAre("found a gzip file, wanted UTF-8 text"));
}

TEST_P(EveryPieceSize, FindsTheFirstSymbolWithoutTakingIt) {
  LineReader reader(pieces_of(" \r\n\t{x", GetParam()), 100);
  EXPECT_EQ(reader.first_symbol().value(), '{');
  EXPECT_EQ(reader.next().value()->text, " ");
  EXPECT_EQ(reader.next().value()->text, "\t{x");
}

TEST(LineReader, GivesNothingForAnEmptyInput) { EXPECT_THAT(lines_of("", 1), IsEmpty()); }

TEST(LineReader, HoldsNoMoreThanTheLimit) {
  size_t largest = 0;
  size_t left = size_t{64} << 20;  // of a line without an end
  LineReader reader(
      [&](std::span<char> out) -> Result<size_t> {
        largest = std::max(largest, out.size());
        const size_t count = std::min(left, out.size());
        std::fill_n(out.data(), count, 'x');
        left -= count;
        return count;
      },
      size_t{1} << 20);
  EXPECT_TRUE(reader.next().value()->too_long);
  EXPECT_EQ(left, 0U);
  EXPECT_LE(largest, size_t{4} << 20);
}

TEST(LineReader, PassesTheSourcesErrorOn) {
  LineReader reader([](std::span<char>) -> Result<size_t> { return fail(ErrorCode::kInternal, "disk on fire"); }, 100);
  EXPECT_EQ(reader.next().error().message, "disk on fire");
}

}  // namespace
}  // namespace inlay
