#include "fuzz_target.h"
#include "read_body.h"
#include "server/api/dialects.h"

namespace inlay {

bool fuzz_openai(std::string_view bytes) { return read_body(bytes, {parse_openai}); }

}  // namespace inlay
