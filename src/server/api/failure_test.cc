#include "server/api/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlay {
namespace {

using testing::Contains;
using testing::Pair;

TEST(Failure, HasTheShapeOfItsDialect) {
  const Failure failure{Fault::kInvalid, "bad \"thing\"", {}};
  EXPECT_EQ(render_failure(Dialect::kOpenAi, failure).body,
            R"({"error":{"message":"bad \"thing\"","type":"invalid_request_error","param":null,"code":null}})");
  EXPECT_EQ(render_failure(Dialect::kTei, failure).body, R"({"error":"bad \"thing\"","error_type":"Validation"})");
  EXPECT_EQ(render_failure(Dialect::kCohere, failure).body, R"({"message":"bad \"thing\""})");
  EXPECT_EQ(render_failure(Dialect::kOllama, failure).body, R"({"error":"bad \"thing\""})");
  EXPECT_EQ(render_failure(Dialect::kKServe, failure).body, R"({"error":"bad \"thing\""})");
}

TEST(Failure, CaseH41OverloadSaysWhenToComeBack) {
  const Failure failure{Fault::kOverloaded, "Model is overloaded", std::chrono::milliseconds(1'200)};
  for (const Dialect dialect : {Dialect::kOpenAi, Dialect::kTei, Dialect::kCohere, Dialect::kOllama, Dialect::kKServe}) {
    const HttpResponse response = render_failure(dialect, failure);
    EXPECT_EQ(response.status, dialect == Dialect::kOllama || dialect == Dialect::kKServe ? 503 : 429);
    EXPECT_THAT(response.headers, Contains(Pair("Retry-After", "2")));
    EXPECT_THAT(response.headers, Contains(Pair("retry-after-ms", "1200")));
  }
  const Failure long_wait{Fault::kOverloaded, "busy", std::chrono::hours(1)};
  EXPECT_THAT(render_failure(Dialect::kOpenAi, long_wait).headers, Contains(Pair("Retry-After", "60")));
}

TEST(Failure, StatusOfWhatClientsMeetMost) {
  EXPECT_EQ(failure_status(Dialect::kTei, Fault::kInvalid), 422);
  EXPECT_EQ(failure_status(Dialect::kTei, Fault::kTooLong), 422);
  EXPECT_EQ(failure_status(Dialect::kTei, Fault::kEmpty), 400);
  EXPECT_EQ(failure_status(Dialect::kTei, Fault::kModelKind), 424);
  EXPECT_EQ(failure_status(Dialect::kOpenAi, Fault::kTooLong), 400);
  EXPECT_EQ(failure_status(Dialect::kOpenAi, Fault::kModelNotFound), 404);
  EXPECT_EQ(failure_status(Dialect::kCohere, Fault::kDeadline), 504);
  EXPECT_EQ(failure_status(Dialect::kKServe, Fault::kUnavailable), 503);
  EXPECT_EQ(failure_status(Dialect::kOpenAi, Fault::kInternal), 500);
}

TEST(Failure, PathsBelongToDialects) {
  EXPECT_EQ(dialect_of("/v2/embed"), Dialect::kCohere);
  EXPECT_EQ(dialect_of("/v2/models/x/infer"), Dialect::kKServe);
  EXPECT_EQ(dialect_of("/api/embed"), Dialect::kOllama);
  EXPECT_EQ(dialect_of("/embed"), Dialect::kTei);
  EXPECT_EQ(dialect_of("/v1/embeddings"), Dialect::kOpenAi);
  EXPECT_EQ(dialect_of("/anything"), Dialect::kOpenAi);
}

}  // namespace
}  // namespace inlay
