// A model file of sentencepiece, read into what Inlay needs of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace inlay {

enum class PieceType : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

struct SentencePiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

enum class SentencepieceKind { kUnigram, kBpe };

struct SentencepieceModel {
  std::vector<SentencePiece> pieces;  // the index is the id
  SentencepieceKind kind = SentencepieceKind::kUnigram;
  bool byte_fallback = false;
  int32_t unknown_id = 0;
  std::string unknown_piece = "<unk>";
  std::string charsmap;  // as charsmap.h takes it; empty if there is none
};

// kCorrupt for what is no such file, kUnsupported for kinds of models other than Unigram and BPE.
Result<SentencepieceModel> parse_sentencepiece(std::string_view bytes);

// The merges of a BPE model, which the file does not name: every cut of a piece into two pieces, those of better pieces first.
// Views of the model's pieces.
Result<std::vector<std::pair<std::string_view, std::string_view>>> make_merges(const SentencepieceModel& model);

}  // namespace inlay
