#include "fuzz_target.h"
#include "read_body.h"
#include "server/api/dialects.h"

namespace inlay {

bool fuzz_cohere(std::string_view bytes) { return read_body(bytes, {parse_cohere}); }

}  // namespace inlay
