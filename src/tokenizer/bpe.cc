#include "tokenizer/bpe.h"

#include <algorithm>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

// Up to so many characters a scan for the next merge is quicker than a heap.
constexpr size_t kFew = 48;
// sentencepiece's space, which begins words where the whole text is one piece.
constexpr std::string_view kMark = "\u2581";
constexpr uint32_t kNoRank = MergeTable::kNoRank;

bool is_mark_behind_text(std::string_view left, std::string_view right) {
  return right.starts_with(kMark) && !left.ends_with(kMark);
}

}  // namespace

Result<Bpe> Bpe::build(Vocabulary vocabulary, const std::vector<MergePair>& merges, const BpeOptions& options) {
  Bpe result(std::move(vocabulary), options);
  if (options.unknown_token) {
    result.unknown_id_ = result.vocabulary_.id_of(*options.unknown_token);
    if (!result.unknown_id_)
      return fail(ErrorCode::kCorrupt, "vocabulary lacks the unknown token '{}'", *options.unknown_token);
  }
  result.byte_ids_ = find_byte_tokens(result.vocabulary_);
  result.has_affixes_ = !options.continuing_prefix.empty() || !options.word_suffix.empty();
  // The mark must be a token, so that no run of unknown characters reaches over it.
  result.cuts_at_mark_ = !result.has_affixes_ && !options.ignore_merges && result.vocabulary_.id_of(kMark).has_value();
  TRY_VOID(result.add_merges(merges));
  return result;
}

Result<> Bpe::add_merges(const std::vector<MergePair>& merges) {
  if (merges.size() >= kNoRank) return fail(ErrorCode::kTooLarge, "{} merges are more than can be ranked", merges.size());
  merges_ = MergeTable(merges.size());
  std::string joined;
  uint32_t rank = 0;
  for (const auto& [left, right] : merges) {
    if (right.size() < options_.continuing_prefix.size()) {
      return fail(ErrorCode::kCorrupt, "merge {}: '{}' is shorter than the prefix '{}'", rank, right,
                  options_.continuing_prefix);
    }
    joined.assign(left).append(right.substr(options_.continuing_prefix.size()));
    const std::optional<int32_t> left_id = vocabulary_.id_of(left);
    const std::optional<int32_t> right_id = vocabulary_.id_of(right);
    const std::optional<int32_t> id = vocabulary_.id_of(joined);
    if (!left_id || !right_id || !id) {
      return fail(ErrorCode::kCorrupt, "merge {} of '{}' and '{}': '{}' is not in the vocabulary", rank, left, right,
                  !left_id    ? left
                  : !right_id ? right
                              : std::string_view(joined));
    }
    cuts_at_mark_ &= !is_mark_behind_text(left, right);
    merges_.put(*left_id, *right_id, {rank++, *id});
  }
  return {};
}

bool Bpe::read_bytes() {
  if (has_affixes_ || options_.byte_fallback) return false;
  std::vector<std::string> texts;
  std::vector<std::pair<std::string_view, int32_t>> entries;
  if (options_.ignore_merges) {
    std::vector<std::pair<std::string, int32_t>> tokens;
    vocabulary_.for_each([&](std::string_view token, int32_t id) {
      std::optional<std::string> bytes = from_byte_chars(token);
      if (bytes && !bytes->empty()) tokens.emplace_back(*std::move(bytes), id);
    });
    std::sort(tokens.begin(), tokens.end());
    for (auto& [text, id] : tokens) texts.push_back(std::move(text));
    for (size_t i = 0; i < texts.size(); ++i) entries.emplace_back(texts[i], tokens[i].second);
    Result<DoubleArray> trie = DoubleArray::build(entries);
    if (!trie) return false;
    whole_ = *std::move(trie);
  }
  for (size_t byte = 0; byte < char_ids_.size(); ++byte) {
    char bytes[4];
    const size_t size = encode_utf8(char_of_byte(static_cast<uint8_t>(byte)), bytes);
    char_ids_[byte] = vocabulary_.id_of({bytes, size}).value_or(DoubleArray::kNoValue);
  }
  reads_bytes_ = true;
  cuts_at_mark_ = false;
  return true;
}

std::optional<int32_t> Bpe::find_whole(std::string_view piece) const {
  if (!reads_bytes_) return vocabulary_.id_of(piece);
  const int32_t id = whole_.find(piece);
  return id == DoubleArray::kNoValue ? std::nullopt : std::optional<int32_t>(id);
}

// The tokens of the bytes of an unknown character; false if one of them has none.
template <class Push>
bool Bpe::split_unknown(std::string_view character, Push push) const {
  const auto id_of = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)]; };
  if (std::any_of(character.begin(), character.end(), [&](char byte) { return id_of(byte) == DoubleArray::kNoValue; }))
    return false;
  for (const char byte : character) push(id_of(byte), size_t{1});
  return true;
}

// Calls push(id, bytes that it stands for). An unknown token waits until it is clear whether the next character is unknown too;
// the tokens of bytes go before it, as in the reference.
template <class Push>
void Bpe::split_chars(std::string_view piece, Push push) const {
  size_t unknown = 0;  // bytes that wait
  std::string affixed;
  const auto end_unknown = [&] {
    if (unknown > 0) push(*unknown_id_, unknown);
    unknown = 0;
  };
  for (size_t at = 0; at < piece.size();) {
    const size_t size = reads_bytes_ ? 1 : decode_utf8(piece.data() + at, piece.data() + piece.size()).size;
    std::string_view character = piece.substr(at, size);
    if (has_affixes_) {
      affixed.assign(at > 0 ? options_.continuing_prefix : "").append(character);
      if (at + size == piece.size()) affixed += options_.word_suffix;
      character = affixed;
    }
    at += size;
    const int32_t id = reads_bytes_ ? char_ids_[static_cast<uint8_t>(character[0])] : vocabulary_.trie().find(character);
    if (id != DoubleArray::kNoValue) {
      end_unknown();
      push(id, size);
    } else if (!(options_.byte_fallback && split_unknown(character, push)) && unknown_id_) {
      if (!options_.fuse_unknown) end_unknown();
      unknown += size;
    }
  }
  end_unknown();
}

void Bpe::merge_few(ModelScratch& scratch) const {
  std::vector<int32_t>& ids = scratch.ids;
  MergeTable::Merge next[kFew];  // of each token with the one behind it
  size_t count = ids.size();
  for (size_t i = 0; i + 1 < count; ++i) next[i] = merges_.find(ids[i], ids[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) best = next[i].rank < next[best].rank ? i : best;
    if (next[best].rank == kNoRank) break;
    ids[best] = next[best].id;
    --count;
    for (size_t i = best + 1; i < count; ++i) ids[i] = ids[i + 1];
    for (size_t i = best; i + 1 < count; ++i) next[i] = next[i + 1];
    if (best + 1 < count) next[best] = merges_.find(ids[best], ids[best + 1]);
    if (best > 0) next[best - 1] = merges_.find(ids[best - 1], ids[best]);
  }
  ids.resize(count);
}

// The same with a heap, for pieces as long as a text: work grows as n log n. Entries of the heap that the text has moved on
// from are known by the token they would make.
void Bpe::join_symbols(ModelScratch& scratch) const {
  std::vector<BpeSymbol>& symbols = scratch.symbols;
  std::vector<BpeCandidate>& heap = scratch.candidates;
  symbols.clear();
  heap.clear();
  for (const int32_t id : scratch.ids) symbols.push_back({id, symbols.size() - 1, symbols.size() + 1, false});
  const auto comes_later = [](const BpeCandidate& left, const BpeCandidate& right) {
    return left.rank != right.rank ? left.rank > right.rank : left.at > right.at;
  };
  const auto propose = [&](size_t at) {
    if (at >= symbols.size() || symbols[at].next >= symbols.size()) return false;
    const MergeTable::Merge merge = merges_.find(symbols[at].id, symbols[symbols[at].next].id);
    if (merge.rank == kNoRank) return false;
    heap.push_back({merge.rank, merge.id, at});
    return true;
  };
  for (size_t at = 0; at + 1 < symbols.size(); ++at) propose(at);
  std::make_heap(heap.begin(), heap.end(), comes_later);
  while (!heap.empty()) {
    const BpeCandidate top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    heap.pop_back();
    BpeSymbol& symbol = symbols[top.at];
    if (symbol.is_gone || symbol.next >= symbols.size()) continue;
    BpeSymbol& right = symbols[symbol.next];
    const MergeTable::Merge merge = merges_.find(symbol.id, right.id);
    if (merge.rank == kNoRank || merge.id != top.id) continue;
    symbol.id = top.id;
    symbol.next = right.next;
    right.is_gone = true;
    if (symbol.next < symbols.size()) symbols[symbol.next].previous = top.at;
    if (propose(symbol.previous)) std::push_heap(heap.begin(), heap.end(), comes_later);
    if (propose(top.at)) std::push_heap(heap.begin(), heap.end(), comes_later);
  }
}

void Bpe::merge_many(ModelScratch& scratch) const {
  join_symbols(scratch);
  scratch.ids.clear();
  for (const BpeSymbol& symbol : scratch.symbols) {
    if (!symbol.is_gone) scratch.ids.push_back(symbol.id);
  }
}

void Bpe::encode(std::string_view piece, ModelScratch& scratch) const {
  scratch.ids.clear();
  if (options_.ignore_merges) {
    if (const std::optional<int32_t> whole = find_whole(piece)) {
      scratch.ids.push_back(*whole);
      return;
    }
  }
  split_chars(piece, [&](int32_t id, size_t) { scratch.ids.push_back(id); });
  if (scratch.ids.size() <= kFew) {
    merge_few(scratch);
  } else {
    merge_many(scratch);
  }
}

void Bpe::encode_cached(std::string_view piece, ModelScratch& scratch, IdSink& sink) const {
  const bool is_short = piece.size() <= WordCache::kMaxText;
  if (is_short) {
    if (const WordCache::Word* const word = scratch.words.find(piece)) {
      for (const int32_t id : word->known_ids()) sink.push(id);
      return;
    }
  }
  encode(piece, scratch);
  for (const int32_t id : scratch.ids) sink.push(id);
  if (is_short) scratch.words.put(piece, scratch.ids);
}

void Bpe::tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const {
  // Where nothing joins over the beginning of a word, words are encoded one by one.
  while (cuts_at_mark_ && !piece.empty() && !sink.is_full()) {
    size_t end = piece.find_first_not_of(kMark);
    end = std::min(piece.find(kMark, std::min(end, piece.size())), piece.size());
    encode_cached(piece.substr(0, end), scratch, sink);
    piece.remove_prefix(end);
  }
  if (!cuts_at_mark_) encode_cached(piece, scratch, sink);
}

// Tokens lie end to end, as in the reference: where a character was dropped, those behind it come too early.
void Bpe::locate(std::string_view piece, ModelScratch& scratch, std::vector<ModelToken>& tokens) const {
  const std::optional<int32_t> whole = options_.ignore_merges ? find_whole(piece) : std::nullopt;
  if (whole) return tokens.push_back({*whole, 0, piece.size()});
  std::vector<size_t> starts{0};
  scratch.ids.clear();
  split_chars(piece, [&](int32_t id, size_t size) {
    scratch.ids.push_back(id);
    starts.push_back(starts.back() + size);
  });
  join_symbols(scratch);
  const std::vector<BpeSymbol>& symbols = scratch.symbols;
  for (size_t at = 0; at < symbols.size(); at = symbols[at].next) {
    tokens.push_back({symbols[at].id, starts[at], starts[symbols[at].next]});
  }
}

}  // namespace inlay
