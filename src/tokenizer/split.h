// Pre-tokenizers that cut at what a pattern matches, and those that ByteLevel is made of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/pre_tokenizer.h"

namespace inlay {

// Split: cuts at the matches of a regular expression; with `invert`, at what lies between them.
class RegexSplit final : public PreTokenizer {
 public:
  struct Options {
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
    bool cuts_at_space = false;  // the pattern is known to
  };

  RegexSplit(Regex regex, Options options) : regex_(std::move(regex)), options_(options) {}
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  bool cuts_at_space() const override { return options_.cuts_at_space; }

 private:
  Regex regex_;
  Options options_;
};

// Whether the pattern, with its matches isolated, cuts between a letter or digit and a space that another one follows, and
// looks at neither side of such a place from the other.
bool pattern_cuts_at_space(std::string_view pattern);

// The pattern of ByteLevel.
extern const std::string_view kGpt2Pattern;

// CharDelimiterSplit: drops one character and cuts there.
class DelimiterSplit final : public PreTokenizer {
 public:
  // `delimiter` is one character.
  explicit DelimiterSplit(std::string delimiter) : delimiter_(std::move(delimiter)) {}
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  bool cuts_at_space() const override { return delimiter_ == " "; }
  bool keeps_cuts() const override { return true; }

 private:
  std::string delimiter_;
};

// FixedLength: pieces of so many characters.
class LengthSplit final : public PreTokenizer {
 public:
  // `length` is at least 1.
  explicit LengthSplit(size_t length) : length_(length) {}
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  bool cuts_at_space() const override { return false; }

 private:
  size_t length_;
};

// Puts a space before a piece that has none.
class PrefixSpace final : public PreTokenizer {
 public:
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  std::vector<ByteRange> align(std::string_view text, std::span<const ByteRange> ranges, const StepState& state) const override;
  bool cuts_at_space() const override { return false; }
  bool keeps_cuts() const override { return true; }
};

// Writes every byte as its character of GPT-2's alphabet.
class ByteMap final : public PreTokenizer {
 public:
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  std::vector<ByteRange> align(std::string_view text, std::span<const ByteRange> ranges, const StepState& state) const override;
  bool cuts_at_space() const override { return false; }
  bool keeps_cuts() const override { return true; }
};

}  // namespace inlay
