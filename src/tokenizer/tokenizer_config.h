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

enum class TokenizerFamily { kBert, kMpnet, kOther };

struct TokenizerConfig {
  TokenizerFamily family = TokenizerFamily::kOther;
  // For BERT and MPNet classes, whose defaults count where the file is silent.
  std::optional<BertOverrides> bert;
  std::string unknown_token;
  std::string cls_token;
  std::string sep_token;
  // In the order in which transformers adds them; ids are not set. `overriding` ones replace the flags of a token of
  // tokenizer.json, the others are added only where their content is new.
  std::vector<AddedToken> overriding_tokens;
  std::vector<AddedToken> special_tokens;
  std::optional<int> model_max_length;
};

// Missing files are no error.
Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder);

// `content`, `single_word`, `lstrip`, `rstrip`, `normalized` and `special` of one token. Without `all_fields`, those that are
// missing are false, but `normalized`, which is then the opposite of `special`.
Result<AddedToken> read_added_token(const Json& json, bool all_fields);

}  // namespace inlay
