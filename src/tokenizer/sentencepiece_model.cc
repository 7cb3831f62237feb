#include "tokenizer/sentencepiece_model.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/protobuf.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

// Gemma's 256,000 pieces make 580,000 merges; a file of another order is an attack.
constexpr size_t kMaxMerges = 1 << 22;
constexpr size_t kMaxMergedBytes = 512;

// Field numbers of sentencepiece_model.proto.
constexpr uint32_t kModelPieces = 1;
constexpr uint32_t kModelTrainer = 2;
constexpr uint32_t kModelNormalizer = 3;
constexpr uint32_t kTrainerKind = 3;
constexpr uint32_t kTrainerByteFallback = 35;
constexpr uint32_t kTrainerUnknownId = 40;
constexpr uint32_t kTrainerUnknownPiece = 45;
constexpr uint32_t kNormalizerCharsmap = 2;

Result<std::string> text_of(const ProtoField& field) {
  if (!is_valid_utf8(field.bytes)) return fail(ErrorCode::kCorrupt, "a piece is not valid UTF-8");
  return std::string(field.bytes);
}

Result<SentencePiece> parse_piece(std::string_view bytes) {
  SentencePiece piece;
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = TRY(reader.next())) {
    if (field->number == 1) piece.text = TRY(text_of(*field));
    if (field->number == 2) piece.score = field->as_float();
    if (field->number == 3) {
      if (field->value < 1 || field->value > 6)
        return fail(ErrorCode::kCorrupt, "a piece has the unknown type {}", field->value);
      piece.type = static_cast<PieceType>(field->value);
    }
  }
  return piece;
}

Result<> parse_trainer(std::string_view bytes, SentencepieceModel& model) {
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = TRY(reader.next())) {
    if (field->number == kTrainerKind) {
      if (field->value != 1 && field->value != 2) {
        return fail(ErrorCode::kUnsupported, "model type {}, wanted Unigram (1) or BPE (2)", field->value);
      }
      model.kind = field->value == 1 ? SentencepieceKind::kUnigram : SentencepieceKind::kBpe;
    }
    if (field->number == kTrainerByteFallback) model.byte_fallback = field->value != 0;
    if (field->number == kTrainerUnknownId) model.unknown_id = field->as_int();
    if (field->number == kTrainerUnknownPiece) model.unknown_piece = TRY(text_of(*field));
  }
  return {};
}

Result<> parse_normalizer(std::string_view bytes, SentencepieceModel& model) {
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = TRY(reader.next())) {
    if (field->number == kNormalizerCharsmap) model.charsmap = std::string(field->bytes);
  }
  return {};
}

struct RankedMerge {
  float score;
  uint32_t left_chars;
  uint32_t right_chars;
  std::string_view left;
  std::string_view right;
};

using PieceIds = std::unordered_map<std::string_view, size_t>;

// Cuts of one piece, in the order of the ids of both parts.
void add_cuts(const SentencePiece& piece, const PieceIds& ids, std::vector<RankedMerge>& merges) {
  const std::string_view text = piece.text;
  const size_t before = merges.size();
  uint32_t left_chars = 0;
  const uint32_t chars = static_cast<uint32_t>(count_chars(text));
  for (size_t cut = 0; cut < text.size();) {
    cut += decode_utf8(text.data() + cut, text.data() + text.size()).size;
    ++left_chars;
    if (cut == text.size()) break;
    const std::string_view left = text.substr(0, cut);
    const std::string_view right = text.substr(cut);
    if (ids.contains(left) && ids.contains(right)) merges.push_back({piece.score, left_chars, chars - left_chars, left, right});
  }
  std::sort(merges.begin() + static_cast<std::ptrdiff_t>(before), merges.end(),
            [&](const RankedMerge& a, const RankedMerge& b) {
              return std::pair(ids.at(a.left), ids.at(a.right)) < std::pair(ids.at(b.left), ids.at(b.right));
            });
}

}  // namespace

Result<SentencepieceModel> parse_sentencepiece(std::string_view bytes) {
  SentencepieceModel model;
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = TRY(reader.next())) {
    if (field->number == kModelPieces) {
      const std::string place = fmt::format("piece {}", model.pieces.size());
      model.pieces.push_back(TRY(parse_piece(field->bytes).map_error(within(place))));
    }
    if (field->number == kModelTrainer) TRY_VOID(parse_trainer(field->bytes, model).map_error(within("trainer_spec")));
    if (field->number == kModelNormalizer) TRY_VOID(parse_normalizer(field->bytes, model).map_error(within("normalizer_spec")));
  }
  if (model.pieces.empty()) return fail(ErrorCode::kCorrupt, "no pieces, which every sentencepiece model has");
  return model;
}

Result<std::vector<std::pair<std::string_view, std::string_view>>> make_merges(const SentencepieceModel& model) {
  PieceIds ids;
  for (size_t id = 0; id < model.pieces.size(); ++id) ids[model.pieces[id].text] = id;
  std::vector<RankedMerge> merges;
  for (const SentencePiece& piece : model.pieces) {
    if (piece.text.size() > kMaxMergedBytes) continue;
    add_cuts(piece, ids, merges);
    if (merges.size() > kMaxMerges) return fail(ErrorCode::kTooLarge, "the pieces make more than {} merges", kMaxMerges);
  }
  std::stable_sort(merges.begin(), merges.end(), [](const RankedMerge& a, const RankedMerge& b) {
    return std::tuple(a.score, a.left_chars, a.right_chars) > std::tuple(b.score, b.left_chars, b.right_chars);
  });
  std::vector<std::pair<std::string_view, std::string_view>> result;
  result.reserve(merges.size());
  for (const RankedMerge& merge : merges) result.emplace_back(merge.left, merge.right);
  return result;
}

}  // namespace inlay
