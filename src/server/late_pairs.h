// Pairs of a query and a text, as late interaction scores them: each text is computed alone, and their tokens are compared.
#pragma once

#include <span>
#include <vector>

#include "engine/rerank.h"
#include "server/api/embed_request.h"

namespace inlay {

class LatePairs {
 public:
  explicit LatePairs(std::vector<EmbedInput> pairs);

  // What has to be computed: a query before the texts that it goes with, once for all that follow one another.
  const std::vector<EmbedInput>& inputs() const { return inputs_; }
  bool is_query(size_t input) const { return of_input_[input].is_query; }
  // The pair that an input is from; of a query the first one.
  size_t pair_of(size_t input) const { return of_input_[input].pair; }

  // One score for each pair, from the vectors of tokens of each of inputs().
  std::vector<TextOutput> score(LateScore form, std::span<const TextOutput> outputs) const;

 private:
  struct Place {
    bool is_query = false;
    size_t pair = 0;
  };
  std::vector<EmbedInput> inputs_;
  std::vector<Place> of_input_;
};

}  // namespace inlay
