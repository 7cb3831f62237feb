// The last step of the pipeline: a piece of normalized text to ids.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tokenizer/id_sink.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_cache.h"

namespace inlay {

// The best way to a place of a piece: its last token and the sum of all scores.
struct UnigramNode {
  double score = 0;
  uint32_t size = 0;  // bytes of the token; 0: no way is known yet
  int32_t id = 0;
};

// A token of a piece that BPE joins; neighbours are places in the piece, beyond its end if there is none.
struct BpeSymbol {
  int32_t id;
  size_t previous;
  size_t next;
  bool is_gone;  // joined to the one before
};

// Two tokens that may join: the one at `at` and the next.
struct BpeCandidate {
  uint32_t rank;
  int32_t id;
  size_t at;
};

// Memory that one encode call lends to the model, so that pieces cost no allocation. Belongs to one model for good.
struct ModelScratch {
  std::vector<int32_t> ids;
  WordCache words;
  std::vector<UnigramNode> nodes;
  std::vector<uint32_t> path;
  std::vector<BpeSymbol> symbols;
  std::vector<BpeCandidate> candidates;

  // Gives back what a text of unusual length took.
  void trim() {
    constexpr size_t kKept = 1 << 14;
    const auto trim_one = [](auto& list) {
      if (list.capacity() > kKept) std::remove_reference_t<decltype(list)>().swap(list);
    };
    trim_one(ids);
    trim_one(nodes);
    trim_one(path);
    trim_one(symbols);
    trim_one(candidates);
  }
};

// A token and the bytes of the piece that it stands for. Several tokens may share bytes, and where a model drops what it does
// not know, the bytes are not those one would look for: they are the reference's.
struct ModelToken {
  int32_t id;
  size_t begin;
  size_t end;
};

// Immutable; const functions may run in any number of threads at once.
class TokenizerModel {
 public:
  virtual ~TokenizerModel() = default;
  // `piece` is well-formed UTF-8 and not empty.
  virtual void tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const = 0;
  // The same ids with their places, slowly.
  virtual void locate(std::string_view piece, ModelScratch& scratch, std::vector<ModelToken>& tokens) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  // Tokens of the file, equal ones counted each: the first id that added tokens may take.
  virtual size_t token_count() const { return vocabulary().size(); }
  // The name as tokenizer.json spells it.
  virtual std::string_view kind() const = 0;
};

}  // namespace inlay
