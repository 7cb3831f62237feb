// The steps that decoders are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tokenizer/decoder.h"

namespace inlay {

// WordPiece: words are set apart by spaces; `cleanup` takes back spaces before English punctuation and contractions.
class DecodeWordPiece final : public DecodeStep {
 public:
  DecodeWordPiece(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void apply(std::vector<std::string>& tokens, StepState& state) const override;

 private:
  std::string prefix_;
  bool cleanup_;
};

// ByteLevel: characters of GPT-2's alphabet are bytes again, and all tokens become one. Ill-formed UTF-8 becomes U+FFFD.
class DecodeByteLevel final : public DecodeStep {
 public:
  void apply(std::vector<std::string>& tokens, StepState& state) const override;
};

// Metaspace: the mark is a space, but for the one that was put before the text.
class DecodeMetaspace final : public DecodeStep {
 public:
  DecodeMetaspace(std::string mark, bool drops_first) : mark_(std::move(mark)), drops_first_(drops_first) {}
  void apply(std::vector<std::string>& tokens, StepState& state) const override;

 private:
  std::string mark_;
  bool drops_first_;
};

// BPEDecoder: the suffix that ends words is a space, but for the last token's.
class DecodeSuffix final : public DecodeStep {
 public:
  explicit DecodeSuffix(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(std::vector<std::string>& tokens, StepState& state) const override;

 private:
  std::string suffix_;
};

// ByteFallback: tokens like <0x0A> are bytes again; a run of them that is no UTF-8 becomes a U+FFFD for each.
class DecodeByteFallback final : public DecodeStep {
 public:
  void apply(std::vector<std::string>& tokens, StepState& state) const override;
};

// Fuse: all tokens become one.
class DecodeFuse final : public DecodeStep {
 public:
  void apply(std::vector<std::string>& tokens, StepState& state) const override;
};

// Strip: takes up to so many of one character from both ends of each token.
class DecodeStrip final : public DecodeStep {
 public:
  struct Counts {
    size_t start;
    size_t stop;
  };
  // `character` is one character.
  DecodeStrip(std::string character, Counts counts) : character_(std::move(character)), counts_(counts) {}
  void apply(std::vector<std::string>& tokens, StepState& state) const override;

 private:
  std::string character_;
  Counts counts_;
};

// Replace: what a pattern matches in a token.
class DecodeReplace final : public DecodeStep {
 public:
  DecodeReplace(Regex regex, std::string content) : regex_(std::move(regex)), content_(std::move(content)) {}
  void apply(std::vector<std::string>& tokens, StepState& state) const override;

 private:
  Regex regex_;
  std::string content_;
};

}  // namespace inlay
