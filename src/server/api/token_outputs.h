// TEI's routes for what a text is besides a vector: weights of words, and a vector for each token.
#pragma once

#include "base/json.h"
#include "server/api/embed_request.h"

namespace inlay {

// POST /embed_sparse
Result<DialectCall> parse_embed_sparse(const Json& body);
// POST /embed_all
Result<DialectCall> parse_embed_all(const Json& body);

}  // namespace inlay
