// The Precompiled normalizer: sentencepiece's table of replacements, applied the way `tokenizers` applies it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/normalizer.h"

namespace inlay {

// A `precompiled_charsmap`: a double array (Darts) from UTF-8 strings to replacements. Immutable.
class Charsmap {
 public:
  // `bytes` as a sentencepiece model has them: u32 size of the trie in bytes, the trie in u32 units, then the replacements,
  // each ended by a NUL. Little-endian.
  static Result<Charsmap> parse(std::string_view bytes);

  // What replaces the shortest known beginning of `text`; nullopt if there is none.
  std::optional<std::string_view> find(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
};

// Each grapheme cluster below 6 bytes is looked up as a whole, and if that begins with a known string, replaced; the characters
// of other clusters are looked up one by one.
class CharsmapNormalizer final : public Normalizer {
 public:
  explicit CharsmapNormalizer(Charsmap map);
  void apply(std::string& text, StepState& state) const override;
  void align(AlignedText& text, StepState& state) const override;

 private:
  size_t take_plain(std::string_view text, size_t at) const;
  bool may_change(uint32_t code) const { return ((changed_[code / 64] >> (code % 64)) & 1) != 0; }
  void take_cluster(std::string_view cluster, std::string& out) const;

  Charsmap map_;
  std::vector<uint64_t> changed_;  // a bit for each code point that the map replaces when it stands alone
  bool has_plain_crlf_ = false;
};

// Standard base64 with padding, as tokenizer.json holds the bytes. kCorrupt for anything else.
Result<std::string> decode_base64(std::string_view text);

}  // namespace inlay
