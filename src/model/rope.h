// Cosines and sines of rotary positions.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "model/transformer_config.h"
#include "tensor/buffer.h"

namespace inlay {

// The frequency of each pair of a head whose first `rotary` numbers turn, in float as the reference computes it. `length` is
// that of the text, which kDynamic depends on.
std::vector<float> rope_frequencies(const RopeConfig& config, int rotary, int length);

// Rows are computed when a text first needs them and kept; any thread may ask.
class RopeTable {
 public:
  RopeTable(const RopeConfig& config, int rotary, int max_positions);

  int half() const { return half_; }
  // Makes sure that rows [0, positions) exist; positions <= max_positions.
  void grow(int positions) const;
  // [2 * half]: cosines, then sines. The position has been grown to.
  const float* row(int position) const {
    return blocks_[static_cast<size_t>(position / kBlock)].as<float>() + static_cast<int64_t>(position % kBlock) * 2 * half_;
  }
  // Whether a text of this length has frequencies of its own, so that rows are computed with compute() for it alone.
  bool depends_on(int length) const {
    return config_.kind == RopeConfig::Kind::kDynamic && length > config_.original_positions;
  }
  void compute(const std::vector<float>& frequencies, int position, float* row) const;
  std::vector<float> frequencies(int length) const { return rope_frequencies(config_, 2 * half_, length); }

 private:
  static constexpr int kBlock = 256;  // positions

  RopeConfig config_;
  int half_;
  std::vector<float> base_;
  mutable std::vector<Buffer> blocks_;
  mutable std::atomic<int> grown_ = 0;  // positions
  mutable std::mutex mutex_;
};

}  // namespace inlay
