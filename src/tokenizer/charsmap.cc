#include "tokenizer/charsmap.h"

#include <array>
#include <cstring>

#include "tokenizer/grapheme.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

constexpr uint32_t kCodes = 0x110000;
constexpr size_t kWholeClusterBytes = 6;  // a cluster of fewer bytes is looked up as a whole

bool has_leaf(uint32_t unit) { return ((unit >> 8) & 1) != 0; }
uint32_t label(uint32_t unit) { return unit & (0x80000000U | 0xFFU); }
uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200U) >> 6); }

// `part` of the old text became `replacement`. Where the reference puts a difference of length, it is put here: characters on
// top are the last ones, and what a replacement lacks goes with the character before, whichever that is.
void add_replacement(std::string_view part, std::string_view replacement, std::vector<Edit>& edits) {
  const int surplus = static_cast<int>(count_chars(replacement)) - static_cast<int>(count_chars(part));
  const char* const end = replacement.data() + replacement.size();
  for (const char* at = replacement.data(); at < end;) {
    const Decoded character = decode_utf8(at, end);
    edits.push_back({character.code, 0});
    at += character.size;
  }
  for (int i = 1; i <= surplus; ++i) edits[edits.size() - static_cast<size_t>(i)].change = 1;
  if (surplus < 0 && !edits.empty()) edits.back().change += surplus;
}

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view bytes) {
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof trie_bytes) {
    return fail(ErrorCode::kCorrupt, "charsmap has {} bytes, wanted 4 for the size of its trie and more", bytes.size());
  }
  std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
  bytes.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > bytes.size() || trie_bytes % 4 != 0 || trie_bytes == 0) {
    return fail(ErrorCode::kCorrupt, "charsmap says that its trie has {} bytes, but {} follow", trie_bytes, bytes.size());
  }
  Charsmap result;
  result.units_.resize(trie_bytes / 4);
  std::memcpy(result.units_.data(), bytes.data(), trie_bytes);
  bytes.remove_prefix(trie_bytes);
  if (!is_valid_utf8(bytes)) return fail(ErrorCode::kCorrupt, "charsmap: the replacements are not valid UTF-8");
  result.replacements_ = bytes;
  return result;
}

std::optional<std::string_view> Charsmap::find(std::string_view text) const {
  uint32_t at = offset(units_[0]);
  for (const char byte : text) {
    const uint8_t key = static_cast<uint8_t>(byte);
    at ^= key;
    // A NUL ends the keys, so that none goes on behind it.
    if (key == 0 || at >= units_.size() || label(units_[at]) != key) return std::nullopt;
    const uint32_t unit = units_[at];
    at ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (at >= units_.size()) return std::nullopt;
    const size_t begin = units_[at] & 0x7FFFFFFFU;
    if (begin >= replacements_.size()) return std::nullopt;
    const size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    // A place inside a character would be no text.
    if ((static_cast<uint8_t>(replacements_[begin]) & 0xC0) == 0x80) return std::nullopt;
    return std::string_view(replacements_).substr(begin, end - begin);
  }
  return std::nullopt;
}

CharsmapNormalizer::CharsmapNormalizer(Charsmap map) : map_(std::move(map)), changed_(kCodes / 64) {
  char bytes[4];
  for (uint32_t code = 0; code < kCodes; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    if (map_.find({bytes, encode_utf8(code, bytes)})) changed_[code / 64] |= uint64_t{1} << (code % 64);
  }
  has_plain_crlf_ = !map_.find("\r\n");
}

// Bytes of ASCII from `at` on that stay as they are: none but CR takes part in a cluster with ASCII.
size_t CharsmapNormalizer::take_plain(std::string_view text, size_t at) const {
  const size_t begin = at;
  for (; at < text.size(); ++at) {
    const uint8_t byte = static_cast<uint8_t>(text[at]);
    const bool is_last = at + 1 == text.size();
    if (byte >= 0x80 || may_change(byte)) break;
    if (!is_last && (static_cast<uint8_t>(text[at + 1]) >= 0x80 || (byte == '\r' && !has_plain_crlf_))) break;
  }
  return at - begin;
}

void CharsmapNormalizer::take_cluster(std::string_view cluster, std::string& out) const {
  if (cluster.size() < kWholeClusterBytes) {
    if (const std::optional<std::string_view> whole = map_.find(cluster)) {
      out.append(*whole);
      return;
    }
  }
  const char* at = cluster.data();
  const char* const end = at + cluster.size();
  while (at < end) {
    const Decoded character = decode_utf8(at, end);
    const std::string_view bytes(at, character.size);
    out.append(may_change(character.code) ? map_.find(bytes).value_or(bytes) : bytes);
    at += character.size;
  }
}

void CharsmapNormalizer::apply(std::string& text, StepState& state) const {
  size_t at = take_plain(text, 0);
  if (at == text.size()) return;
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  result.append(text, 0, at);
  while (at < text.size()) {
    if (!state.allows(result.size())) return;
    const size_t size = grapheme_size(text, at);
    take_cluster(std::string_view(text).substr(at, size), result);
    at += size;
    const size_t plain = take_plain(text, at);
    result.append(text, at, plain);
    at += plain;
  }
  text = std::move(result);
}

void CharsmapNormalizer::align(AlignedText& text, StepState&) const {
  const std::string_view all = text.text();
  std::vector<Edit> edits;
  const auto replace = [&](std::string_view part) {
    const std::optional<std::string_view> replacement = map_.find(part);
    if (replacement) add_replacement(part, *replacement, edits);
    return replacement.has_value();
  };
  bool is_changed = false;
  for (size_t at = 0; at < all.size();) {
    const std::string_view cluster = all.substr(at, grapheme_size(all, at));
    at += cluster.size();
    if (cluster.size() < kWholeClusterBytes && replace(cluster)) {
      is_changed = true;
      continue;
    }
    for (size_t inner = 0; inner < cluster.size();) {
      const Decoded character = decode_utf8(cluster.data() + inner, cluster.data() + cluster.size());
      const bool is_replaced = replace(cluster.substr(inner, character.size));
      if (!is_replaced) edits.push_back({character.code, 0});
      is_changed |= is_replaced;
      inner += character.size;
    }
  }
  if (is_changed) text.transform(edits);
}

Result<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int8_t, 256> values;
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  const size_t size = text.size();
  if (size % 4 != 0) return fail(ErrorCode::kCorrupt, "base64 of {} characters, wanted a multiple of 4", size);
  while (size - text.size() < 2 && text.ends_with('=')) text.remove_suffix(1);
  std::string result;
  result.reserve(size / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int8_t value = values[static_cast<uint8_t>(text[i])];
    if (value < 0) return fail(ErrorCode::kCorrupt, "character {} is not one of base64", i);
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 > 0) result += static_cast<char>(bits >> (6 - 2 * (i % 4)));
  }
  return result;
}

}  // namespace inlay
