#include "tokenizer/bert_fold.h"

#include <cstring>
#include <map>
#include <string>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {

BertFold::BertFold(const BertOptions& options) : options_(options) {
  std::map<std::string, uint16_t> known;
  for (uint32_t begin = 0; begin < kTableEnd; begin += kPage) {
    Fold page[kPage];
    for (uint32_t i = 0; i < kPage; ++i) page[i] = make(begin + i);
    const std::string key(reinterpret_cast<const char*>(page), sizeof page);
    const auto [found, is_new] = known.emplace(key, static_cast<uint16_t>(known.size()));
    if (is_new) folds_.insert(folds_.end(), page, page + kPage);
    pages_.push_back(found->second);
  }
}

// Most characters only go on the word; to see that without working out steps makes building the table quick.
bool BertFold::is_plain(uint32_t code) const {
  const CharClass character = char_class(code);
  uint32_t jamo[3];
  uint16_t special = kWhite | kPunctuation;
  if (options_.clean_text) special |= kOther;
  if (options_.handle_chinese_chars) special |= kCjk;
  if (options_.strip_accents) special |= kBertMark | kHasNfd;
  if (options_.lowercase || options_.lowercase_first) special |= kHasLower;
  if ((character.flags & special) != 0) return false;
  return !options_.strip_accents || (character.rank == 0 && decompose_hangul(code, jamo) == 0);
}

Fold BertFold::make(uint32_t code) const {
  if (is_plain(code)) {
    Fold plain{.action = FoldAction::kCopy};
    plain.size = static_cast<uint8_t>(encode_utf8(code, plain.bytes));
    return plain;
  }
  const std::vector<Step> all = steps(code);
  Fold fold;
  if (all.empty()) return fold;
  fold.action = all.front().action;
  for (const Step& step : all) {
    const bool is_text = step.action == FoldAction::kCopy || step.action == FoldAction::kSingle;
    const bool is_simple = all.size() == 1 || step.action == FoldAction::kCopy;
    char bytes[4];
    const size_t size = is_text ? encode_utf8(step.code, bytes) : 0;
    if (!is_simple || step.rank != 0 || fold.size + size > sizeof fold.bytes) return {.action = FoldAction::kMany};
    std::memcpy(fold.bytes + fold.size, bytes, size);
    fold.size = static_cast<uint8_t>(fold.size + size);
  }
  return fold;
}

std::vector<BertFold::Step> BertFold::steps(uint32_t code) const {
  std::vector<Step> result;
  if (options_.lowercase_first && (char_class(code).flags & kHasLower) != 0) {
    for (const uint32_t part : lower_parts(code)) add_steps(part, result);
  } else {
    add_steps(code, result);
  }
  return result;
}

void BertFold::add_steps(uint32_t code, std::vector<Step>& steps) const {
  const uint16_t flags = char_class(code).flags;
  if (options_.clean_text && (flags & kOther) != 0) return;
  const bool is_spaced = options_.handle_chinese_chars && (flags & kCjk) != 0;
  uint32_t jamo[3];
  const int jamo_count = options_.strip_accents ? decompose_hangul(code, jamo) : 0;
  if (jamo_count > 0) {
    for (int i = 0; i < jamo_count; ++i) add_folded(jamo[i], is_spaced, steps);
  } else if (options_.strip_accents && (flags & kHasNfd) != 0) {
    for (const uint32_t part : canonical_parts(code)) add_folded(part, is_spaced, steps);
  } else {
    add_folded(code, is_spaced, steps);
  }
}

// One character after decomposition: strips it, lower-cases it and sees how the pre-tokenizer cuts there.
void BertFold::add_folded(uint32_t code, bool is_spaced, std::vector<Step>& steps) const {
  const CharClass character = char_class(code);
  if (options_.strip_accents && (character.flags & kBertMark) != 0) {
    const bool marks_may_pass = steps.empty() || steps.back().rank != 0;
    if (character.rank == 0 && marks_may_pass) steps.push_back({FoldAction::kBarrier, code, 0});
    return;
  }
  const uint8_t rank = options_.strip_accents ? character.rank : uint8_t{0};
  const auto add = [&](uint32_t lowered) {
    const uint16_t flags = char_class(lowered).flags;
    const bool is_single = is_spaced || (flags & kPunctuation) != 0;
    const FoldAction action = (flags & kWhite) != 0 ? FoldAction::kBreak : is_single ? FoldAction::kSingle : FoldAction::kCopy;
    steps.push_back({action, lowered, action == FoldAction::kCopy ? rank : uint8_t{0}});
  };
  if (options_.lowercase && (character.flags & kHasLower) != 0) {
    for (const uint32_t part : lower_parts(code)) add(part);
  } else {
    add(code);
  }
}

}  // namespace inlay
