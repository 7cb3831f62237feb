// Byte-pair encoding: a piece falls into characters, and neighbours join in the order of the merges.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/model.h"

namespace inlay {

struct BpeOptions {
  std::optional<std::string> unknown_token = {};  // without one, unknown characters are dropped
  std::string continuing_prefix = {};             // of the tokens of all characters but a piece's first
  std::string word_suffix = {};                   // of the token of a piece's last character
  bool fuse_unknown = false;                      // unknown characters beside one another are one token
  bool byte_fallback = false;                     // unknown characters become tokens like <0x0A> where all their bytes have one
  bool ignore_merges = false;                     // a piece that is a token is that token
};

class Bpe final : public TokenizerModel {
 public:
  using MergePair = std::pair<std::string_view, std::string_view>;

  // kCorrupt if a merge joins or makes what is no token, or if the unknown token is none.
  static Result<Bpe> build(Vocabulary vocabulary, const std::vector<MergePair>& merges, const BpeOptions& options);

  // From here on pieces are bytes, each of which stands for its character of GPT-2's alphabet: the same ids as for text that
  // was written in that alphabet, without writing it. False, and nothing changes, if the options allow no such reading.
  bool read_bytes();

  void tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const override;
  void locate(std::string_view piece, ModelScratch& scratch, std::vector<ModelToken>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string_view kind() const override { return "BPE"; }

 private:
  Bpe(Vocabulary vocabulary, const BpeOptions& options) : vocabulary_(std::move(vocabulary)), options_(options) {}

  Result<> add_merges(const std::vector<MergePair>& merges);
  void encode(std::string_view piece, ModelScratch& scratch) const;
  void encode_cached(std::string_view piece, ModelScratch& scratch, IdSink& sink) const;
  std::optional<int32_t> find_whole(std::string_view piece) const;
  template <class Push>
  void split_chars(std::string_view piece, Push push) const;
  template <class Push>
  bool split_unknown(std::string_view character, Push push) const;
  void merge_few(ModelScratch& scratch) const;
  void join_symbols(ModelScratch& scratch) const;
  void merge_many(ModelScratch& scratch) const;

  Vocabulary vocabulary_;
  BpeOptions options_;
  MergeTable merges_;
  std::optional<int32_t> unknown_id_;
  std::array<int32_t, 256> byte_ids_{};  // of "<0x00>" ...; kNoValue where there is none
  bool has_affixes_ = false;
  bool cuts_at_mark_ = false;  // no merge joins another character and a U+2581 behind it
  // While pieces are bytes:
  bool reads_bytes_ = false;
  std::array<int32_t, 256> char_ids_{};  // of the character of each byte
  DoubleArray whole_;                    // the tokens as bytes, if ignore_merges needs them
};

}  // namespace inlay
