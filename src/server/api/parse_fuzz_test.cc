#include <gtest/gtest.h>

#include "base/mutation_testing.h"
#include "server/api/parse_fuzzing.h"

namespace inlay {
namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> seeds = {
      R"({"model":"m","input":"hello","encoding_format":"base64","dimensions":4,"truncate_prompt_tokens":-1})",
      R"({"input":[[101,7592,102],[5]],"priority":"bulk","timeout":1.5,"input_type":"search_query"})",
      R"({"inputs":["a","b",[1,2]],"truncate":true,"truncation_direction":"Left","prompt_name":"query","normalize":false})",
      R"({"inputs":{"source_sentence":"a","sentences":["b","c"]},"parameters":{"truncate":false}})",
      R"({"model":"m","input_type":"classification","texts":["a"],"embedding_types":["float","ubinary"],"output_dimension":8})",
      R"({"model":"m","input_type":"clustering","inputs":[{"content":[{"type":"text","text":"a"}]}],"truncate":"START"})",
      R"({"model":"m:latest","input":["a","b"],"truncate":false,"options":{},"keep_alive":"5m"})",
      R"({"model":"m","prompt":"a"})",
      R"({"id":"1","inputs":[{"name":"text","shape":[2,1],"datatype":"BYTES","data":["a","b"]}],"parameters":{"priority":1}})",
      R"({"inputs":[{"name":"input_ids","shape":[1,2],"datatype":"INT64","data":[[1,2]]}],"outputs":[{"name":"embedding"}]})",
      R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]},)" +
          std::string("\x01\x00\x00\x00x", 5),
      R"({"inputs":"a","add_special_tokens":false})",
      R"({"ids":[[1,2],[3]],"skip_special_tokens":false})"};
  return seeds;
}

TEST(ParseFuzz, TheSeedsAreUnderstood) {
  for (const std::string& seed : seeds()) parse_with_every_dialect(seed);
}

TEST(ParseFuzz, DamagedBodiesAreRefusedOrUnderstood) {
  constexpr uint32_t kSeed = 45;
  SCOPED_TRACE(kSeed);
  Mutator mutator(kSeed);
  for (int i = 0; i < 20'000; ++i) parse_with_every_dialect(mutator.damaged(seeds()));
}

TEST(ParseFuzz, CaseH45DeepNestingIsRefused) {
  for (const size_t depth : {100, 3'000, 100'000}) {
    const std::string body = R"({"x":)" + std::string(depth, '[') + std::string(depth, ']') + R"(,"input":"hi"})";
    parse_with_every_dialect(body);
    EXPECT_EQ(JsonDocument::parse(body, "body").has_value(), depth <= 250);
    parse_with_every_dialect(std::string(depth, '['));
  }
}

}  // namespace
}  // namespace inlay
