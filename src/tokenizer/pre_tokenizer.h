// Cuts normalized text into the pieces that a model takes one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/aligned_text.h"
#include "tokenizer/step_state.h"

namespace inlay {

// Immutable; `split` may run in any number of threads at once, each with its own state. The pieces are views of the text given
// or of the arena; none is empty.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Appends the pieces of `text`, in order.
  virtual void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const = 0;
  // What the bytes of the text stand for that `split` writes in the place of `text`, whose bytes stand for `ranges`. A step
  // that writes nothing cuts `text` itself.
  virtual std::vector<ByteRange> align(std::string_view, std::span<const ByteRange> ranges, const StepState&) const {
    return {ranges.begin(), ranges.end()};
  }
  // Text may be cut between an ASCII letter or digit and a space that another one follows, and each part split alone.
  virtual bool cuts_at_space() const = 0;
  // Where the text before and after it was cut like that, the pieces are the same too: true of steps that look at single
  // characters.
  virtual bool keeps_cuts() const { return cuts_at_space(); }
};

using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

// What to do with characters that separate.
enum class SplitBehavior {
  kRemoved,             // they are dropped
  kIsolated,            // each is a piece
  kMergedWithPrevious,  // each ends the piece before it
  kMergedWithNext,      // each begins the piece after it
  kContiguous,          // runs of them are pieces
};

// Splits at the characters that have one of `flags` (CharFlag).
class CharSplit final : public PreTokenizer {
 public:
  CharSplit(uint16_t flags, SplitBehavior behavior) : flags_(flags), behavior_(behavior) {}
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  bool cuts_at_space() const override;
  bool keeps_cuts() const override { return true; }

 private:
  uint16_t flags_;
  SplitBehavior behavior_;
};

// BertPreTokenizer: white space goes, each punctuation character is a piece.
class BertSplit final : public PreTokenizer {
 public:
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  bool cuts_at_space() const override { return true; }
};

// Whitespace: runs of word characters and runs of other visible characters are pieces (`\w+|[^\w\s]+`).
class WordSplit final : public PreTokenizer {
 public:
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  bool cuts_at_space() const override { return true; }
};

}  // namespace inlay
