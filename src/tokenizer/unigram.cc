#include "tokenizer/unigram.h"

#include <algorithm>
#include <cmath>

#include "tokenizer/byte_tokens.h"

namespace inlay {
namespace {

// An unknown character costs this much more than the worst token.
constexpr double kUnknownPenalty = 10.0;
// Ids that are collected before they are passed on.
constexpr size_t kFlushIds = 256;

size_t char_size(char lead) {
  const uint8_t byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Where a search puts its tokens: with their places, or the ids alone.
struct IdList {
  std::vector<int32_t>& ids;

  void add(int32_t id, size_t, size_t) { ids.push_back(id); }
  size_t size() const { return ids.size(); }
};

struct ModelTokenList {
  std::vector<ModelToken>& tokens;

  void add(int32_t id, size_t begin, size_t end) { tokens.push_back({id, begin, end}); }
  size_t size() const { return tokens.size(); }
};

}  // namespace

// The search over one piece. Where no token spans a place, all ways lead through it, so that the best way there is settled: its
// tokens are given out and forgotten. Memory and work therefore do not grow with pieces that are as long as a text.
template <class Tokens>
class UnigramSearch {
 public:
  UnigramSearch(const Unigram& model, std::string_view piece, ModelScratch& scratch, Tokens tokens)
      : model_(model), piece_(piece), nodes_(scratch.nodes), path_(scratch.path), tokens_(tokens) {
    nodes_.assign(1, UnigramNode{});
  }

  // Goes on until the end of the piece, or until at least `enough` tokens are there. False at the end.
  bool advance(size_t enough) {
    while (at_ < piece_.size()) {
      if (at_ == reach_ && at_ > begin_) {
        settle();
        if (tokens_.size() >= enough) return true;
      }
      add_tokens_from(at_);
      at_ += char_size(piece_[at_]);
    }
    if (at_ > begin_) settle();
    end_unknown(piece_.size());
    return false;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void add_tokens_from(size_t from) {
    const DoubleArray& trie = model_.vocabulary_.trie();
    const double score = nodes_[from - begin_].score;
    const size_t single_end = from + char_size(piece_[from]);
    bool has_single = false;
    DoubleArray::Node node = DoubleArray::kRoot;
    for (size_t end = from; end < piece_.size() && trie.step(node, piece_[end]);) {
      ++end;
      const int32_t id = trie.value(node);
      if (id == DoubleArray::kNoValue) continue;
      relax(end, end - from, id, score + model_.scores_[static_cast<size_t>(id)]);
      has_single |= end == single_end;
    }
    if (!has_single) relax(single_end, single_end - from, model_.unknown_id_, score + model_.unknown_score_);
  }

  // Of equally good ways the first one found stays.
  void relax(size_t end, size_t size, int32_t id, double score) {
    const size_t index = end - begin_;
    if (end > reach_) {
      reach_ = end;
      nodes_.resize(index + 1);
    }
    UnigramNode& node = nodes_[index];
    if (node.size == 0 || score > node.score) node = {score, static_cast<uint32_t>(size), id};
  }

  // Gives out the best way from begin_ to at_.
  void settle() {
    const size_t last = at_ - begin_;
    path_.clear();
    for (size_t end = last; end > 0; end -= nodes_[end].size) path_.push_back(static_cast<uint32_t>(end));
    for (size_t step = path_.size(); step > 0; --step) {
      const size_t end = path_[step - 1];
      take(nodes_[end].id, begin_ + end - nodes_[end].size, begin_ + end);
    }
    nodes_[0] = {.score = nodes_[last].score};
    nodes_.resize(1);
    begin_ = at_;
  }

  // Unknown characters beside one another are one token.
  void take(int32_t id, size_t from, size_t end) {
    if (id == model_.unknown_id_) {
      if (unknown_ == kNone) unknown_ = from;
      return;
    }
    end_unknown(from);
    tokens_.add(id, from, end);
  }

  void end_unknown(size_t end) {
    if (unknown_ == kNone) return;
    add_unknown(piece_.substr(unknown_, end - unknown_), end);
    unknown_ = kNone;
  }

  // Each of the tokens of bytes stands for the whole text.
  void add_unknown(std::string_view text, size_t end) {
    const std::array<int32_t, 256>& byte_ids = model_.byte_ids_;
    const auto is_known = [&](char byte) { return byte_ids[static_cast<uint8_t>(byte)] != DoubleArray::kNoValue; };
    if (const std::optional<int32_t> id = model_.vocabulary_.id_of(text)) {
      tokens_.add(*id, unknown_, end);
    } else if (model_.byte_fallback_ && std::all_of(text.begin(), text.end(), is_known)) {
      for (const char byte : text) tokens_.add(byte_ids[static_cast<uint8_t>(byte)], unknown_, end);
    } else {
      tokens_.add(model_.unknown_id_, unknown_, end);
    }
  }

  const Unigram& model_;
  std::string_view piece_;
  std::vector<UnigramNode>& nodes_;  // nodes_[i] stands for the place begin_ + i
  std::vector<uint32_t>& path_;
  Tokens tokens_;
  size_t begin_ = 0;
  size_t at_ = 0;
  size_t reach_ = 0;        // the last place where a token ends so far
  size_t unknown_ = kNone;  // where the unknown text at the end of what was given out begins
};

Result<Unigram> Unigram::build(const std::vector<Entry>& entries, const UnigramOptions& options) {
  if (options.unknown_id < 0 || static_cast<size_t>(options.unknown_id) >= entries.size()) {
    return fail(ErrorCode::kCorrupt, "unk_id is {}, but the vocabulary has {} tokens", options.unknown_id, entries.size());
  }
  std::vector<Vocabulary::Entry> tokens;
  std::vector<double> scores;
  tokens.reserve(entries.size());
  scores.reserve(entries.size());
  for (const auto& [token, score] : entries) {
    if (!std::isfinite(score)) return fail(ErrorCode::kCorrupt, "the score of token {} is not finite", tokens.size());
    tokens.emplace_back(token, static_cast<int32_t>(tokens.size()));
    scores.push_back(score);
  }
  Unigram result(TRY(Vocabulary::build(std::move(tokens))));
  result.unknown_score_ = *std::min_element(scores.begin(), scores.end()) - kUnknownPenalty;
  result.scores_ = std::move(scores);
  result.unknown_id_ = options.unknown_id;
  result.byte_fallback_ = options.byte_fallback;
  result.byte_ids_ = find_byte_tokens(result.vocabulary_);
  return result;
}

void Unigram::tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const {
  const bool is_short = piece.size() <= WordCache::kMaxText;
  if (is_short) {
    if (const WordCache::Word* const word = scratch.words.find(piece)) {
      for (const int32_t id : word->known_ids()) sink.push(id);
      return;
    }
  }
  scratch.ids.clear();
  UnigramSearch search(*this, piece, scratch, IdList{scratch.ids});
  bool goes_on = true;
  while (goes_on && !sink.is_full()) {
    goes_on = search.advance(is_short ? SIZE_MAX : kFlushIds);
    for (const int32_t id : scratch.ids) sink.push(id);
    if (!is_short) scratch.ids.clear();
  }
  if (is_short) scratch.words.put(piece, scratch.ids);
}

void Unigram::locate(std::string_view piece, ModelScratch& scratch, std::vector<ModelToken>& tokens) const {
  UnigramSearch search(*this, piece, scratch, ModelTokenList{tokens});
  search.advance(SIZE_MAX);
}

}  // namespace inlay
