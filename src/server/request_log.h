// A line in the log for each request: who asked for what, and what came of it. Never its text, never its keys.
#pragma once

#include "server/embed_flow.h"

namespace inlay {

enum class RequestLog : uint8_t { kOff, kText, kJson };

// A reply that writes the line when it is called. With kJson the message is a JSON object, which log_as_json() takes apart; a
// W3C traceparent header gives its trace and span.
HttpReply with_request_log(RequestLog log, const IncomingRequest& incoming, HttpReply reply);

// Whether a stranger's text may stand in headers and logs: short, without spaces and control characters.
bool is_plain_word(std::string_view text);

}  // namespace inlay
