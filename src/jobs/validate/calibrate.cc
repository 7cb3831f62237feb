#include "jobs/validate/calibrate.h"

#include <algorithm>

namespace inlay {
namespace {

// Embedded at once: enough for every thread, and little to hold.
constexpr size_t kChunk = 128;

}  // namespace

Result<OutputRanges> calibrate_ranges(const Engine& engine, const Sample& texts, const JobHooks& hooks) {
  OutputRanges ranges;
  for (size_t begin = 0; begin < texts.rows.size(); begin += kChunk) {
    if (hooks.stopped && hooks.stopped()) return fail(ErrorCode::kCancelled, "interrupted");
    std::vector<TokenizedText> chunk;
    for (size_t i = begin; i < std::min(begin + kChunk, texts.rows.size()); ++i) {
      Result<TokenizedText> tokens = engine.tokenize(texts.rows[i].text);
      if (tokens) chunk.push_back(*std::move(tokens));
    }
    for (const Result<std::vector<float>>& vector : engine.embed(chunk)) {
      if (vector) ranges.add(*vector);
    }
  }
  if (ranges.low.empty()) return fail(ErrorCode::kInvalidArgument, "no text to calibrate ranges on can be embedded");
  return ranges;
}

}  // namespace inlay
