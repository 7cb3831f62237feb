// Rerankers and classifiers, whoever's route it is.
#include "server/api/scores.h"

#include "fuzz_target.h"
#include "read_body.h"

namespace inlay {

bool fuzz_scores(std::string_view bytes) {
  return read_body(bytes, {parse_rerank, parse_rerank_v1, parse_rerank_v2, parse_score, parse_predict, parse_classify});
}

}  // namespace inlay
