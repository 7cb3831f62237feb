#include "tokenizer/model_json.h"

#include <string>
#include <utility>
#include <vector>

#include "tokenizer/json_fields.h"
#include "tokenizer/unigram.h"
#include "tokenizer/word_level.h"

namespace inlay {
namespace {

// Files of early versions do not name the type; then the fields tell.
Result<std::string> model_type(const Json& json) {
  if (const std::optional<Json> type = json.find("type")) return std::string(TRY(type->as_string()));
  if (json.find("merges")) return std::string("BPE");
  if (json.find("continuing_subword_prefix") && json.find("max_input_chars_per_word")) return std::string("WordPiece");
  const std::optional<Json> vocab = json.find("vocab");
  if (vocab && vocab->is_array()) return std::string("Unigram");
  if (vocab && json.find("unk_token")) return std::string("WordLevel");
  return fail(ErrorCode::kUnsupported, "{}.type is missing, and the fields are those of no known model", json.where());
}

template <class M>
ReadModel owned(M model) {
  ReadModel result;
  std::unique_ptr<M> owner = std::make_unique<M>(std::move(model));
  if constexpr (std::is_same_v<M, WordPiece>) result.word_piece = owner.get();
  if constexpr (std::is_same_v<M, Bpe>) result.bpe = owner.get();
  result.model = std::move(owner);
  return result;
}

Result<ReadModel> read_word_piece(const Json& json) {
  WordPieceOptions options;
  options.unknown_token = TRY(get_string(json, "unk_token"));
  options.continuing_prefix = TRY(get_string(json, "continuing_subword_prefix"));
  options.max_chars = static_cast<size_t>(TRY(get_int_in(json, "max_input_chars_per_word", 0, INT64_MAX)));
  Vocabulary vocabulary = TRY(json.get("vocab").and_then(read_vocabulary));
  return owned(TRY(WordPiece::build(std::move(vocabulary), options).map_error(within(json.where()))));
}

Result<ReadModel> read_word_level(const Json& json) {
  const std::string unknown = TRY(get_string(json, "unk_token"));
  Vocabulary vocabulary = TRY(json.get("vocab").and_then(read_vocabulary));
  return owned(TRY(WordLevel::build(std::move(vocabulary), unknown).map_error(within(json.where()))));
}

// [["<s>", 0.0], ["▁the", -3.5], ...]
Result<std::vector<Unigram::Entry>> read_scores(const Json& json) {
  std::vector<Unigram::Entry> entries;
  const simdjson::dom::array items = TRY(json.raw_array());
  for (const simdjson::dom::element item : items) {
    simdjson::dom::array pair;
    std::string_view token;
    double score = 0;
    const bool is_pair = item.get_array().get(pair) == simdjson::SUCCESS && pair.size() == 2 &&
                         pair.at(0).get_string().get(token) == simdjson::SUCCESS &&
                         pair.at(1).get_double().get(score) == simdjson::SUCCESS;
    if (!is_pair) return fail(ErrorCode::kCorrupt, "{}[{}]: wanted a token and its score", json.where(), entries.size());
    entries.emplace_back(token, score);
  }
  return entries;
}

Result<ReadModel> read_unigram(const Json& json) {
  UnigramOptions options;
  options.unknown_id = static_cast<int32_t>(TRY(get_int_in(json, "unk_id", 0, INT32_MAX)));
  options.byte_fallback = TRY(json.bool_or("byte_fallback", false));
  const std::vector<Unigram::Entry> entries = TRY(json.get("vocab").and_then(read_scores));
  return owned(TRY(Unigram::build(entries, options).map_error(within(json.where()))));
}

// ["a", "b"], or "a b" as older files have it; nullopt for a comment line.
Result<std::optional<Bpe::MergePair>> read_merge(simdjson::dom::element item) {
  simdjson::dom::array pair;
  std::string_view left;
  std::string_view right;
  if (item.get_array().get(pair) == simdjson::SUCCESS) {
    if (pair.size() == 2 && pair.at(0).get_string().get(left) == simdjson::SUCCESS &&
        pair.at(1).get_string().get(right) == simdjson::SUCCESS) {
      return Bpe::MergePair(left, right);
    }
  } else if (item.get_string().get(left) == simdjson::SUCCESS) {
    return split_merge(left);
  }
  return fail(ErrorCode::kCorrupt, "wanted two tokens");
}

Result<std::vector<Bpe::MergePair>> read_merges(const Json& json) {
  std::vector<Bpe::MergePair> merges;
  const simdjson::dom::array items = TRY(json.raw_array());
  size_t index = 0;
  for (const simdjson::dom::element item : items) {
    const std::optional<Bpe::MergePair> merge =
        TRY(read_merge(item).map_error(within(fmt::format("{}[{}]", json.where(), index))));
    if (merge) merges.push_back(*merge);
    ++index;
  }
  return merges;
}

Result<ReadModel> read_bpe(const Json& json) {
  if (TRY(json.double_or("dropout", 0)) != 0) {
    return fail(ErrorCode::kUnsupported, "{}.dropout: merges that are left to chance give no fixed ids", json.where());
  }
  BpeOptions options;
  if (const std::optional<Json> unknown = json.find("unk_token")) options.unknown_token = TRY(unknown->as_string());
  options.continuing_prefix = TRY(json.string_or("continuing_subword_prefix", ""));
  options.word_suffix = TRY(json.string_or("end_of_word_suffix", ""));
  options.fuse_unknown = TRY(json.bool_or("fuse_unk", false));
  options.byte_fallback = TRY(json.bool_or("byte_fallback", false));
  options.ignore_merges = TRY(json.bool_or("ignore_merges", false));
  Vocabulary vocabulary = TRY(json.get("vocab").and_then(read_vocabulary));
  const std::vector<Bpe::MergePair> merges = TRY(json.get("merges").and_then(read_merges));
  return owned(TRY(Bpe::build(std::move(vocabulary), merges, options).map_error(within(json.where()))));
}

}  // namespace

Result<Vocabulary> read_vocabulary(const Json& json) {
  std::vector<Vocabulary::Entry> entries;
  const simdjson::dom::object object = TRY(json.raw_object());
  entries.reserve(object.size());
  for (const auto& [token, value] : object) {
    int64_t id = -1;
    if (value.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX) {
      return fail(ErrorCode::kCorrupt, "{}: the id of '{}' is not an integer from 0 to {}", json.where(), token, INT32_MAX);
    }
    entries.emplace_back(token, static_cast<int32_t>(id));
  }
  return Vocabulary::build(std::move(entries)).map_error(within(json.where()));
}

Result<std::optional<Bpe::MergePair>> split_merge(std::string_view line) {
  if (line.starts_with("#version")) return std::optional<Bpe::MergePair>();
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    return fail(ErrorCode::kCorrupt, "found '{}', wanted two tokens with a space between them", line);
  }
  return std::optional<Bpe::MergePair>(std::in_place, line.substr(0, space), line.substr(space + 1));
}

Result<ReadModel> read_model(const Json& json) {
  const std::string type = TRY(model_type(json));
  if (type == "WordPiece") return read_word_piece(json);
  if (type == "Unigram") return read_unigram(json);
  if (type == "BPE") return read_bpe(json);
  if (type == "WordLevel") return read_word_level(json);
  return fail(ErrorCode::kUnsupported, "{}.type: Inlay does not know the model '{}'", json.where(), type);
}

}  // namespace inlay
