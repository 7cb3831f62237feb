// Encodes the text between added tokens. Two exist: one that does BERT's steps in one pass, and one for every pipeline.
#pragma once

#include <cstddef>
#include <string_view>

#include "tokenizer/id_sink.h"
#include "tokenizer/model.h"

namespace inlay {

struct EncodeState {
  ModelScratch scratch;
  bool skip_special = false;  // special tokens in the text are text
};

// Immutable; const functions may run in any number of threads at once.
class ChunkEncoder {
 public:
  virtual ~ChunkEncoder() = default;

  // A place in (from, text.size()] where the text may be cut: encoding both parts one after the other gives the ids of the
  // whole. Always between two characters, also in ill-formed text.
  virtual size_t find_cut(std::string_view text, size_t from) const = 0;

  // Stops early once the sink is full. `chunk` may hold ill-formed UTF-8.
  virtual void encode(std::string_view chunk, EncodeState& state, IdSink& sink) const = 0;
};

}  // namespace inlay
