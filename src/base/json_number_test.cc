#include <gtest/gtest.h>

#include "base/json.h"

namespace inlay {
namespace {

TEST(JsonNumber, IntegersBeyond64BitsAreReadAsDoubles) {
  const Result<JsonDocument> document = JsonDocument::parse(
      R"({"limit": 1000000000000000019884624838656, "low": -99999999999999999999, "text": "\\\"1000000000000000019884624838656",
          "largest": 18446744073709551615, "smallest": -9223372036854775808, "list": [-9223372036854775809,2]})",
      "x.json");
  ASSERT_TRUE(document.has_value()) << document.error().message;
  const Json root = document->root();
  EXPECT_EQ(root.get("limit")->as_double(), 1e30);
  EXPECT_EQ(root.get("low")->as_double(), -1e20);
  EXPECT_EQ(root.get("text")->as_string(), "\\\"1000000000000000019884624838656");
  EXPECT_EQ(root.get("largest")->element().get_uint64().value(), 18446744073709551615U);
  EXPECT_EQ(root.get("smallest")->as_int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(root.get("list")->items()->at(0).as_double(), -9223372036854775809.0);
  EXPECT_EQ(root.get("limit")->as_int().error().message, "x.json: limit: found 1e+30, wanted an integer");
}

TEST(JsonNumber, NumbersThatAreNoJsonStayErrors) {
  for (const char* text : {"[01]", "[1e]", "[--1]", "[1.]", "[+1]", "[99999999999999999999x]", "[1e999]", "[-]"}) {
    EXPECT_FALSE(JsonDocument::parse(text, "x").has_value()) << text;
  }
}

}  // namespace
}  // namespace inlay
