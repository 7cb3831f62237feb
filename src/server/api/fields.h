// Fields that several dialects share. Errors name the field: "body: input[1][0]: found a string, wanted an integer".
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/api/embed_request.h"

namespace inlay {

// nullopt for a missing or null member; an error for another type.
Result<std::optional<std::string>> optional_string(const Json& body, std::string_view key);
Result<std::optional<bool>> optional_bool(const Json& body, std::string_view key);
Result<std::optional<int64_t>> optional_int(const Json& body, std::string_view key);

// The body's member `key`, which must be there.
Result<Json> required(const Json& body, std::string_view key);

// A string, an array of ids, or an array of strings and arrays of ids, mixed only if `may_mix`. Nothing may be empty: neither
// the list, nor a text (white space is a text), nor a list of ids; an error names the item.
Result<std::vector<EmbedInput>> read_inputs(const Json& value, std::string_view name, bool may_mix);
// An array of texts that are not empty.
Result<std::vector<EmbedInput>> read_texts(const Json& value, std::string_view name);

// What every JSON dialect takes besides its own fields: prompt, prompt_name, input_type, normalize, dimensions, priority
// ("interactive", "standard", "bulk", or a number: 0, 1, 2 and up), timeout (seconds).
Result<> read_common(const Json& body, EmbedRequest& request);
// The last two of those.
Result<> read_priority_and_timeout(const Json& body, EmbedRequest& request);
// truncate (true, false) and truncation_direction (Left, Right, in any case).
Result<> read_truncate(const Json& body, EmbedRequest& request);

// An error that lists what is allowed.
Result<> check_one_of(std::string_view field, std::string_view found, std::initializer_list<std::string_view> allowed);

Result<Priority> priority_from_name(std::string_view name);

// Code points of valid UTF-8.
int64_t count_characters(std::string_view text);

}  // namespace inlay
