#include "server/api/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/api_testing.h"
#include "server/api/token_outputs.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

ModelFacts labelled(std::vector<std::string> labels) {
  ModelFacts facts;
  facts.probability = labels.size() == 1 ? ScoreActivation::kSigmoid : ScoreActivation::kSoftmax;
  facts.labels = std::move(labels);
  return facts;
}

// An answer with these logits for each text.
EmbedAnswer scored(const ModelFacts& facts, const std::vector<std::vector<float>>& logits) {
  EmbedAnswer answer = answer_of({}, 5);
  answer.id = "7";
  answer.model = "m";
  answer.facts = &facts;
  for (const std::vector<float>& row : logits) {
    answer.outputs.emplace_back();
    answer.outputs.back().scores = row;
  }
  return answer;
}

std::string ranks(Result<DialectCall> (*parse)(const Json&), std::string_view body) {
  const ModelFacts facts = labelled({"LABEL_0"});
  const Result<DialectCall> call = parse_with(parse, body);
  if (!call) return call.error().message;
  return call->render(scored(facts, {{-1}, {2}, {0}})).body;
}

TEST(Scores, AreProbabilitiesUnlessRaw) {
  EXPECT_THAT(finished_scores(std::vector<float>{0, 2}, ScoreActivation::kSigmoid, false),
              ElementsAre(0.5F, FloatNear(0.880797F, 1e-6F)));
  EXPECT_THAT(finished_scores(std::vector<float>{1000, 1000, -1000}, ScoreActivation::kSoftmax, false),
              ElementsAre(0.5F, 0.5F, 0));
  EXPECT_THAT(finished_scores(std::vector<float>{3, -4}, ScoreActivation::kSoftmax, true), ElementsAre(3, -4));
}

TEST(Scores, TeiRanksInItsForm) {
  EXPECT_EQ(ranks(parse_rerank, R"({"query":"q","texts":["a","b","c"],"raw_scores":true})"),
            R"([{"index":1,"score":2},{"index":2,"score":0},{"index":0,"score":-1}])");
  EXPECT_THAT(ranks(parse_rerank, R"({"query":"q","texts":["a","b","c"],"return_text":true})"),
              HasSubstr(R"({"index":2,"score":0.5,"text":"c"})"));
}

TEST(Scores, JinaAndCohereRankInTheirs) {
  EXPECT_EQ(
      ranks(parse_rerank_v2, R"({"model":"m","query":"q","documents":["a","b","c"],"top_n":1})"),
      R"({"id":"rerank-7","results":[{"index":1,"relevance_score":0.8807971}],"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1}}})");
  const std::string v1 =
      ranks(parse_rerank_v1, R"({"query":"q","documents":["a",{"text":"b","title":"t"},"c"],"return_documents":true})");
  EXPECT_THAT(v1, HasSubstr(R"("object":"list","model":"m","usage":{"prompt_tokens":5,"total_tokens":5})"));
  EXPECT_THAT(v1, HasSubstr(R"({"index":1,"relevance_score":0.8807971,"document":{"text":"t b"}})"));
  // One path serves both worlds.
  EXPECT_THAT(ranks(parse_rerank, R"({"query":"q","documents":["a","b","c"]})"), HasSubstr("relevance_score"));
}

TEST(Scores, AQueryIsReadWithEachDocument) {
  const Result<DialectCall> call = parse_with(parse_rerank, R"({"query":"q","texts":["a",""],"truncate":true})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->request.output, OutputKind::kScores);
  EXPECT_TRUE(call->request.ranks);
  ASSERT_EQ(call->request.inputs.size(), 2);
  EXPECT_EQ(call->request.inputs[1].text, "q");
  EXPECT_EQ(call->request.inputs[1].second, "");
}

TEST(Scores, RefusesWhatIsNoRerank) {
  for (const char* bad :
       {R"({"texts":["a"]})", R"({"query":"","texts":["a"]})", R"({"query":"q","texts":[]})", R"({"query":"q","texts":[1]})",
        R"({"query":"q"})", R"({"query":"q","documents":[{"x":1}]})", R"({"query":"q","documents":["a"],"top_n":-1})"}) {
    EXPECT_FALSE(parse_with(parse_rerank, bad)) << bad;
  }
}

TEST(Scores, PredictTellsAPairFromABatch) {
  const ModelFacts facts = labelled({"no", "yes"});
  const auto ask = [&](const char* body) {
    const Result<DialectCall> call = parse_with(parse_predict, body);
    if (!call) return call.error().message;
    return call->render(scored(facts, std::vector<std::vector<float>>(call->request.inputs.size(), {0, 0.5F}))).body;
  };
  const std::string classes = R"([{"score":0.62245935,"label":"yes"},{"score":0.37754068,"label":"no"}])";
  EXPECT_EQ(ask(R"({"inputs":"a"})"), classes);
  EXPECT_EQ(ask(R"({"inputs":["a","b"]})"), classes);
  EXPECT_EQ(ask(R"({"inputs":[["a"],["a","b"]]})"), "[" + classes + "," + classes + "]");
  EXPECT_EQ(ask(R"({"inputs":"a","raw_scores":true})"), R"([{"score":0.5,"label":"yes"},{"score":0,"label":"no"}])");
  for (const char* bad : {R"({"inputs":[]})", R"({"inputs":""})", R"({"inputs":[["a","b","c"]]})", R"({"inputs":[[""]]})"}) {
    EXPECT_FALSE(parse_with(parse_predict, bad)) << bad;
  }
}

TEST(Scores, ScoreComparesOneWithManyOrEachWithEach) {
  const ModelFacts facts = labelled({"LABEL_0"});
  const Result<DialectCall> one = parse_with(parse_score, R"({"text_1":"q","text_2":["a","b"]})");
  ASSERT_TRUE(one);
  EXPECT_THAT(one->render(scored(facts, {{0}, {2}})).body, HasSubstr(R"("data":[{"index":0,"object":"score","score":0.5},)"));
  EXPECT_EQ(parse_with(parse_score, R"({"queries":["q","r"],"documents":["a","b"]})")->request.inputs[1].text, "r");
  EXPECT_FALSE(parse_with(parse_score, R"({"text_1":["q","r"],"text_2":["a"]})"));
  EXPECT_FALSE(parse_with(parse_score, R"({"text_1":"q"})"));
}

TEST(TokenOutputs, SparseAndDenseTokens) {
  EmbedAnswer answer;
  answer.outputs.resize(1);
  answer.outputs[0].sparse = {{3, 0.5F}, {9, 2}};
  answer.outputs[0].tokens = {2, {101, 102}, {1, 2, 3, 4}};
  EXPECT_EQ(parse_with(parse_embed_sparse, R"({"inputs":"a"})")->render(answer).body,
            R"([[{"index":3,"value":0.5},{"index":9,"value":2}]])");
  EXPECT_EQ(parse_with(parse_embed_all, R"({"inputs":["a"]})")->render(answer).body, "[[[1,2],[3,4]]]");
  EXPECT_EQ(parse_with(parse_embed_all, R"({"inputs":"a"})")->request.output, OutputKind::kTokens);
  EXPECT_EQ(parse_with(parse_embed_all, R"({"inputs":"a","input_type":"query"})")->request.input_type, "query");
  EXPECT_FALSE(parse_with(parse_embed_all, R"({"inputs":"a","input_type":1})"));
}

}  // namespace
}  // namespace inlay
