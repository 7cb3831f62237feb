// Reads the `normalizer` and `pre_tokenizer` of a tokenizer.json.
#pragma once

#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"

namespace inlay {

// What transformers puts in the place of a BertNormalizer's own flags, for a tokenizer of a BERT class.
struct BertOverrides {
  bool lowercase = true;
  std::optional<bool> strip_accents;
  bool handle_chinese_chars = true;
};

struct TextSteps {
  Normalizers normalizers;
  PreTokenizers pre_tokenizers;
  // Set if the steps are exactly BertNormalizer (maybe with a lower-casing first) and BertPreTokenizer.
  std::optional<BertOptions> bert;
  // The last pre-tokenizer writes bytes as characters (ByteMap).
  bool ends_in_byte_map = false;
};

struct TextStepChanges {
  std::optional<BertOverrides> bert;
  // Lower-cases first, unless a Lowercase step is there already (as sentence-transformers does).
  bool lowercase_first = false;
};

// `normalizer` and `pre_tokenizer` may be missing. A step that Inlay does not know is kUnsupported.
Result<TextSteps> read_text_steps(const std::optional<Json>& normalizer, const std::optional<Json>& pre_tokenizer,
                                  const TextStepChanges& changes);

// BertNormalizer and BertPreTokenizer.
TextSteps bert_text_steps(const BertOptions& options);

}  // namespace inlay
