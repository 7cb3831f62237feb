// For tests: calls parsed from JSON text, and answers with small made-up vectors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/api/dialects.h"
#include "server/api/failure.h"

namespace inlay {

inline Result<DialectCall> parse_with(Result<DialectCall> (*parse)(const Json&), std::string_view body) {
  const JsonDocument document = TRY(JsonDocument::parse(body, "body"));
  return parse(document.root());
}

// The status that a dialect gives to the error of a body; 200 if it was read.
inline int status_of(Dialect dialect, const Result<DialectCall>& call) {
  return call ? 200 : failure_status(dialect, failure_of(call.error()).fault);
}

inline EmbedAnswer answer_of(std::vector<std::vector<float>> vectors, int64_t tokens) {
  EmbedAnswer answer;
  answer.id = "id-1";
  answer.model = "stub";
  answer.tokens.assign(vectors.size(), 3);
  answer.vectors = std::move(vectors);
  answer.total_tokens = tokens;
  return answer;
}

// Exact in binary, so that every digit of an answer is known.
inline EmbedAnswer stub_answer() { return answer_of({{1, -2.5F, 0, 0.15625F}}, 3); }

}  // namespace inlay
