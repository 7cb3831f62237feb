#include "server/late_pairs.h"

#include <utility>

namespace inlay {

LatePairs::LatePairs(std::vector<EmbedInput> pairs) {
  size_t query = 0;  // of inputs_
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i == 0 || pairs[i].text != inputs_[query].text) {
      query = inputs_.size();
      inputs_.push_back({std::move(pairs[i].text), {}, false});
      of_input_.push_back({true, i});
    }
    inputs_.push_back({pairs[i].second.value_or(""), {}, false});
    of_input_.push_back({false, i});
  }
}

std::vector<TextOutput> LatePairs::score(LateScore form, std::span<const TextOutput> outputs) const {
  std::vector<TextOutput> scores;
  const TokenVectors* query = nullptr;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (of_input_[i].is_query) {
      query = &outputs[i].tokens;
    } else {
      scores.emplace_back().scores = {late_score(form, *query, outputs[i].tokens)};
    }
  }
  return scores;
}

}  // namespace inlay
