#include "base/check.h"
#include "fuzz_target.h"
#include "read_body.h"
#include "server/api/dialects.h"
#include "server/api/text_routes.h"
#include "server/api/token_outputs.h"

namespace inlay {

bool fuzz_tei(std::string_view bytes) {
  bool understood = read_body(bytes, {parse_tei_embed, parse_tei_similarity, parse_embed_sparse, parse_embed_all});
  const Result<JsonDocument> document = JsonDocument::parse(bytes, "body");
  if (!document) return false;
  if (const Result<TokenizeCall> call = parse_tokenize(document->root())) {
    INLAY_CHECK(!call->texts.empty(), "an empty list is refused");
    understood = true;
  }
  if (const Result<DecodeCall> call = parse_decode(document->root())) {
    INLAY_CHECK(!call->ids.empty(), "an empty list is refused");
    understood = true;
  }
  return understood;
}

}  // namespace inlay
