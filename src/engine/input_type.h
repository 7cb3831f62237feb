// What a caller says of its texts in place of naming a prompt.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inlay {

// The prompt for texts of a type: search_query and query, search_document, document and passage, classification, clustering.
// The first of these that the model has a prompt under: the type's own name, then "query" for search_query, and "document",
// "passage" or "corpus" for documents. Missing where it has none, which leaves the prompt that texts get anyway.
// kInvalidArgument for other names.
Result<std::optional<std::string>> prompt_for_input_type(std::string_view type,
                                                         const std::map<std::string, std::string>& prompts);

// Whether the type is one of queries, which models for late interaction read in another way.
bool is_query_type(std::string_view type);

}  // namespace inlay
