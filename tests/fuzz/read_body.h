// What the targets of the server's dialects share.
#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"
#include "server/api/embed_request.h"

namespace inlay {

// Answers a call that was understood with made-up results, and checks that the answer is one.
void check_dialect_call(const DialectCall& call);

// Reads the bytes as JSON and hands them to each function; whether one understood them.
bool read_body(std::string_view bytes, std::initializer_list<std::function<Result<DialectCall>(const Json&)>> parse_functions);

}  // namespace inlay
