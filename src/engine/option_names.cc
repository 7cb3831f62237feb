#include "engine/option_names.h"

#include <array>
#include <utility>

namespace inlay {
namespace {

template <class Value, size_t kCount>
Result<Value> parse(std::string_view option, std::string_view name,
                    const std::array<std::pair<std::string_view, Value>, kCount>& known) {
  std::string names;
  for (const auto& [known_name, value] : known) {
    if (known_name == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(known_name);
  }
  return fail(ErrorCode::kInvalidArgument, "{} is '{}', wanted one of {}", option, name, names);
}

}  // namespace

Result<Precision> parse_dtype(std::string_view name) {
  if (const std::optional<Precision> precision = precision_from_name(name)) return *precision;
  return fail(ErrorCode::kInvalidArgument, "dtype is '{}', wanted one of auto, float32, bfloat16, float16, int8, int4", name);
}

Result<TruncationSide> parse_truncate_side(std::string_view name) {
  return parse<TruncationSide, 3>(
      "truncate_side", name,
      {{{"right", TruncationSide::kRight}, {"left", TruncationSide::kLeft}, {"none", TruncationSide::kNone}}});
}

Result<Pooling> parse_pooling(std::string_view name) {
  if (const std::optional<Pooling> pooling = pooling_from_name(name)) return *pooling;
  return fail(ErrorCode::kInvalidArgument,
              "pooling is '{}', wanted one of cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken", name);
}

Result<Normalize> parse_normalize(std::string_view name) {
  return parse<Normalize, 3>("normalize", name,
                             {{{"auto", Normalize::kAuto}, {"on", Normalize::kOn}, {"off", Normalize::kOff}}});
}

}  // namespace inlay
