#include "jobs/text_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TextReader reader_of(std::string text, TextReaderOptions options = {}, std::string name = "in.jsonl") {
  ByteSource source = [text = std::move(text), at = size_t{0}](std::span<char> out) mutable -> Result<size_t> {
    const size_t count = std::min(out.size(), text.size() - at);
    std::copy_n(text.data() + at, count, out.data());
    at += count;
    return count;
  };
  return TextReader(std::move(source), std::move(name), std::move(options));
}

std::vector<TextRow> all_rows(TextReader reader) {
  std::vector<TextRow> rows;
  while (std::optional<TextRow> row = reader.next().value()) rows.push_back(*row);
  return rows;
}

// "line|id|text", or "line|id|!error".
std::vector<std::string> told(const std::vector<TextRow>& rows) {
  std::vector<std::string> lines;
  for (const TextRow& row : rows) {
    lines.push_back(fmt::format("{}|{}|{}", row.line, row.id, row.text ? *row.text : "!" + row.text.error().message));
  }
  return lines;
}

std::vector<std::string> jsonl(const std::string& text) { return told(all_rows(reader_of(text))); }

TEST(TextReader, KeepsIdsAndTheirTypes) {
  EXPECT_THAT(jsonl(R"({"id": "a\"b", "text": "x"})"
                    "\n"
                    R"({"id": 7, "text": "y"})"
                    "\n"
                    R"({"id": -9223372036854775808, "text": "y"})"
                    "\n"
                    R"({"id": 18446744073709551615, "text": "y"})"
                    "\n"
                    R"({"text": "z", "id": null})"
                    "\n"
                    R"({"text": "w"})"),
              ElementsAre(R"(1|"a\"b"|x)", "2|7|y", "3|-9223372036854775808|y", "4|18446744073709551615|y", "5||z", "6||w"));
}

TEST(TextReader, RefusesIdsOfOtherTypes) {
  const std::vector<TextRow> rows = all_rows(reader_of("{\"id\":1.5,\"text\":\"x\"}\n{\"id\":[],\"text\":\"x\"}"));
  EXPECT_THAT(told(rows),
              ElementsAre("1||!line 1: id: wanted a string or an integer", "2||!line 2: id: wanted a string or an integer"));
}

TEST(TextReader, ReadsTheFieldsItIsTold) {
  TextReaderOptions options;
  options.text_field = "body";
  options.id_field = "key";
  EXPECT_THAT(told(all_rows(reader_of(R"({"key":3,"body":"b","text":"t","id":1})", options))), ElementsAre("1|3|b"));
}

TEST(TextReader, CaseH34BlankLinesAreNoRowsButCount) {
  EXPECT_THAT(jsonl("\xEF\xBB\xBF{\"text\":\"a\"}\n\n  \t\r\n{\"text\":\"b\"}  \r\n\n{\"text\":\"c\"}"),
              ElementsAre("1||a", "4||b", "6||c"));
}

TEST(TextReader, CaseH34Utf16IsAnErrorThatNamesTheFile) {
  TextReader reader = reader_of(std::string("\xFF\xFE{\0", 4));
  const Result<std::optional<TextRow>> row = reader.next();
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(row.error().message, "in.jsonl: found UTF-16 or UTF-32 text, wanted UTF-8 text");
}

TEST(TextReader, CaseH35WordsThatLookLikeMissingValuesAreTexts) {
  EXPECT_THAT(jsonl("{\"text\":\"null\"}\n{\"text\":\"NaN\"}\n{\"text\":\"007\"}\n{\"text\":\"N/A\"}"),
              ElementsAre("1||null", "2||NaN", "3||007", "4||N/A"));
}

TEST(TextReader, CaseH35WhatIsNoTextIsARowError) {
  EXPECT_THAT(jsonl("{\"id\":1,\"text\":null}\n{\"id\":2,\"text\":5}\n{\"id\":3}\n{\"text\":true}\n{\"text\":[\"a\"]}"),
              ElementsAre("1|1|!line 1: text is missing", "2|2|!line 2: text: found an integer, wanted a string",
                          "3|3|!line 3: text is missing", "4||!line 4: text: found a boolean, wanted a string",
                          "5||!line 5: text: found an array, wanted a string"));
}

TEST(TextReader, CaseH37BlankTextsAreRowErrors) {
  EXPECT_THAT(jsonl("{\"id\":1,\"text\":\"\"}\n{\"id\":2,\"text\":\" \\n\\u3000\\u00a0\"}\n{\"id\":3,\"text\":\"x\"}"),
              ElementsAre("1|1|!line 1: the text is blank", "2|2|!line 2: the text is blank", "3|3|x"));
}

TEST(TextReader, EveryRowErrorIsTheInputsFault) {
  for (const TextRow& row :
       all_rows(reader_of("{\n[1]\n\"a\"\n{\"text\":\"\\ud800\"}\n{\"text\":\"\xff\"}\n{}\n{\"text\":\"a\"} x\n"))) {
    ASSERT_FALSE(row.text) << "line " << row.line;
    EXPECT_EQ(row.text.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(row.text.error().message, HasSubstr(fmt::format("line {}", row.line)));
  }
}

TEST(TextReader, CaseH45DeepNestingIsARowError) {
  for (const size_t depth : {300U, 3000U, 100000U}) {
    const std::string nested = "{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"text\":\"hi\"}";
    const std::vector<TextRow> rows = all_rows(reader_of(nested + "\n{\"text\":\"next\"}"));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_FALSE(rows[0].text);
    EXPECT_EQ(rows[1].text.value(), "next");
  }
}

TEST(TextReader, ALineBeyondTheLimitIsARowError) {
  TextReaderOptions options;
  options.max_line_bytes = 20;
  const std::vector<TextRow> rows =
      all_rows(reader_of("{\"text\":\"" + std::string(50, 'x') + "\"}\n{\"text\":\"a\"}", options));
  EXPECT_THAT(told(rows), ElementsAre("1||!line 1: more than 20 bytes", "2||a"));
}

TEST(TextReader, InPlainTextEveryLineIsARow) {
  EXPECT_THAT(told(all_rows(reader_of("a\r\n\n{\"text\": 1}\n  b ", {}, "in.txt"))),
              ElementsAre("1||a", "2||!line 2: the text is blank", "3||{\"text\": 1}", "4||  b "));
}

TEST(TextReader, AsksTheContentWhereTheNameDoesNotTell) {
  EXPECT_THAT(told(all_rows(reader_of("\n {\"text\":\"a\"}\n", {}, "stdin"))), ElementsAre("2||a"));
  EXPECT_THAT(told(all_rows(reader_of("a {\n", {}, "stdin"))), ElementsAre("1||a {"));
  EXPECT_THAT(told(all_rows(reader_of("", {}, "stdin"))), IsEmpty());
}

TEST(TextReader, TheFormatAskedForWins) {
  TextReaderOptions options;
  options.format = InputFormat::kText;
  EXPECT_THAT(told(all_rows(reader_of("{}\n", options, "in.csv"))), ElementsAre("1||{}"));
}

TEST(TextReader, RefusesFormatsThatItDoesNotRead) {
  EXPECT_THAT(input_format_of("a.xlsx").error().message, HasSubstr("a.xlsx: .xlsx files are not read"));
  EXPECT_EQ(TextReader::open("a.parquet", {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(TextReader, OpeningSaysWhatIsWrong) {
  EXPECT_EQ(TextReader::open("/nonexistent/in.jsonl", {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(TextReader::open("/", {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(TextReader, ReadsTokenIdsWhereItIsTold) {
  TextReaderOptions options;
  options.ids_field = "ids";
  const std::vector<TextRow> rows = all_rows(reader_of(R"({"id":"a","ids":[101,0,-1,9223372036854775807],"text":7}
{"ids":[]}
{"text":"x"}
{"ids":"101"}
{"ids":[1,2.5]}
{"ids":[1,18446744073709551615]}
{"ids":[[1]]})",
                                                       options));
  ASSERT_EQ(rows.size(), 7U);
  ASSERT_TRUE(rows[0].text);
  EXPECT_THAT(rows[0].ids.value(), ElementsAre(101, 0, -1, INT64_MAX));
  EXPECT_EQ(rows[0].id, "\"a\"");
  EXPECT_EQ(rows[0].bytes(), 32U);
  EXPECT_THAT(rows[1].ids.value(), IsEmpty());
  const std::vector<std::string> errors = told({rows.begin() + 2, rows.end()});
  EXPECT_THAT(errors[0], HasSubstr("line 3: ids is missing"));
  EXPECT_THAT(errors[1], HasSubstr("line 4: ids: found a string, wanted an array"));
  EXPECT_THAT(errors[2], HasSubstr("line 5: ids[1]: wanted an integer"));
  EXPECT_THAT(errors[3], HasSubstr("line 6: ids[1]: wanted an integer"));
  EXPECT_THAT(errors[4], HasSubstr("line 7: ids[0]: wanted an integer"));
}

TEST(TextReader, RefusesTokenIdsInPlainText) {
  TextReaderOptions options;
  options.ids_field = "ids";
  TextReader reader = reader_of("101 102\n", options, "in.txt");
  const Result<std::optional<TextRow>> row = reader.next();
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(row.error().message, HasSubstr("in.txt: token ids are read from JSON lines"));
}

TEST(IsBlank, KnowsUnicodeSpaces) {
  for (const char* blank :
       {"", " ", "\t\v\f\r\n", "\u0085", "\u00a0", "\u1680", "\u2003 \u200a", "\u2028\u2029", "\u202f\u205f\u3000"}) {
    EXPECT_TRUE(is_blank(blank)) << blank;
  }
  for (const char* text : {"a", " . ", "\u200b", "\ufeff", "\xff", "\xe3\x80"}) EXPECT_FALSE(is_blank(text)) << text;
}

}  // namespace
}  // namespace inlay
