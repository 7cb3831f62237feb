#include "engine/input_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlay {
namespace {

using Prompts = std::map<std::string, std::string>;

TEST(InputType, TakesThePromptOfItsOwnNameFirst) {
  const Prompts prompts = {{"query", "q: "}, {"search_query", "sq: "}, {"passage", "p: "}, {"clustering", "c: "}};
  EXPECT_EQ(prompt_for_input_type("search_query", prompts).value(), "sq: ");
  EXPECT_EQ(prompt_for_input_type("query", prompts).value(), "q: ");
  EXPECT_EQ(prompt_for_input_type("search_document", prompts).value(), "p: ");
  EXPECT_EQ(prompt_for_input_type("document", prompts).value(), "p: ");
  EXPECT_EQ(prompt_for_input_type("passage", prompts).value(), "p: ");
  EXPECT_EQ(prompt_for_input_type("clustering", prompts).value(), "c: ");
  EXPECT_EQ(prompt_for_input_type("classification", prompts).value(), std::nullopt);
  EXPECT_EQ(prompt_for_input_type("search_query", Prompts{{"query", "q: "}}).value(), "q: ");
  EXPECT_EQ(prompt_for_input_type("passage", Prompts{{"document", "d: "}}).value(), std::nullopt);
}

TEST(InputType, OtherNamesAreErrors) {
  EXPECT_THAT(prompt_for_input_type("magic", {}).error().message,
              testing::HasSubstr("found 'magic', wanted one of search_query"));
}

TEST(InputType, QueriesAreTold) {
  EXPECT_TRUE(is_query_type("query") && is_query_type("search_query"));
  EXPECT_FALSE(is_query_type("document") || is_query_type("clustering") || is_query_type(""));
}

}  // namespace
}  // namespace inlay
