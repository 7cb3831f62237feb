// The description of the server's routes that /openapi.json serves.
#pragma once

#include <string>

namespace inlay {

// OpenAPI 3.0, as JSON.
std::string openapi_document();

}  // namespace inlay
