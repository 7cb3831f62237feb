// Finds which part of a text each token stands for: does what the encoders do once more, slowly and on the whole text, and
// keeps track. Nothing of it runs where no offsets are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/chunk_encoder.h"
#include "tokenizer/general_encoder.h"
#include "tokenizer/offsets.h"
#include "tokenizer/post_processor.h"

namespace inlay {

struct PlacedToken {
  int32_t id = 0;
  ByteRange range = {};  // of the whole text
  bool is_exact = true;
  // White characters at the ends of what the token says.
  int32_t leading = 0;
  int32_t trailing = 0;
};

class TokenPlacer {
 public:
  // All of them outlive this object.
  TokenPlacer(const AddedTokenMatcher& raw_tokens, const GeneralEncoder::Steps& steps, const TokenizerModel& model)
      : raw_tokens_(raw_tokens), steps_(steps), model_(model) {}

  // The tokens of the whole text, without those of the template. `text` is well-formed UTF-8 below 4 GiB. Of no use where
  // `state.steps.error` is set.
  std::vector<PlacedToken> place(std::string_view text, EncodeState& state) const;

 private:
  using Tokens = std::vector<PlacedToken>;
  // A piece of normalized text and what its bytes stand for.
  struct Piece {
    std::string_view text;
    std::vector<ByteRange> ranges;
  };

  void place_chunk(AlignedText text, EncodeState& state, Tokens& tokens) const;
  void split(const PreTokenizer& step, const Piece& piece, EncodeState& state, std::vector<Piece>& finer) const;
  void place_plain(Piece piece, bool is_exact, EncodeState& state, Tokens& tokens) const;

  const AddedTokenMatcher& raw_tokens_;
  const GeneralEncoder::Steps& steps_;
  const TokenizerModel& model_;
};

// The offsets of tokens of `text`, trimmed as the post-processor says; nullopt where those of the reference are not known.
std::vector<std::optional<Offsets>> offsets_of(std::string_view text, std::span<const PlacedToken> tokens,
                                               std::span<const OffsetTrim> trims);

}  // namespace inlay
