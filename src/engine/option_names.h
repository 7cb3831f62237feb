// Option values by the names that flags, environment variables, JSON and the public interface use. Errors list the names there
// are.
#pragma once

#include <string_view>

#include "engine/engine.h"

namespace inlay {

Result<Precision> parse_dtype(std::string_view name);
Result<TruncationSide> parse_truncate_side(std::string_view name);
Result<Pooling> parse_pooling(std::string_view name);
Result<Normalize> parse_normalize(std::string_view name);

}  // namespace inlay
