// Remembers the ids of short pieces, which come again and again. Bounded: one slot for each hash, the latest piece stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace inlay {

// Belongs to one model and is used by one thread at a time. 1 MiB once something is put in.
class WordCache {
 public:
  static constexpr size_t kMaxText = 30;
  static constexpr size_t kMaxIds = 8;

  // A cache line.
  struct Word {
    uint8_t size = 0;  // of the text; 0: the slot is free
    uint8_t id_count = 0;
    char text[kMaxText] = {};
    int32_t ids[kMaxIds] = {};

    std::span<const int32_t> known_ids() const { return {ids, id_count}; }
  };

  // `text` has 1 to kMaxText bytes. Valid until the next `put`.
  const Word* find(std::string_view text) const {
    if (words_.empty()) return nullptr;
    const Word& word = words_[slot(text)];
    const bool is_equal = word.size == text.size() && std::memcmp(word.text, text.data(), text.size()) == 0;
    return is_equal ? &word : nullptr;
  }

  // Forgets what was in the slot; more than kMaxIds ids are not kept.
  void put(std::string_view text, std::span<const int32_t> ids) {
    if (ids.size() > kMaxIds) return;
    if (words_.empty()) words_.resize(kSlots);
    Word& word = words_[slot(text)];
    word.size = static_cast<uint8_t>(text.size());
    word.id_count = static_cast<uint8_t>(ids.size());
    std::memcpy(word.text, text.data(), text.size());
    if (!ids.empty()) std::memcpy(word.ids, ids.data(), ids.size_bytes());
  }

 private:
  static constexpr size_t kSlots = 1 << 14;

  // Takes 8 bytes at a time; the last ones overlap those before.
  static size_t slot(std::string_view text) {
    constexpr uint64_t kFactor = 0x9E3779B97F4A7C15U;
    uint64_t hash = text.size() * kFactor;
    const char* const data = text.data();
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) hash = mix(hash, load(data + at, 8));
    if (at == text.size()) return hash >> 50;
    if (text.size() >= 8) return mix(hash, load(data + text.size() - 8, 8)) >> 50;
    return mix(hash, load(data, text.size())) >> 50;
  }
  static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xD6E8FEB86659FD93U;
    return hash ^ hash >> 32;
  }
  static uint64_t load(const char* data, size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, data, size);
    return word;
  }

  static_assert(kSlots == size_t{1} << (64 - 50));
  std::vector<Word> words_;
};

static_assert(sizeof(WordCache::Word) == 64);

}  // namespace inlay
