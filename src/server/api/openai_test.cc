#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/api_testing.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<DialectCall> parse(std::string_view body) { return parse_with(parse_openai, body); }
int status(std::string_view body) { return status_of(Dialect::kOpenAi, parse(body)); }

std::vector<std::string> texts_of(std::string_view body) {
  std::vector<std::string> texts;
  const Result<DialectCall> call = parse(body);
  if (!call) return {call.error().message};
  for (const EmbedInput& input : call->request.inputs) texts.push_back(input.text);
  return texts;
}

TEST(OpenAi, ReadsAStringOrAList) {
  EXPECT_THAT(texts_of(R"({"input":"a"})"), ElementsAre("a"));
  EXPECT_THAT(texts_of(R"({"input":["a","b"],"unknown":{"x":1}})"), ElementsAre("a", "b"));
  EXPECT_THAT(texts_of(R"({"input":"   "})"), ElementsAre("   "));
  EXPECT_THAT(texts_of("{\"input\":\"\u200B\"}"), ElementsAre("\u200B"));
}

TEST(OpenAi, CaseH22ReadsTokenIds) {
  const Result<DialectCall> one = parse(R"({"input":[101,7592,102]})");
  ASSERT_EQ(one->request.inputs.size(), 1);
  EXPECT_TRUE(one->request.inputs[0].is_ids);
  EXPECT_THAT(one->request.inputs[0].ids, ElementsAre(101, 7592, 102));
  const Result<DialectCall> two = parse(R"({"input":[[101,7592,102],[101,2088,102]]})");
  ASSERT_EQ(two->request.inputs.size(), 2);
  EXPECT_THAT(two->request.inputs[1].ids, ElementsAre(101, 2088, 102));
  for (const char* bad : {R"({"input":["a",[1,2]]})", R"({"input":[[1,2],"a"]})", R"({"input":[1.5]})", R"({"input":[true]})",
                          R"({"input":[[101,"x"]]})", R"({"input":[1e30]})", R"({"input":[null]})", R"({"input":[[]]})",
                          R"({"input":[[[1]]]})", R"({"input":{"a":1}})", R"({"input":[1,"a"]})"}) {
    EXPECT_EQ(status(bad), 400) << bad;
  }
  EXPECT_THAT(parse(R"({"input":["a",[1,2]]})").error().message, HasSubstr("item 1"));
  EXPECT_THAT(parse(R"({"input":[[101,"x"]]})").error().message, HasSubstr("input[0][1]"));
}

TEST(OpenAi, CaseH21AndH24RefuseWhatIsEmpty) {
  for (const char* bad :
       {"{}", R"({"input":null})", R"({"input":""})", R"({"input":[]})", R"({"input":[""]})", "[]", "1", "null"}) {
    EXPECT_EQ(status(bad), 400) << bad;
  }
  EXPECT_THAT(parse(R"({"input":["a","","d"]})").error().message, HasSubstr("item 1"));
}

TEST(OpenAi, ReadsItsOptions) {
  const Result<DialectCall> call = parse(
      R"({"model":"m","input":"a","dimensions":7,"user":"u","encoding_format":"float","prompt_name":"query","normalize":false,
          "truncate":false,"priority":"bulk","timeout":1.5})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.model, "m");
  EXPECT_EQ(call->request.dimensions, 7);
  EXPECT_EQ(call->request.prompt_name, "query");
  EXPECT_EQ(call->request.normalize, false);
  EXPECT_EQ(call->request.truncate, false);
  EXPECT_EQ(call->request.priority, Priority::kBulk);
  EXPECT_EQ(call->request.timeout, std::chrono::milliseconds(1'500));
  EXPECT_EQ(parse(R"({"input":"a","priority":0})")->request.priority, Priority::kInteractive);
  EXPECT_EQ(parse(R"({"input":"a","truncate_prompt_tokens":5})")->request.max_tokens, 5);
  EXPECT_EQ(parse(R"({"input":"a","truncation_direction":"LEFT"})")->request.truncate_side, TruncationSide::kLeft);
}

TEST(OpenAi, RefusesOptionsThatMakeNoSense) {
  for (const char* bad :
       {R"({"input":"a","encoding_format":"hex"})", R"({"input":"a","dimensions":"7"})", R"({"input":"a","dimensions":1.5})",
        R"({"input":"a","model":7})", R"({"input":"a","priority":"now"})", R"({"input":"a","priority":-1})",
        R"({"input":"a","timeout":0})", R"({"input":"a","timeout":1e300})", R"({"input":"a","prompt":"x","prompt_name":"y"})",
        R"({"input":"a","truncate_prompt_tokens":0})", R"({"input":"a","truncation_direction":"up"})"}) {
    EXPECT_EQ(status(bad), 400) << bad;
  }
}

TEST(OpenAi, CaseH45RefusesDeepNestingEvenInAFieldThatIsSkipped) {
  for (const size_t depth : {300U, 3'000U, 100'000U}) {
    const std::string body = R"({"x":)" + std::string(depth, '[') + std::string(depth, ']') + R"(,"input":"hi"})";
    EXPECT_FALSE(parse(body)) << depth;
  }
  const std::string shallow = R"({"x":)" + std::string(100, '[') + std::string(100, ']') + R"(,"input":"hi"})";
  EXPECT_EQ(status(shallow), 200);
}

TEST(OpenAi, CaseH23RendersFloatsOrBase64) {
  EXPECT_EQ(
      parse(R"({"input":"a"})")->render(stub_answer()).body,
      R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[1,-2.5,0,0.15625]}],"model":"stub","usage":{"prompt_tokens":3,"total_tokens":3}})");
  EXPECT_EQ(parse(R"({"input":"a","encoding_format":"float"})")->render(stub_answer()).body,
            parse(R"({"input":"a"})")->render(stub_answer()).body);
  EXPECT_THAT(parse(R"({"input":"a","encoding_format":"base64"})")->render(stub_answer()).body,
              HasSubstr(R"("embedding":"AACAPwAAIMAAAAAAAAAgPg==")"));
}

TEST(OpenAi, NumbersItsItems) {
  const std::string body = parse(R"({"input":["a","b"]})")->render(answer_of({{1}, {2}}, 7)).body;
  EXPECT_THAT(
      body, HasSubstr(R"({"object":"embedding","index":0,"embedding":[1]},{"object":"embedding","index":1,"embedding":[2]})"));
  EXPECT_THAT(body, HasSubstr(R"("usage":{"prompt_tokens":7,"total_tokens":7})"));
}

TEST(OpenAi, ListsModels) {
  ModelFacts model;
  model.name = "m";
  model.created = 5;
  EXPECT_EQ(render_openai_models({model}).body,
            R"({"object":"list","data":[{"id":"m","object":"model","created":5,"owned_by":"inlay"}]})");
}

}  // namespace
}  // namespace inlay
