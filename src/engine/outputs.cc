// What a lane's batch gives once its forward pass is done.
#include <algorithm>
#include <cmath>

#include "engine/engine_impl.h"

namespace inlay {
namespace {

bool is_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

// Whether the hidden states of a text are; heads may turn NaN into a number.
bool is_finite(EngineLane& lane, int text, int hidden_size) {
  for (int row = lane.batch.starts[text]; row < lane.batch.starts[text + 1]; ++row) {
    if (!is_finite({lane.workspace.hidden().row(row), static_cast<size_t>(hidden_size)})) return false;
  }
  return true;
}

}  // namespace

void Engine::Impl::run(EngineLane& lane, const Share& share) const {
  encoder->forward(share, lane.batch, lane.workspace);
  share.sync();
  if (!lane.any_output.has(OutputKind::kSparse)) return;
  sparse->forward(share, lane.batch, lane.workspace, lane.sparse_memory);
  share.sync();
}

void Engine::Impl::finish(EngineLane& lane, float* out, std::span<Result<>> status) const {
  if (lane.any_output.has(OutputKind::kScores)) classifier->apply(lane.batch, lane.workspace.hidden(), lane.score_memory);
  if (!lane.any_output.has(OutputKind::kVector)) return;
  head.apply(lane.batch, lane.prompt_tokens, lane.workspace.hidden(), lane.vector_memory, out);
  const size_t dimensions = static_cast<size_t>(head.dimensions());
  for (int text = 0; text < lane.batch.texts(); ++text) {
    if (!lane.outputs[text].has(OutputKind::kVector)) continue;
    if (is_finite({out + static_cast<size_t>(text) * dimensions, dimensions})) continue;
    status[text] = fail(ErrorCode::kInternal, "the vector is not finite (NaN or infinity)");
  }
}

// A vector for each chunk of a text, from the states of its tokens.
std::vector<float> Engine::Impl::pool_chunks(EngineLane& lane, int text) const {
  const std::vector<TokenSpan>& chunks = lane.chunks[text];
  const size_t dimensions = static_cast<size_t>(head.dimensions());
  std::vector<float> vectors(chunks.size() * dimensions);
  for (size_t i = 0; i < chunks.size(); ++i) {
    PackedBatch alone;
    alone.starts = {0, chunks[i].end - chunks[i].begin};
    alone.keys = {chunks[i].end - chunks[i].begin};
    const Floats states = {lane.workspace.hidden().row(lane.batch.starts[text] + chunks[i].begin),
                           lane.workspace.hidden().stride};
    const int no_prompt = 0;
    head.apply(alone, {&no_prompt, 1}, states, lane.vector_memory, vectors.data() + i * dimensions);
  }
  return vectors;
}

Result<> Engine::Impl::collect(EngineLane& lane, int text, TextOutput& output) const {
  const OutputSet wanted = lane.outputs[text];
  if (wanted.has(OutputKind::kVector) && !lane.chunks[text].empty()) {
    output.chunks = pool_chunks(lane, text);
    if (!is_finite(output.chunks)) return fail(ErrorCode::kInternal, "a vector is not finite (NaN or infinity)");
  }
  if (wanted.has(OutputKind::kScores)) {
    const float* logits = classifier->logits(text, lane.score_memory);
    output.scores.assign(logits, logits + classifier->labels());
    if (!is_finite(output.scores)) return fail(ErrorCode::kInternal, "the scores are not finite (NaN or infinity)");
  }
  const bool has_states = wanted.has(OutputKind::kSparse) || wanted.has(OutputKind::kTokens);
  if (has_states && !is_finite(lane, text, spec.encoder.hidden_size)) {
    return fail(ErrorCode::kInternal, "the states of the tokens are not finite (NaN or infinity)");
  }
  if (wanted.has(OutputKind::kSparse)) output.sparse = sparse->collect(lane.batch, text, lane.sparse_memory);
  if (wanted.has(OutputKind::kTokens)) {
    output.tokens = tokens.apply(lane.batch, {text, lane.queries[text]}, lane.workspace.hidden(), lane.token_memory);
    if (!is_finite(output.tokens.values)) {
      return fail(ErrorCode::kInternal, "the token vectors are not finite (NaN or infinity)");
    }
  }
  return {};
}

void Engine::end_batch(EngineLane& lane, float* out, std::span<Result<>> status) const { impl_->finish(lane, out, status); }
Result<> Engine::collect(EngineLane& lane, int text, TextOutput& output) const { return impl_->collect(lane, text, output); }

}  // namespace inlay
