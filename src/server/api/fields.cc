#include "server/api/fields.h"

#include <algorithm>
#include <cctype>

namespace inlay {
namespace {

constexpr double kMaxTimeoutSeconds = 86'400;

Error empty_error(std::string_view name, std::optional<size_t> item) {
  if (!item) return {ErrorCode::kInvalidArgument, fmt::format("`{}` cannot be empty", name)};
  return {ErrorCode::kInvalidArgument, fmt::format("`{}` cannot be empty: item {} is", name, *item)};
}

Result<EmbedInput> read_text(const Json& value, std::string_view name, std::optional<size_t> item) {
  const std::string_view text = TRY(value.as_string());
  if (text.empty()) return tl::unexpected<Error>(empty_error(name, item));
  return EmbedInput{std::string(text), {}, false};
}

Result<EmbedInput> read_ids(const std::vector<Json>& values, std::string_view name, std::optional<size_t> item) {
  if (values.empty()) return tl::unexpected<Error>(empty_error(name, item));
  EmbedInput input{{}, {}, true};
  input.ids.reserve(values.size());
  for (const Json& value : values) input.ids.push_back(TRY(value.as_int()));
  return input;
}

Result<Priority> read_priority(const Json& value) {
  if (value.is_string()) {
    const std::string_view name = TRY(value.as_string());
    return priority_from_name(name);
  }
  const int64_t level = TRY(value.as_int_in(0, 1'000'000));
  return level == 0 ? Priority::kInteractive : level == 1 ? Priority::kStandard : Priority::kBulk;
}

Result<std::chrono::microseconds> read_timeout(const Json& value) {
  const double seconds = TRY(value.as_double());
  if (!(seconds > 0 && seconds <= kMaxTimeoutSeconds)) {
    return fail(ErrorCode::kInvalidArgument, "`timeout` is {} seconds, wanted more than 0 and at most {}", seconds,
                kMaxTimeoutSeconds);
  }
  return std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
}

}  // namespace

Result<std::optional<std::string>> optional_string(const Json& body, std::string_view key) {
  const std::optional<Json> value = body.find(key);
  if (!value) return std::optional<std::string>();
  return std::optional<std::string>(TRY(value->as_string()));
}

Result<std::optional<bool>> optional_bool(const Json& body, std::string_view key) {
  const std::optional<Json> value = body.find(key);
  if (!value) return std::optional<bool>();
  return std::optional<bool>(TRY(value->as_bool()));
}

Result<std::optional<int64_t>> optional_int(const Json& body, std::string_view key) {
  const std::optional<Json> value = body.find(key);
  if (!value) return std::optional<int64_t>();
  return std::optional<int64_t>(TRY(value->as_int()));
}

Result<Json> required(const Json& body, std::string_view key) {
  if (!body.is_object()) return fail(ErrorCode::kCorrupt, "{}: wanted an object", body.where());
  std::optional<Json> value = body.find(key);
  if (!value) return fail(ErrorCode::kCorrupt, "`{}` is missing", key);
  return *std::move(value);
}

Result<std::vector<EmbedInput>> read_inputs(const Json& value, std::string_view name, bool may_mix) {
  std::vector<EmbedInput> inputs;
  if (value.is_string()) {
    inputs.push_back(TRY(read_text(value, name, std::nullopt)));
    return inputs;
  }
  const std::vector<Json> items = TRY(value.items());
  if (items.empty()) return tl::unexpected<Error>(empty_error(name, std::nullopt));
  if (!items[0].is_string() && !items[0].is_array()) {
    inputs.push_back(TRY(read_ids(items, name, std::nullopt)));
    return inputs;
  }
  inputs.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!may_mix && items[i].is_array() != items[0].is_array()) {
      return fail(ErrorCode::kCorrupt, "`{}` mixes texts and token ids: item {} is not like item 0", name, i);
    }
    if (items[i].is_string()) {
      inputs.push_back(TRY(read_text(items[i], name, i)));
      continue;
    }
    const std::vector<Json> ids = TRY(items[i].items());
    inputs.push_back(TRY(read_ids(ids, name, i)));
  }
  return inputs;
}

Result<std::vector<EmbedInput>> read_texts(const Json& value, std::string_view name) {
  const std::vector<Json> items = TRY(value.items());
  if (items.empty()) return tl::unexpected<Error>(empty_error(name, std::nullopt));
  std::vector<EmbedInput> inputs;
  inputs.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) inputs.push_back(TRY(read_text(items[i], name, i)));
  return inputs;
}

Result<> read_common(const Json& body, EmbedRequest& request) {
  request.prompt = TRY(optional_string(body, "prompt"));
  request.prompt_name = TRY(optional_string(body, "prompt_name"));
  request.input_type = TRY(optional_string(body, "input_type"));
  if (request.prompt && request.prompt_name)
    return fail(ErrorCode::kInvalidArgument, "give either `prompt` or `prompt_name`, not both");
  request.normalize = TRY(optional_bool(body, "normalize"));
  request.dimensions = TRY(optional_int(body, "dimensions"));
  return read_priority_and_timeout(body, request);
}

Result<> read_priority_and_timeout(const Json& body, EmbedRequest& request) {
  if (const std::optional<Json> priority = body.find("priority")) request.priority = TRY(read_priority(*priority));
  if (const std::optional<Json> timeout = body.find("timeout")) request.timeout = TRY(read_timeout(*timeout));
  return {};
}

Result<> read_truncate(const Json& body, EmbedRequest& request) {
  request.truncate = TRY(optional_bool(body, "truncate"));
  std::optional<std::string> side = TRY(optional_string(body, "truncation_direction"));
  if (!side) return {};
  for (char& c : *side) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  TRY_VOID(check_one_of("truncation_direction", *side, {"left", "right"}));
  request.truncate_side = *side == "left" ? TruncationSide::kLeft : TruncationSide::kRight;
  return {};
}

Result<> check_one_of(std::string_view field, std::string_view found, std::initializer_list<std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) return {};
  return fail(ErrorCode::kInvalidArgument, "`{}` is '{}', wanted one of {}", field, found, fmt::join(allowed, ", "));
}

Result<Priority> priority_from_name(std::string_view name) {
  TRY_VOID(check_one_of("priority", name, {"interactive", "standard", "bulk"}));
  return name == "interactive" ? Priority::kInteractive : name == "standard" ? Priority::kStandard : Priority::kBulk;
}

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

}  // namespace inlay
