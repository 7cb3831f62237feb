// Gives added tokens their ids as `tokenizers` does: a token of the vocabulary keeps its id, a new one takes the next free one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/model.h"
#include "tokenizer/tokenizer_config.h"

namespace inlay {

class AddedTokenList {
 public:
  // `model` outlives this object.
  explicit AddedTokenList(const TokenizerModel& model)
      : vocabulary_(model.vocabulary()), next_id_(static_cast<int64_t>(model.token_count())) {}

  // Of a token that is there already `overrides` replaces the flags.
  Result<> add(AddedToken token, bool overrides) {
    if (token.content.empty()) return {};
    const auto [place, is_new] = places_.try_emplace(token.content, tokens_.size());
    if (!is_new) {
      AddedToken& known = tokens_[place->second];
      token.id = known.id;
      if (overrides) known = std::move(token);
      return {};
    }
    const std::optional<int32_t> id = vocabulary_.id_of(token.content);
    if (!id && next_id_ > INT32_MAX) return fail(ErrorCode::kTooLarge, "no id is left for the added token '{}'", token.content);
    token.id = id ? *id : static_cast<int32_t>(next_id_++);
    tokens_.push_back(std::move(token));
    return {};
  }

  // The tokens of tokenizer_config.json and special_tokens_map.json.
  Result<> add_config(const TokenizerConfig& config) {
    for (const AddedToken& token : config.overriding_tokens) TRY_VOID(add(token, true));
    for (const AddedToken& token : config.special_tokens) TRY_VOID(add(token, false));
    return {};
  }

  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  const Vocabulary& vocabulary_;
  int64_t next_id_;
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> places_;
};

}  // namespace inlay
