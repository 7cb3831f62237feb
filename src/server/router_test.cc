#include "server/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "server/server_testing.h"

namespace inlay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

TEST(Router, EveryDialectEmbeds) {
  RouterUnderTest router;
  EXPECT_EQ(router.post("/embed", R"({"inputs":"hi","normalize":false})").body, "[[3,4,12,3]]");
  EXPECT_EQ(router.post("/", R"({"inputs":"hi","normalize":false})").body, "[[3,4,12,3]]");
  EXPECT_THAT(router.post("/v1/embeddings", R"({"input":"hi","dimensions":2})").body, HasSubstr(R"("embedding":[0.6,0.8])"));
  EXPECT_THAT(
      router.post("/v2/embed", R"({"model":"fake","input_type":"classification","texts":["hi"],"output_dimension":2})").body,
      HasSubstr(R"("float":[[0.6,0.8]])"));
  EXPECT_THAT(router.post("/api/embed", R"({"model":"fake","input":"hi","dimensions":2})").body,
              HasSubstr(R"("embeddings":[[0.6,0.8]])"));
  EXPECT_EQ(router.post("/api/embeddings", R"({"model":"fake","prompt":"hi"})").status, 200);
  EXPECT_THAT(router
                  .post("/v2/models/fake/versions/1/infer",
                        R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["hi"]}]})")
                  .body,
              HasSubstr(R"("shape":[1,4],"data":[3,4,12,3])"));
  EXPECT_THAT(router.post("/similarity", R"({"inputs":{"source_sentence":"a","sentences":["b","c"]}})").body, "[1,1]");
}

TEST(Router, CaseH27CountsTheTokensThatWereFed) {
  RouterUnderTest router;
  const std::string long_text = "a b c d e f g h i j k";
  EXPECT_THAT(router.post("/v1/embeddings", R"({"input":"hi"})").body, HasSubstr(R"("prompt_tokens":3,"total_tokens":3)"));
  EXPECT_THAT(router.post("/v1/embeddings", R"({"input":")" + long_text + R"("})").body, HasSubstr(R"("prompt_tokens":8)"));
  EXPECT_THAT(router.post("/v1/embeddings", R"({"input":["hi",")" + long_text + R"("]})").body,
              HasSubstr(R"("prompt_tokens":11)"));
}

TEST(Router, CaseH25TruncationIsTheSameOnEveryRoute) {
  RouterUnderTest router;
  const std::string text = R"("a b c d e f g h i j k")";
  const std::vector<std::pair<std::string, std::string>> routes = {
      {"/embed", R"({"inputs":$})"}, {"/v1/embeddings", R"({"input":$})"}, {"/api/embed", R"({"model":"fake","input":$})"}};
  for (const auto& [path, body] : routes) {
    for (const std::string& input : {text, "[" + text + "]", R"(["hi",)" + text + "]"}) {
      std::string filled = body;
      filled.replace(filled.find('$'), 1, input);
      EXPECT_EQ(router.post(path, filled).status, 200) << path << input;
      filled.insert(1, R"("truncate":true,)");
      EXPECT_EQ(router.post(path, filled).status, 200) << path << input;
      filled.replace(filled.find("true"), 4, "false");
      const HttpResponse refused = router.post(path, filled);
      EXPECT_EQ(refused.status, path == "/embed" ? 422 : 400) << path << input;
      EXPECT_THAT(refused.body, HasSubstr("`inputs` must have less than 9 tokens. Given: 13"));
    }
  }
  router.fake().facts().auto_truncate = false;
  EXPECT_EQ(router.post("/embed", R"({"inputs":)" + text + "}").status, 422);
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":)" + text + "}").status, 400);
  EXPECT_EQ(router.post("/embed", R"({"truncate":true,"inputs":)" + text + "}").status, 200);
}

TEST(Router, CaseH24NamesTheItemThatIsWrongAndComputesNothing) {
  RouterUnderTest router;
  EXPECT_THAT(router.post("/v1/embeddings", R"({"input":[[5],[1000]]})").body, HasSubstr("item 1: token id 1000"));
  EXPECT_EQ(router.fake().last().texts.size(), 0);
}

TEST(Router, CaseH40OneFailedTextIsTheFailureOfItsRequestOnly) {
  RouterUnderTest router;
  router.fake().fail_on(4);
  const HttpResponse failed = router.post("/v1/embeddings", R"({"input":["hi","evil"]})");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, HasSubstr("item 1: the vector is not finite"));
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":["hi","good!"]})").status, 200);
  EXPECT_EQ(router.metrics().non_finite, 1);
}

TEST(Router, CaseH41OverloadIsTheSameForAStringAndAList) {
  RouterUnderTest router;
  router.fake().overload();
  for (const char* body : {R"({"input":"hi"})", R"({"input":["hi"]})", R"({"input":["hi","ho"]})"}) {
    const HttpResponse response = router.post("/v1/embeddings", body);
    EXPECT_EQ(response.status, 429);
    EXPECT_THAT(response.headers, AllOf(Contains(Pair("Retry-After", "1")), Contains(Pair("retry-after-ms", "250"))));
  }
  EXPECT_EQ(router.post("/embed", R"({"inputs":"hi"})").body, R"({"error":"Model is overloaded","error_type":"Overloaded"})");
  EXPECT_EQ(router.metrics().in_progress[0], 0);
}

TEST(Router, CaseH39RefusesMoreTokensThanTheQueueHolds) {
  RouterUnderTest router;
  std::string body = R"({"input":["hi")";
  for (int i = 0; i < 400; ++i) body += R"(,"hi")";
  const HttpResponse response = router.post("/v1/embeddings", body + "]}");
  EXPECT_EQ(response.status, 413);
  EXPECT_THAT(response.body, HasSubstr("more than 1000 tokens"));
}

TEST(Router, ChecksDimensions) {
  RouterUnderTest router;
  for (const char* bad : {"0", "5", "-1"}) {
    EXPECT_EQ(router.post("/embed", std::string(R"({"inputs":"hi","dimensions":)") + bad + "}").status, 422) << bad;
  }
  const HttpResponse bits = router.post(
      "/v2/embed", R"({"model":"fake","input_type":"classification","texts":["hi"],"embedding_types":["ubinary"]})");
  EXPECT_EQ(bits.status, 400);
  EXPECT_THAT(bits.body, HasSubstr("multiple of 8"));
}

// The length of the one vector of an answer of /embed.
double length_of(const HttpResponse& response) {
  const Result<JsonDocument> document = JsonDocument::parse(response.body, "answer");
  const std::vector<Json> rows = document->root().items().value();
  const std::vector<Json> numbers = rows[0].items().value();
  double squares = 0;
  for (const Json& number : numbers) squares += number.as_double().value() * number.as_double().value();
  return std::sqrt(squares);
}

TEST(Router, NormalisesAsAskedOrAsTheServerIsSet) {
  RouterUnderTest router;
  EXPECT_NEAR(length_of(router.post("/embed", R"({"inputs":"hi"})")), 1, 1e-6);
  router.policy().normalize = Normalize::kOff;
  EXPECT_EQ(router.post("/embed", R"({"inputs":"hi"})").body, "[[3,4,12,3]]");
  EXPECT_NEAR(length_of(router.post("/embed", R"({"inputs":"hi","normalize":true})")), 1, 1e-6);
}

TEST(Router, PicksPrompts) {
  RouterUnderTest router;
  const auto ids = [&](const std::string& extra) {
    const HttpResponse response = router.post("/v1/embeddings", R"({"input":"hi")" + extra + "}");
    return response.status == 200 ? static_cast<int>(router.fake().last().texts[0].ids.size()) : -response.status;
  };
  EXPECT_EQ(ids(""), 3);
  EXPECT_EQ(ids(R"(,"prompt_name":"query")"), 4);
  EXPECT_EQ(ids(R"(,"prompt":"one two three ")"), 6);
  EXPECT_EQ(ids(R"(,"input_type":"search_query")"), 4);
  EXPECT_EQ(ids(R"(,"input_type":"search_document")"), 4);
  EXPECT_EQ(ids(R"(,"input_type":"clustering")"), 3);
  EXPECT_EQ(ids(R"(,"input_type":"magic")"), -400);
  EXPECT_EQ(ids(R"(,"prompt_name":"none")"), -400);
}

TEST(Router, PutsRequestsIntoClassesAndTenants) {
  RouterUnderTest router;
  router.post("/embed", R"({"inputs":"hi"})", {{"x-tenant", "t"}});
  EXPECT_EQ(router.fake().last().priority, Priority::kInteractive);
  EXPECT_EQ(router.fake().last().tenant, "t");
  router.post("/embed", R"({"inputs":["hi","ho"]})");
  EXPECT_EQ(router.fake().last().priority, Priority::kStandard);
  router.post("/embed", R"({"inputs":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16"]})");
  EXPECT_EQ(router.fake().last().priority, Priority::kBulk);
  router.post("/embed", R"({"inputs":"hi"})", {{"x-priority", "bulk"}, {"request-timeout-ms", "5000"}});
  EXPECT_EQ(router.fake().last().priority, Priority::kBulk);
  EXPECT_TRUE(router.fake().last().deadline.has_value());
}

TEST(Router, KnowsItsModels) {
  RouterUnderTest router;
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"hi","model":"fake"})").status, 200);
  const HttpResponse unknown = router.post("/v1/embeddings", R"({"input":"hi","model":"gpt"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("model_not_found"));
  EXPECT_EQ(router.get("/v1/models/fake").status, 200);
  EXPECT_EQ(router.get("/v1/models/gpt").status, 404);
  EXPECT_EQ(router.get("/v2/models/fake/ready").status, 200);
  EXPECT_EQ(router.get("/v2/models/gpt").status, 404);
  EXPECT_EQ(router.post("/v2/models/gpt/infer", R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["hi"]}]})")
                .status,
            404);
  router.policy().any_model_name = true;
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"hi","model":"gpt"})").status, 200);
}

TEST(Router, SaysWhatTheModelCannotDoInTheWordsOfTheDialect) {
  RouterUnderTest router;
  const std::string tei = R"({"query":"q","texts":["a"]})";
  const std::string documents = R"({"query":"q","documents":["a"]})";
  EXPECT_EQ(router.post("/rerank", tei).body, R"({"error":"model is not a re-ranker model","error_type":"Backend"})");
  EXPECT_EQ(router.post("/rerank", tei).status, 424);
  EXPECT_EQ(router.post("/v2/rerank", documents).body, R"({"message":"model is not a re-ranker model"})");
  EXPECT_EQ(router.post("/v2/rerank", documents).status, 400);
  EXPECT_THAT(router.post("/v1/rerank", documents).body, HasSubstr(R"({"error":{"message":"model is not a re-ranker model")"));
  EXPECT_THAT(router.post("/predict", R"({"inputs":"a"})").body, HasSubstr("model is not a classifier model"));
  EXPECT_THAT(router.post("/embed_sparse", R"({"inputs":"a"})").body, HasSubstr("SPLADE"));
  router.fake().facts().outputs = {OutputKind::kScores};
  EXPECT_EQ(router.post("/embed", R"({"inputs":"a"})").status, 424);
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"a"})").status, 400);
}

TEST(Router, ModelsOfOtherKindsAnswerTheirRoutes) {
  RouterUnderTest router;
  ModelFacts& facts = router.fake().facts();
  facts.outputs = {OutputKind::kScores};
  facts.labels = {"LABEL_0"};
  // The fake's score is the number of ids: two special ones, the query's, the document's.
  const std::string body = R"({"query":"q","texts":["a","a b c"],"raw_scores":true})";
  const std::string ranks = R"([{"index":1,"score":6},{"index":0,"score":4}])";
  EXPECT_EQ(router.post("/rerank", body).body, ranks);
  EXPECT_EQ(router.post("/", body).body, ranks);
  EXPECT_THAT(router.post("/predict", R"({"inputs":"a","raw_scores":true})").body, HasSubstr(R"("score":3,"label":"LABEL_0")"));
  EXPECT_THAT(router.get("/info").body, HasSubstr(R"("model_type":{"reranker":{"id2label":{"0":"LABEL_0"})"));
  facts.labels = {"no", "yes"};
  EXPECT_EQ(router.post("/rerank", body).status, 424);
  facts.outputs = {OutputKind::kSparse, OutputKind::kTokens};
  EXPECT_EQ(router.post("/embed_sparse", R"({"inputs":"a"})").body, R"([[{"index":7,"value":3}]])");
  EXPECT_EQ(router.post("/embed_all", R"({"inputs":"a"})").body, "[[[3]]]");
  EXPECT_EQ(router.post("/", R"({"inputs":"a"})").body, R"([[{"index":7,"value":3}]])");
  EXPECT_THAT(router.get("/info").body, HasSubstr(R"({"embedding":{"pooling":"splade"}})"));
}

// The fake's vector of a text's one token is the number of its ids: two special ones, those of the prompt, its own.
TEST(Router, LateInteractionRanksByTheVectorsOfTokens) {
  RouterUnderTest router;
  ModelFacts& facts = router.fake().facts();
  facts.outputs = {OutputKind::kTokens};
  EXPECT_EQ(router.post("/rerank", R"({"query":"q","texts":["a"]})").status, 424);
  facts.late_score = LateScore::kSum;
  EXPECT_EQ(router.post("/rerank", R"({"query":"q","texts":["a","a b c"]})").body,
            R"([{"index":1,"score":24},{"index":0,"score":16}])");
  EXPECT_EQ(router.fake().last().texts.size(), 3U);
  EXPECT_EQ(router.fake().last().priority, Priority::kStandard);
  EXPECT_THAT(router.post("/v2/rerank", R"({"query":"q","documents":["a"]})").body, HasSubstr(R"("relevance_score":16)"));
  const std::string several = R"({"text_1":["q","q r"],"text_2":["a","a"]})";
  const std::string scores = router.post("/score", several).body;
  EXPECT_THAT(scores, HasSubstr(R"({"index":0,"object":"score","score":16})"));
  EXPECT_THAT(scores, HasSubstr(R"({"index":1,"object":"score","score":20})"));
  router.fake().fail_on(4);
  EXPECT_THAT(router.post("/rerank", R"({"query":"q","texts":["a","b"]})").body, HasSubstr("query of item 0: the vector"));
}

TEST(Router, AnswersUnknownRoutesAndMethods) {
  RouterUnderTest router;
  EXPECT_EQ(router.get("/nothing").status, 404);
  EXPECT_EQ(router.post("/nothing", "{}").status, 404);
  EXPECT_EQ(router.get("/embed").status, 405);
  EXPECT_THAT(router.get("/embed").headers, Contains(Pair("Allow", "POST")));
  EXPECT_EQ(router.post("/health", "").status, 405);
  HttpRequest other;
  other.method = HttpMethod::kOther;
  other.path = "/embed";
  EXPECT_EQ(router.ask(std::move(other)).status, 405);
  EXPECT_EQ(router.post("/embed", "{").status, 400);
  EXPECT_EQ(router.post("/similarity", R"({"inputs":{"source_sentence":"a","sentences":[]}})").status, 400);
  EXPECT_EQ(router.refuse(431, "/embed").status, 431);
  EXPECT_EQ(router.refuse(413, "/embed").body, R"({"error":"no","error_type":"Validation"})");
}

TEST(Router, CaseH26HealthIsOpenAndTheRestNeedsTheKey) {
  RouterOptions options;
  ASSERT_TRUE(options.keys.add("team:correct-key"));
  RouterUnderTest router(options);
  for (const char* open : {"/health", "/ready", "/ping", "/v2/health/live", "/v2/health/ready"}) {
    EXPECT_EQ(router.get(open).status, 200) << open;
  }
  for (const char* closed : {"/metrics", "/info", "/v1/models", "/openapi.json"}) {
    EXPECT_EQ(router.get(closed).status, 401) << closed;
    EXPECT_EQ(router.get(closed, {{"authorization", "Bearer correct-key"}}).status, 200) << closed;
  }
  const std::string body = R"({"inputs":"hi"})";
  for (const char* bad :
       {"", "Bearer", "Bearer ", "Bearer wrong-key", "correct-key", "Basic correct-key", "Bearer correct-key2"}) {
    EXPECT_EQ(router.post("/embed", body, {{"authorization", bad}}).status, 401) << bad;
  }
  EXPECT_EQ(router.post("/embed", body, {{"authorization", "bearer correct-key"}, {"x-tenant", "other"}}).status, 200);
  EXPECT_EQ(router.fake().last().tenant, "team");
  const HttpResponse refused = router.post("/v1/embeddings", R"({"input":"hi"})");
  EXPECT_THAT(refused.body, HasSubstr(R"("code":"invalid_api_key")"));
  EXPECT_THAT(refused.headers, Contains(Pair("WWW-Authenticate", "Bearer")));
}

TEST(Router, GivesEveryRequestAnId) {
  RouterUnderTest router;
  EXPECT_THAT(router.get("/health", {{"x-request-id", "abc-1"}}).headers, Contains(Pair("x-request-id", "abc-1")));
  for (const std::string& bad : {std::string("a b"), std::string("a\r\nSet-Cookie: x"), std::string(500, 'a'), std::string()}) {
    const HttpResponse response = router.get("/health", {{"x-request-id", bad}});
    EXPECT_THAT(response.headers, AllOf(Contains(Key("x-request-id")), Not(Contains(Pair("x-request-id", bad)))));
  }
}

TEST(Router, CorsIsOffUnlessSet) {
  RouterUnderTest closed;
  EXPECT_THAT(closed.get("/health", {{"origin", "https://a"}}).headers, Not(Contains(Key("Access-Control-Allow-Origin"))));
  RouterOptions options;
  options.cors_origins = {"https://a"};
  RouterUnderTest open(options);
  EXPECT_THAT(open.get("/health", {{"origin", "https://a"}}).headers,
              Contains(Pair("Access-Control-Allow-Origin", "https://a")));
  EXPECT_THAT(open.get("/health", {{"origin", "https://b"}}).headers, Not(Contains(Key("Access-Control-Allow-Origin"))));
  HttpRequest preflight;
  preflight.method = HttpMethod::kOptions;
  preflight.path = "/embed";
  preflight.headers = {{"origin", "https://a"}};
  const HttpResponse response = open.ask(std::move(preflight));
  EXPECT_EQ(response.status, 204);
  EXPECT_THAT(response.headers, Contains(Key("Access-Control-Allow-Methods")));
}

TEST(Router, ServesDocumentsThatAreValidJson) {
  RouterUnderTest router;
  for (const char* path :
       {"/openapi.json", "/info", "/v1/models", "/api/tags", "/api/version", "/v2", "/v2/models/fake", "/health"}) {
    const HttpResponse response = router.get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_TRUE(JsonDocument::parse(response.body, path)) << path;
  }
}

TEST(Router, EveryRouteStandsInTheOpenApiDocumentAndNoOther) {
  RouterUnderTest router;
  const Result<JsonDocument> document = JsonDocument::parse(router.get("/openapi.json").body, "openapi");
  const Result<std::vector<std::pair<std::string_view, Json>>> paths = document->root().get("paths")->members();
  std::vector<std::string> described;
  for (const auto& [path, methods] : *paths) {
    const Result<std::vector<std::pair<std::string_view, Json>>> members = methods.members();
    for (const auto& [method, what] : *members) described.push_back(fmt::format("{} {}", method, path));
  }
  const std::vector<std::string> routes = router.routes();
  EXPECT_THAT(described, testing::UnorderedElementsAreArray(routes));
}

TEST(Router, ServesThePage) {
  RouterUnderTest router;
  const HttpResponse page = router.get("/");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<title>Inlay</title>"));
  for (const char* path : {"/web/app.js", "/web/style.css", "/web/icon.svg"}) EXPECT_EQ(router.get(path).status, 200) << path;
  EXPECT_EQ(router.get("/web/../app.js").status, 404);
}

TEST(Router, AnAliasIsAModelWithAPrompt) {
  RouterUnderTest router;
  const auto ids = [&](const std::string& fields) {
    const HttpResponse response = router.post("/v1/embeddings", R"({"input":"hi",)" + fields + "}");
    return response.status == 200 ? static_cast<int>(router.fake().last().texts[0].ids.size()) : -response.status;
  };
  EXPECT_EQ(ids(R"("model":"fake")"), 3);
  EXPECT_EQ(ids(R"("model":"fake:query")"), 4);
  EXPECT_EQ(ids(R"("model":"fake:query","prompt":"one two three ")"), 6);
  EXPECT_EQ(ids(R"("model":"fake:nothing")"), -404);
  EXPECT_EQ(ids(R"("model":":query")"), -404);
}

TEST(Router, ModelsComeAndGoForWhoHasTheAdminKey) {
  RouterOptions options;
  ASSERT_TRUE(options.admin_keys.add("admins:the-admin-key"));
  RouterUnderTest router(options);
  const HttpHeaders key = {{"authorization", "Bearer the-admin-key"}};
  EXPECT_EQ(router.get("/admin/models").status, 401);
  EXPECT_EQ(router.post("/admin/models/second/load", "{}").status, 401);
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"hi","model":"second"})").status, 404);
  EXPECT_EQ(router.post("/admin/models/second/load", R"({"model":"/some/folder"})", key).status, 200);
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"hi","model":"second"})").status, 200);
  EXPECT_THAT(router.get("/admin/models", key).body, AllOf(HasSubstr(R"("id":"fake")"), HasSubstr(R"("id":"second")")));
  EXPECT_THAT(router.get("/metrics").body, HasSubstr(R"(inlay_queue_requests{model="second",priority="bulk"} 3)"));
  EXPECT_EQ(router.post("/admin/models/second/load", "{}", key).status, 400);  // The name is taken.
  EXPECT_EQ(router.post("/admin/models/third/load", R"({"model":"/missing"})", key).status, 400);
  EXPECT_EQ(router.post("/admin/models/third/load", R"({"weight":0})", key).status, 400);
  EXPECT_EQ(router.post("/v2/repository/models/second/unload", "", key).status, 200);
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"hi","model":"second"})").status, 404);
  EXPECT_EQ(router.post("/admin/models/second/unload", "", key).status, 404);
  EXPECT_EQ(router.post("/admin/models/fake/unload", "", key).status, 200);
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"hi"})").status, 404);
  EXPECT_EQ(router.get("/info").status, 404);
  EXPECT_EQ(router.get("/metrics").status, 200);
}

TEST(Router, ModelsStayWhereThereIsNoAdminKey) {
  RouterUnderTest router;
  EXPECT_EQ(router.post("/admin/models/second/load", "{}").status, 403);
  EXPECT_EQ(router.post("/v2/repository/models/fake/unload", "").status, 403);
  EXPECT_EQ(router.post("/v1/embeddings", R"({"input":"hi"})").status, 200);
}

TEST(Router, CountsWhatItDoes) {
  RouterOptions options;
  options.te_metrics = true;
  RouterUnderTest router(options);
  router.post("/embed", R"({"inputs":["hi","a b c d e f g h i"]})");
  router.post("/embed", R"({"inputs":""})");
  const std::string metrics = router.get("/metrics").body;
  for (const char* line :
       {"inlay_requests_total{dialect=\"tei\"} 2\n", "inlay_requests_succeeded_total{dialect=\"tei\"} 1\n",
        "inlay_requests_failed_total{reason=\"invalid\"} 1\n", "inlay_texts_total 2\n", "inlay_tokens_total 11\n",
        "inlay_truncated_texts_total 1\n", "inlay_request_seconds_count 2\n", "inlay_text_tokens_bucket{le=\"+Inf\"} 2\n",
        "te_request_count{method=\"batch\"} 2\n", "te_request_failure{err=\"validation\"} 1\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
}

TEST(Router, TokenizesAndDecodes) {
  RouterUnderTest router;
  EXPECT_EQ(
      router.post("/tokenize", R"({"inputs":"hi","prompt_name":"query"})").body,
      R"([[{"id":4,"text":"ask:","special":false,"start":null,"stop":null},{"id":2,"text":"hi","special":false,"start":null,"stop":null}]])");
  EXPECT_EQ(router.post("/decode", R"({"ids":[1,2]})").body, R"(["xx"])");
  EXPECT_EQ(router.post("/tokenize", R"({"inputs":[]})").status, 422);
  EXPECT_EQ(router.post("/decode", R"({"ids":["a"]})").status, 422);
}

}  // namespace
}  // namespace inlay
