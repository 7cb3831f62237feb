// The last step of the pipeline: a piece of normalized text to ids.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/id_sink.h"
#include "tokenizer/vocabulary.h"

namespace inlay {

// Memory that one encode call lends to the model, so that pieces cost no allocation.
struct ModelScratch {
  std::vector<int32_t> ids;
};

// Immutable; const functions may run in any number of threads at once.
class Model {
 public:
  virtual ~Model() = default;
  // `piece` is well-formed UTF-8 and not empty.
  virtual void tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  // The name as tokenizer.json spells it.
  virtual std::string_view kind() const = 0;
};

}  // namespace inlay
