#include "tokenizer/token_placer.h"

#include <algorithm>
#include <functional>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

bool is_blank(uint32_t code) { return code == char_of_byte(' ') || (char_class(code).flags & kWhite) != 0; }

void count_blanks(std::string_view spelling, PlacedToken& token) {
  const char* const begin = spelling.data();
  const char* const end = begin + spelling.size();
  for (const char* at = begin; at < end; ++token.leading) {
    const Decoded character = decode_utf8(at, end);
    if (!is_blank(character.code)) break;
    at += character.size;
  }
  for (const char* at = end; at > begin; ++token.trailing) {
    const Decoded character = decode_utf8_before(begin, at);
    if (!is_blank(character.code)) break;
    at -= character.size;
  }
}

PlacedToken added_token(int32_t id, std::string_view spelling, ByteRange range, bool is_exact) {
  PlacedToken token{.id = id, .range = range, .is_exact = is_exact};
  count_blanks(spelling, token);
  return token;
}

bool lies_within(const char* at, std::string_view text) {
  const std::less<> is_before;
  return !is_before(at, text.data()) && is_before(at, text.data() + text.size());
}

// Characters that begin before each byte of `text`, and before its end.
std::vector<int32_t> count_chars_before(std::string_view text) {
  std::vector<int32_t> counts;
  counts.reserve(text.size() + 1);
  int32_t count = 0;
  for (const char byte : text) {
    counts.push_back(count);
    count += (static_cast<uint8_t>(byte) & 0xC0) != 0x80 ? 1 : 0;
  }
  counts.push_back(count);
  return counts;
}

void trim(const PlacedToken& token, const OffsetTrim& trim, bool is_first, Offsets& offsets) {
  const bool was_added = trim.adds_prefix_space && token.leading == 1 && (is_first || offsets.begin == 0);
  if (!was_added) offsets.begin = std::min(offsets.begin + token.leading, offsets.end);
  if (offsets.end >= token.trailing) offsets.end = std::max(offsets.end - token.trailing, offsets.begin);
}

}  // namespace

std::vector<PlacedToken> TokenPlacer::place(std::string_view text, EncodeState& state) const {
  Tokens tokens;
  AddedTokenMatcher::Cursor cursor;
  size_t done = 0;
  while (done < text.size() && !state.steps.error) {
    const std::optional<AddedTokenMatcher::Match> match = raw_tokens_.find(text, text.size(), state.skip_special, cursor);
    const size_t end = match ? match->begin : text.size();
    if (done < end) {
      state.is_start = done == 0;
      place_chunk(AlignedText(text.substr(done, end - done), done), state, tokens);
    }
    if (!match) break;
    if (match->begin < match->end) {
      const ByteRange range{static_cast<uint32_t>(match->begin), static_cast<uint32_t>(match->end)};
      tokens.push_back(added_token(match->id, text.substr(match->begin, match->end - match->begin), range, true));
    }
    done = match->end;
  }
  return tokens;
}

void TokenPlacer::place_chunk(AlignedText text, EncodeState& state, Tokens& tokens) const {
  state.steps.max_text = max_normalized_size(text.text().size());
  for (const std::unique_ptr<Normalizer>& normalizer : steps_.normalizers) {
    normalizer->align(text, state.steps);
    if (state.steps.error) return;
  }
  const std::string_view all = text.text();
  const std::vector<ByteRange>& ranges = text.ranges();
  state.steps.start = state.is_start ? all.data() : nullptr;
  const auto place_from = [&](size_t begin, size_t end) {
    const auto first = ranges.begin() + static_cast<std::ptrdiff_t>(begin);
    Piece piece{all.substr(begin, end - begin), {first, first + static_cast<std::ptrdiff_t>(end - begin)}};
    place_plain(std::move(piece), text.is_exact(), state, tokens);
  };
  AddedTokenMatcher::Cursor cursor;
  size_t done = 0;
  while (!state.steps.error) {
    const std::optional<AddedTokenMatcher::Match> match =
        steps_.normalized_tokens.find(all, all.size(), state.skip_special, cursor);
    const size_t end = match ? match->begin : all.size();
    if (done < end) place_from(done, end);
    if (!match) break;
    if (match->begin < match->end) {
      const ByteRange range{ranges[match->begin].begin, ranges[match->end - 1].end};
      tokens.push_back(added_token(match->id, all.substr(match->begin, match->end - match->begin), range, text.is_exact()));
    }
    done = match->end;
  }
}

// What a step writes lies in one run of the arena, and its pieces with it; otherwise they lie in the text that was cut.
void TokenPlacer::split(const PreTokenizer& step, const Piece& piece, EncodeState& state, std::vector<Piece>& finer) const {
  std::vector<std::string_view>& views = state.pieces;
  views.clear();
  step.split(piece.text, state.steps, views);
  if (views.empty() || state.steps.error) return;
  const std::vector<ByteRange> ranges = step.align(piece.text, piece.ranges, state.steps);
  const char* const base = lies_within(views[0].data(), piece.text) ? piece.text.data() : views[0].data();
  for (const std::string_view view : views) {
    const auto first = ranges.begin() + (view.data() - base);
    finer.push_back({view, {first, first + static_cast<std::ptrdiff_t>(view.size())}});
  }
}

void TokenPlacer::place_plain(Piece piece, bool is_exact, EncodeState& state, Tokens& tokens) const {
  state.steps.arena.clear();
  std::vector<Piece> pieces;
  pieces.push_back(std::move(piece));
  for (const std::unique_ptr<PreTokenizer>& pre_tokenizer : steps_.pre_tokenizers) {
    std::vector<Piece> finer;
    for (const Piece& each : pieces) {
      split(*pre_tokenizer, each, state, finer);
      if (state.steps.error) return;
    }
    pieces = std::move(finer);
  }
  std::vector<ModelToken> found;
  for (const Piece& each : pieces) {
    found.clear();
    model_.locate(each.text, state.scratch, found);
    for (const ModelToken& token : found) {
      const bool is_inside = token.begin < token.end && token.end <= each.ranges.size();
      PlacedToken placed{.id = token.id, .is_exact = is_exact && is_inside};
      if (is_inside) placed.range = {each.ranges[token.begin].begin, each.ranges[token.end - 1].end};
      count_blanks(model_.vocabulary().token_of(token.id).value_or(""), placed);
      tokens.push_back(placed);
    }
  }
}

std::vector<std::optional<Offsets>> offsets_of(std::string_view text, std::span<const PlacedToken> tokens,
                                               std::span<const OffsetTrim> trims) {
  const std::vector<int32_t> chars = count_chars_before(text);
  std::vector<std::optional<Offsets>> result;
  result.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const PlacedToken& token = tokens[i];
    Offsets offsets{chars[token.range.begin], chars[token.range.end]};
    for (const OffsetTrim& each : trims) trim(token, each, i == 0, offsets);
    result.push_back(token.is_exact ? std::optional<Offsets>(offsets) : std::nullopt);
  }
  return result;
}

}  // namespace inlay
