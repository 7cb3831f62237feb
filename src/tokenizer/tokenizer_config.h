// The files beside tokenizer.json that transformers reads for a tokenizer: tokenizer_config.json, special_tokens_map.json and,
// for the class alone, config.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/text_steps.h"

namespace inlay {

// What the tokenizer's class says. The kinds behind kMpnet matter in folders without a tokenizer.json only.
enum class TokenizerFamily {
  kBert,
  kMpnet,
  kXlmRoberta,
  kCamembert,
  kDeberta,
  kAlbert,
  kT5,
  kLlama,
  kGemma,
  kRoberta,
  kGpt2,
  kQwen,
  kOther
};

// What the classes that read sentencepiece files are told.
struct SentencepieceFlags {
  std::optional<bool> lowercase;
  bool splits_punctuation = false;
  bool keeps_accents = false;
  bool is_legacy = false;
  int64_t extra_ids = 100;
};

struct TokenizerConfig {
  TokenizerFamily family = TokenizerFamily::kOther;
  // For BERT and MPNet classes, whose defaults count where the file is silent.
  std::optional<BertOverrides> bert;
  std::string unknown_token;
  std::string cls_token;
  std::string sep_token;
  std::string bos_token;
  std::string eos_token;
  SentencepieceFlags sentencepiece;
  // Without a tokenizer.json: what is put around texts by the classes that have no template of their own, and whether a space
  // is put before a text, which each class has a default for.
  bool adds_bos = false;
  bool adds_eos = false;
  std::optional<bool> adds_prefix_space;
  // In the order in which transformers adds them; ids are not set. `overriding` ones replace the flags of a token of
  // tokenizer.json, the others are added only where their content is new.
  std::vector<AddedToken> overriding_tokens;
  std::vector<AddedToken> special_tokens;
  std::optional<int> model_max_length;
};

// Missing files are no error. With `has_json` the special tokens that a class has by default are left to the tokenizer.json,
// but for BERT's and MPNet's.
Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder, bool has_json);

// `content`, `single_word`, `lstrip`, `rstrip`, `normalized` and `special` of one token. Without `all_fields`, those that are
// missing are false, but `normalized`, which is then the opposite of `special`.
Result<AddedToken> read_added_token(const Json& json, bool all_fields);

}  // namespace inlay
