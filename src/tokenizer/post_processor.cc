#include "tokenizer/post_processor.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/json_fields.h"

namespace inlay {
namespace {

// One special token of a template may stand for several ids; more than this is not a template but an attack.
constexpr size_t kMaxSpecialIds = 4096;

// ["[SEP]", 102]
Result<int32_t> read_token_pair(const Json& json) {
  const std::vector<Json> items = TRY(json.items());
  if (items.size() != 2)
    return fail(ErrorCode::kCorrupt, "{}: has {} elements, wanted a token and its id", json.where(), items.size());
  return static_cast<int32_t>(TRY(items[1].as_int_in(0, INT32_MAX)));
}

Result<std::vector<int32_t>> read_special_ids(const Json& special_tokens, std::string_view name, const Json& piece) {
  const std::optional<Json> token = special_tokens.find(name);
  if (!token) return fail(ErrorCode::kCorrupt, "{}: special token '{}' is not among special_tokens", piece.where(), name);
  std::vector<int32_t> ids;
  const std::vector<Json> items = TRY(get_items(*token, "ids"));
  for (const Json& id : items) ids.push_back(static_cast<int32_t>(TRY(id.as_int_in(0, INT32_MAX))));
  return ids;
}

Result<TemplatePiece> read_piece(const Json& json, const Json& special_tokens) {
  TemplatePiece piece;
  const std::optional<Json> sequence = json.find("Sequence");
  const Json body = sequence ? *sequence : TRY(json.get("SpecialToken"));
  const std::string id = TRY(get_string(body, "id"));
  piece.type_id = static_cast<int32_t>(TRY(get_int_in(body, "type_id", 0, INT32_MAX)));
  if (!sequence) {
    piece.part = TemplatePart::kSpecial;
    piece.ids = TRY(read_special_ids(special_tokens, id, body));
  } else if (id == "A" || id == "B") {
    piece.part = id == "A" ? TemplatePart::kFirst : TemplatePart::kSecond;
  } else {
    return fail(ErrorCode::kCorrupt, "{}: found '{}', wanted A or B", body.where(), id);
  }
  return piece;
}

Result<Template> read_template(const Json& json, const Json& special_tokens, bool is_pair) {
  Template result;
  size_t special_ids = 0;
  const std::vector<Json> items = TRY(json.items());
  for (const Json& item : items) {
    result.push_back(TRY(read_piece(item, special_tokens)));
    special_ids += result.back().ids.size();
    if (special_ids > kMaxSpecialIds) {
      return fail(ErrorCode::kTooLarge, "{}: more than {} special tokens", json.where(), kMaxSpecialIds);
    }
  }
  const auto uses = [&](TemplatePart part) {
    return std::count_if(result.begin(), result.end(), [&](const TemplatePiece& piece) { return piece.part == part; });
  };
  if (uses(TemplatePart::kFirst) != 1 || uses(TemplatePart::kSecond) != (is_pair ? 1 : 0)) {
    return fail(ErrorCode::kUnsupported, "{}: wanted {} exactly once", json.where(), is_pair ? "A and B each" : "A, and no B,");
  }
  return result;
}

Result<PostProcessor> read_template_processing(const Json& json) {
  const Json special_tokens = TRY(json.get("special_tokens"));
  const Json single = TRY(json.get("single"));
  const Json pair = TRY(json.get("pair"));
  PostProcessor result;
  result.single = TRY(read_template(single, special_tokens, false));
  result.pair = TRY(read_template(pair, special_tokens, true));
  return result;
}

// nullopt for a processor that leaves ids alone.
Result<std::optional<PostProcessor>> read_one(const Json& json) {
  const std::string type = TRY(get_string(json, "type"));
  if (type == "ByteLevel") return std::nullopt;
  if (type == "TemplateProcessing") return TRY(read_template_processing(json));
  if (type != "BertProcessing" && type != "RobertaProcessing") {
    return fail(ErrorCode::kUnsupported, "{}: Inlay does not know the post-processor '{}'", json.where(), type);
  }
  const int32_t sep = TRY(json.get("sep").and_then(read_token_pair));
  const int32_t cls = TRY(json.get("cls").and_then(read_token_pair));
  return type == "BertProcessing" ? bert_post_processor(cls, sep) : roberta_post_processor(cls, sep);
}

// Adds what a processor does to offsets.
Result<> add_trim(const Json& json, std::vector<OffsetTrim>& trims) {
  const std::string type = TRY(get_string(json, "type"));
  if (type != "ByteLevel" && type != "RobertaProcessing") return {};
  if (TRY(json.bool_or("trim_offsets", true))) trims.push_back({TRY(json.bool_or("add_prefix_space", true))});
  return {};
}

}  // namespace

size_t PostProcessor::special_count(bool is_pair) const {
  size_t count = 0;
  for (const TemplatePiece& piece : of(is_pair)) count += piece.ids.size();
  return count;
}

int64_t PostProcessor::id_limit() const {
  int64_t limit = 0;
  for (const Template* each : {&single, &pair}) {
    for (const TemplatePiece& piece : *each) {
      for (const int32_t id : piece.ids) limit = std::max(limit, int64_t{id} + 1);
    }
  }
  return limit;
}

PostProcessor bert_post_processor(int32_t cls, int32_t sep) {
  const TemplatePiece first{TemplatePart::kFirst, 0, {}};
  const TemplatePiece second{TemplatePart::kSecond, 1, {}};
  return {.single = {special_piece(cls, 0), first, special_piece(sep, 0)},
          .pair = {special_piece(cls, 0), first, special_piece(sep, 0), second, special_piece(sep, 1)}};
}

PostProcessor roberta_post_processor(int32_t cls, int32_t sep) {
  const TemplatePiece first{TemplatePart::kFirst, 0, {}};
  const TemplatePiece second{TemplatePart::kSecond, 0, {}};
  return {.single = {special_piece(cls, 0), first, special_piece(sep, 0)},
          .pair = {special_piece(cls, 0), first, special_piece(sep, 0), special_piece(sep, 0), second, special_piece(sep, 0)}};
}

Result<PostProcessor> read_post_processor(const Json& json) {
  const std::string type = TRY(get_string(json, "type"));
  const std::vector<Json> items = type == "Sequence" ? TRY(get_items(json, "processors")) : std::vector<Json>{json};
  std::optional<PostProcessor> adding;
  std::vector<OffsetTrim> trims;
  for (const Json& item : items) {
    TRY_VOID(add_trim(item, trims));
    std::optional<PostProcessor> one = TRY(read_one(item));
    if (!one) continue;
    if (adding) return fail(ErrorCode::kUnsupported, "{}: more than one processor adds tokens", json.where());
    adding = std::move(one);
  }
  PostProcessor result = std::move(adding).value_or(PostProcessor{});
  result.trims = std::move(trims);
  return result;
}

}  // namespace inlay
