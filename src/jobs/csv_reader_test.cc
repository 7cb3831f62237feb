#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "jobs/text_reader.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Gives `chunk` bytes at a time.
TextReader csv_of(std::string text, size_t chunk = 7, TextReaderOptions options = {}) {
  options.format = options.format == InputFormat::kAuto ? InputFormat::kCsv : options.format;
  const auto source = [text = std::move(text), chunk, at = size_t{0}](std::span<char> out) mutable -> Result<size_t> {
    const size_t count = std::min({chunk, out.size(), text.size() - at});
    std::copy_n(text.data() + at, count, out.data());
    at += count;
    return count;
  };
  return TextReader(source, "in.csv", std::move(options));
}

// "id|text" or "!message" of each row; an error of the input is the last.
std::vector<std::string> told_records(TextReader reader) {
  std::vector<std::string> rows;
  while (true) {
    const Result<std::optional<TextRow>> row = reader.next();
    if (!row) rows.push_back("input: " + row.error().message);
    if (!row || !*row) return rows;
    rows.push_back((*row)->text ? fmt::format("{}|{}", (*row)->id, *(*row)->text) : "!" + (*row)->text.error().message);
  }
}

TEST(CsvReader, FindsColumnsByNameAndKeepsFieldsAsTheyAre) {
  EXPECT_THAT(told_records(csv_of("\xEF\xBB\xBF"
                                  "id,other,text\n1,x, a b \n\n2,,\"c,\"\"d\"\"\"\n")),
              ElementsAre("\"1\"| a b ", "\"2\"|c,\"d\""));
  EXPECT_THAT(told_records(csv_of("text\r\na \"quoted\" word\r\n\"\"\r\nlast")),
              ElementsAre("|a \"quoted\" word", "!record 2 (line 3): the text is blank", "|last"));
  EXPECT_THAT(told_records(csv_of("body;x\n", 3, {.text_field = "body"})),
              ElementsAre("input: in.csv: the header has no column 'body'; it has: body;x"));
  EXPECT_THAT(told_records(csv_of("a\ttext\n1\tb,c\n", 3, {.format = InputFormat::kTsv})), ElementsAre("|b,c"));
  EXPECT_THAT(told_records(csv_of("")), ElementsAre());
}

TEST(CsvReader, ARecordOfAnotherShapeIsThatRecordsError) {
  EXPECT_THAT(told_records(csv_of("id,text\n1\n2,a\n3,b,c\n4,\"d\"e\n5,f\n")),
              ElementsAre("!record 1 (line 2): found 1 fields, the header has 2", "\"2\"|a",
                          "!record 3 (line 4): found 3 fields, the header has 2",
                          "!record 4 (line 5): characters follow a closing quote", "\"5\"|f"));
}

// 102 records, whatever ends lines, wherever a read ends, with or without a last line break.
TEST(CsvReader, CaseH33LineBreaksInsideQuotedFields) {
  for (const std::string end : {"\n", "\r\n"}) {
    for (const size_t chunk : {size_t{1}, size_t{13}, size_t{1} << 20}) {
      for (const size_t filler : {size_t{3}, size_t{60'000}}) {
        std::string text = "id,text,x" + end;
        for (int i = 0; i < 100; ++i) text += fmt::format("{},plain,{}{}", i, std::string(i == 0 ? filler : 1, 'x'), end);
        // The quote opens right before the boundary of a read of 65,536 bytes.
        if (filler > 3) text.insert(text.find("plain"), std::string(65'533 - text.size(), 'p'));
        text += "7,\"first line" + end + "second \"\"quoted\"\" line\",x" + end + "8,last,y";
        const std::vector<std::string> rows = told_records(csv_of(text, chunk));
        ASSERT_EQ(rows.size(), 102U);
        EXPECT_EQ(rows[100], "\"7\"|first line" + end + "second \"quoted\" line");
        EXPECT_EQ(rows[101], "\"8\"|last");
      }
    }
  }
}

TEST(CsvReader, CaseH33AnUnmatchedQuoteIsNamedInBoundedMemory) {
  EXPECT_THAT(told_records(csv_of("id,text\n1,a\n2,\"b\n3,c\n")),
              ElementsAre("\"1\"|a", "!record 2 (line 3): a quote is never closed"));
  std::string text = "id,text\n1,a\n2,\"b\n";
  for (int i = 0; i < 1000; ++i) text += "3,c\n";
  const std::vector<std::string> rows = told_records(csv_of(text, 4096, {.max_line_bytes = 100}));
  EXPECT_THAT(rows, ElementsAre("\"1\"|a", "input: in.csv: record 2 (line 3): more than 100 bytes; is a quote never closed?"));
}

TEST(CsvReader, CaseH34AByteOrderMarkIsNoPartOfTheFirstColumn) {
  EXPECT_THAT(told_records(csv_of("\xEF\xBB\xBF"
                                  "text,id\na,1\nb,2\nc,3\n")),
              ElementsAre("\"1\"|a", "\"2\"|b", "\"3\"|c"));
}

// Parquet is refused, with what to do instead, by its name and by its first bytes.
TEST(CsvReader, CaseH36ParquetIsAClearError) {
  EXPECT_THAT(input_format_of("rows.parquet").error().message, HasSubstr("Parquet isn't read; convert it to JSON lines"));
  const std::vector<std::string> rows = told_records(csv_of("PAR1\x15\x04\x15", 7, {.format = InputFormat::kText}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0], HasSubstr("Parquet"));
}

}  // namespace
}  // namespace inlay
