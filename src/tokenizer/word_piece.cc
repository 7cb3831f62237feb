#include "tokenizer/word_piece.h"

#include "tokenizer/utf8.h"

namespace inlay {

Result<WordPiece> WordPiece::build(Vocabulary vocabulary, const WordPieceOptions& options) {
  const std::optional<int32_t> unknown = vocabulary.id_of(options.unknown_token);
  if (!unknown) return fail(ErrorCode::kCorrupt, "vocabulary lacks the unknown token '{}'", options.unknown_token);
  WordPiece result(std::move(vocabulary));
  result.unknown_id_ = *unknown;
  result.max_chars_ = options.max_chars;
  result.can_continue_ = result.vocabulary_.trie().walk(result.continuation_, options.continuing_prefix);
  return result;
}

// A token ends between characters of `text` by itself: both are well-formed UTF-8.
WordPiece::Match WordPiece::longest(DoubleArray::Node node, std::string_view text) const {
  const DoubleArray& trie = vocabulary_.trie();
  Match best{DoubleArray::kNoValue, 0};
  for (size_t i = 0; i < text.size() && trie.step(node, text[i]); ++i) {
    const int32_t id = trie.value(node);
    if (id != DoubleArray::kNoValue) best = {id, i + 1};
  }
  return best;
}

void WordPiece::tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const {
  if (piece.size() > max_chars_ && count_chars(piece) > max_chars_) return sink.push(unknown_id_);
  Match match = longest(DoubleArray::kRoot, piece);
  if (match.size == piece.size()) return sink.push(match.id);
  scratch.ids.clear();
  while (match.id != DoubleArray::kNoValue) {
    scratch.ids.push_back(match.id);
    piece.remove_prefix(match.size);
    if (piece.empty()) {
      for (const int32_t id : scratch.ids) sink.push(id);
      return;
    }
    if (!can_continue_) break;
    match = longest(continuation_, piece);
  }
  sink.push(unknown_id_);
}

void WordPiece::locate(std::string_view piece, ModelScratch& scratch, std::vector<ModelToken>& tokens) const {
  IdSink sink(SIZE_MAX, IdSink::Keep::kHead);
  tokenize(piece, scratch, sink);
  const std::vector<int32_t> ids = sink.take();
  size_t at = 0;
  for (const int32_t id : ids) {
    const Match match = longest(at == 0 ? DoubleArray::kRoot : continuation_, piece.substr(at));
    const size_t end = ids.size() == 1 ? piece.size() : at + match.size;
    tokens.push_back({id, at, end});
    at = end;
  }
}

}  // namespace inlay
