#include "read_body.h"

#include "base/check.h"

namespace inlay {
namespace {

constexpr size_t kDimensions = 8;

EmbedAnswer made_up_answer(const DialectCall& call, const ModelFacts& facts) {
  EmbedAnswer answer{.id = "id", .model = "m", .vectors = {}, .facts = &facts, .tokens = {}, .times = {}};
  const size_t count = call.request.inputs.size();
  answer.tokens.assign(count, 3);
  answer.vectors.resize(count);
  if (call.request.output == OutputKind::kVector) {
    answer.vectors.assign(count, std::vector<float>(kDimensions, 0.5F));
    return answer;
  }
  answer.outputs.resize(count);
  for (TextOutput& output : answer.outputs) {
    if (call.request.output == OutputKind::kScores) output.scores = {0.25F};
    if (call.request.output == OutputKind::kSparse) output.sparse = {{7, 0.5F}};
    if (call.request.output == OutputKind::kTokens) output.tokens = {2, {101, 102}, {0.5F, -0.5F, 1, 0}};
  }
  return answer;
}

}  // namespace

void check_dialect_call(const DialectCall& call) {
  static const ModelFacts facts = [] {
    ModelFacts one_label;
    one_label.name = "m";
    one_label.labels = {"LABEL_0"};
    one_label.dimensions = static_cast<int>(kDimensions);
    return one_label;
  }();
  const HttpResponse response = call.render(made_up_answer(call, facts));
  INLAY_CHECK(response.status == 200 && !response.body.empty(), "what was understood can be answered");
  if (response.content_type != "application/json") return;
  INLAY_CHECK(JsonDocument::parse(response.body, "answer").has_value(), "an answer is JSON");
}

bool read_body(std::string_view bytes, std::initializer_list<std::function<Result<DialectCall>(const Json&)>> parse_functions) {
  const Result<JsonDocument> document = JsonDocument::parse(bytes, "body");
  if (!document) return false;
  bool understood = false;
  for (const std::function<Result<DialectCall>(const Json&)>& parse : parse_functions) {
    const Result<DialectCall> call = parse(document->root());
    if (!call) {
      INLAY_CHECK(!call.error().message.empty(), "an error says what is wrong");
      continue;
    }
    understood = true;
    check_dialect_call(*call);
  }
  return understood;
}

}  // namespace inlay
