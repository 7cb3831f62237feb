// Encodes the text between added tokens. Two exist: one that does BERT's steps in one pass, and one for every pipeline.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/id_sink.h"
#include "tokenizer/model.h"
#include "tokenizer/pre_tokenizer.h"

namespace inlay {

// Memory of one encode call at a time, always with the same tokenizer.
struct EncodeState {
  ModelScratch scratch;
  StepState steps;
  std::string text;
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> finer;
  bool skip_special = false;  // special tokens in the text are text
  bool is_start = false;      // the chunk begins where the input does
};

// Immutable; const functions may run in any number of threads at once.
class ChunkEncoder {
 public:
  virtual ~ChunkEncoder() = default;

  // A place in (from, text.size()] where the text may be cut: encoding both parts one after the other gives the ids of the
  // whole. Always between two characters, also in ill-formed text.
  virtual size_t find_cut(std::string_view text, size_t from) const = 0;

  // Stops early once the sink is full, and with `state.steps.error` set where the text cannot be split. `chunk` may hold
  // ill-formed UTF-8.
  virtual void encode(std::string_view chunk, EncodeState& state, IdSink& sink) const = 0;
};

}  // namespace inlay
