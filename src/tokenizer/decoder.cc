#include "tokenizer/decoder.h"

#include <string_view>

#include "tokenizer/decode_steps.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/pre_tokenizer_json.h"

namespace inlay {
namespace {

// More than any text that ids stand for.
constexpr size_t kMaxDecoded = 256U << 20;

using Steps = std::vector<std::unique_ptr<DecodeStep>>;

Result<std::unique_ptr<DecodeStep>> read_strip(const Json& json) {
  std::string character = TRY(read_character(json, "content"));
  const size_t start = static_cast<size_t>(TRY(get_int_in(json, "start", 0, INT32_MAX)));
  const size_t stop = static_cast<size_t>(TRY(get_int_in(json, "stop", 0, INT32_MAX)));
  return std::make_unique<DecodeStrip>(std::move(character), DecodeStrip::Counts{start, stop});
}

Result<std::unique_ptr<DecodeStep>> read_suffix(const Json& json) {
  std::string suffix = TRY(get_string(json, "suffix"));
  if (suffix.empty()) return fail(ErrorCode::kUnsupported, "{}.suffix is empty", json.where());
  return std::make_unique<DecodeSuffix>(std::move(suffix));
}

Result<std::unique_ptr<DecodeStep>> read_metaspace_step(const Json& json) {
  MetaspaceOptions options = TRY(read_metaspace(json));
  return std::make_unique<DecodeMetaspace>(std::move(options.replacement), options.prepend != PrependScheme::kNever);
}

Result<std::unique_ptr<DecodeStep>> read_replace_step(const Json& json) {
  Regex regex = TRY(json.get("pattern").and_then(read_pattern));
  return std::make_unique<DecodeReplace>(std::move(regex), TRY(get_string(json, "content")));
}

Result<std::unique_ptr<DecodeStep>> read_step(const Json& json, std::string_view type) {
  if (type == "WordPiece")
    return std::make_unique<DecodeWordPiece>(TRY(get_string(json, "prefix")), TRY(get_bool(json, "cleanup")));
  if (type == "ByteLevel") return std::make_unique<DecodeByteLevel>();
  if (type == "Metaspace") return read_metaspace_step(json);
  if (type == "BPEDecoder") return read_suffix(json);
  if (type == "ByteFallback") return std::make_unique<DecodeByteFallback>();
  if (type == "Fuse") return std::make_unique<DecodeFuse>();
  if (type == "Strip") return read_strip(json);
  if (type == "Replace") return read_replace_step(json);
  return fail(ErrorCode::kUnsupported, "{}: Inlay does not know the decoder '{}'", json.where(), type);
}

Result<> add_steps(const Json& json, Steps& steps) {
  const Json kind = TRY(json.get("type"));
  const std::string_view type = TRY(kind.as_string());
  if (type != "Sequence") {
    steps.push_back(TRY(read_step(json, type)));
    return {};
  }
  const std::vector<Json> items = TRY(get_items(json, "decoders"));
  for (const Json& item : items) TRY_VOID(add_steps(item, steps));
  return {};
}

}  // namespace

Result<TokenDecoder> TokenDecoder::read(const std::optional<Json>& json) {
  TokenDecoder result;
  if (!json) return result;
  result.joins_with_spaces_ = false;
  const Result<> added = add_steps(*json, result.steps_);
  if (!added && added.error().code != ErrorCode::kUnsupported) return tl::unexpected<Error>(added.error());
  if (!added) result.unknown_ = added.error();
  return result;
}

TokenDecoder TokenDecoder::of_step(std::unique_ptr<DecodeStep> step) {
  TokenDecoder result;
  result.joins_with_spaces_ = false;
  result.steps_.push_back(std::move(step));
  return result;
}

TokenDecoder TokenDecoder::word_piece() { return of_step(std::make_unique<DecodeWordPiece>("##", true)); }
TokenDecoder TokenDecoder::byte_level() { return of_step(std::make_unique<DecodeByteLevel>()); }
TokenDecoder TokenDecoder::metaspace() { return of_step(std::make_unique<DecodeMetaspace>("\u2581", true)); }

TokenDecoder TokenDecoder::llama(bool strips_first) {
  TokenDecoder result = of_step(std::make_unique<DecodeMetaspace>("\u2581", false));
  result.steps_.push_back(std::make_unique<DecodeByteFallback>());
  result.steps_.push_back(std::make_unique<DecodeFuse>());
  if (strips_first) result.steps_.push_back(std::make_unique<DecodeStrip>(" ", DecodeStrip::Counts{1, 0}));
  return result;
}

Result<std::string> TokenDecoder::decode(std::vector<std::string> tokens) const {
  if (unknown_) return tl::unexpected<Error>(*unknown_);
  StepState state;
  state.max_text = kMaxDecoded;
  for (const std::unique_ptr<DecodeStep>& step : steps_) {
    step->apply(tokens, state);
    if (state.error) return tl::unexpected<Error>(*std::move(state.error));
  }
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && joins_with_spaces_) text += ' ';
    text += tokens[i];
  }
  return text;
}

}  // namespace inlay
