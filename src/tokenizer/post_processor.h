// Puts special tokens around the ids of a text or a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace inlay {

enum class TemplatePart : uint8_t { kFirst, kSecond, kSpecial };

struct TemplatePiece {
  TemplatePart part = TemplatePart::kFirst;
  int32_t type_id = 0;
  std::vector<int32_t> ids;  // of a special token
};
inline TemplatePiece special_piece(int32_t id, int32_t type_id) { return {TemplatePart::kSpecial, type_id, {id}}; }

// One piece is kFirst; of a pair's, one more is kSecond; the others are kSpecial.
using Template = std::vector<TemplatePiece>;

// Offsets leave out the white space at the ends of a token, but for one space at the beginning of a text, if it was put there.
struct OffsetTrim {
  bool adds_prefix_space = true;
};

struct PostProcessor {
  Template single{{TemplatePart::kFirst, 0, {}}};
  Template pair{{TemplatePart::kFirst, 0, {}}, {TemplatePart::kSecond, 1, {}}};

  std::vector<OffsetTrim> trims = {};  // one after the other

  const Template& of(bool is_pair) const { return is_pair ? pair : single; }
  // Special tokens that are added.
  size_t special_count(bool is_pair) const;
  // One more than the largest id that is added.
  int64_t id_limit() const;
};

// "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]", the second text with type 1.
PostProcessor bert_post_processor(int32_t cls, int32_t sep);
// "<s> A </s>" and "<s> A </s></s> B </s>", all of type 0.
PostProcessor roberta_post_processor(int32_t cls, int32_t sep);

// The `post_processor` of a tokenizer.json.
Result<PostProcessor> read_post_processor(const Json& json);

}  // namespace inlay
