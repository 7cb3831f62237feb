// What BERT's normalizer and pre-tokenizer together do to one character, looked up in one step.
#pragma once

#include <cstdint>
#include <vector>

#include "tokenizer/normalizer.h"

namespace inlay {

enum class FoldAction : uint8_t {
  kCopy,     // `bytes` go on the word
  kBreak,    // the word ends
  kSingle,   // the word ends and `bytes` are a word of their own
  kDrop,     // as if it were not there
  kBarrier,  // dropped, but marks behind it do not pass it in canonical ordering
  kMany,     // several steps: see BertFold::for_each_step
};

struct Fold {
  FoldAction action = FoldAction::kDrop;
  uint8_t size = 0;
  char bytes[10] = {};  // three jamo are 9
};

// Immutable. About 150 KB, most of it never touched by a text.
class BertFold {
 public:
  explicit BertFold(const BertOptions& options);

  // `code` is below 0x110000.
  Fold at(uint32_t code) const { return code < kTableEnd ? folds_[pages_[code / kPage] * kPage + code % kPage] : make(code); }

  // One step of a kMany character. A mark with a rank sorts itself among the marks that end the word.
  struct Step {
    FoldAction action;  // never kMany
    uint32_t code;
    uint8_t rank;
  };
  std::vector<Step> steps(uint32_t code) const;

 private:
  static constexpr uint32_t kPage = 64;
  static constexpr uint32_t kTableEnd = 0x20000;  // the planes behind hold ideographs, tags and private characters only

  Fold make(uint32_t code) const;
  bool is_plain(uint32_t code) const;
  void add_steps(uint32_t code, std::vector<Step>& steps) const;
  void add_folded(uint32_t code, bool is_spaced, std::vector<Step>& steps) const;

  BertOptions options_;
  std::vector<uint16_t> pages_;
  std::vector<Fold> folds_;
};

}  // namespace inlay
