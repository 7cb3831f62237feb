#include "quant/gptq.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quant/group_codes.h"
#include "quant/inverse_factor.h"

namespace inlay {
namespace {

// Errors reach the inputs of a block at once, and those behind it when the block is done: then a row of the factor is read
// once for all rows of a tile.
constexpr int kBlock = 128;
constexpr int kTileRows = 16;
// A Hessian of few or repeated inputs may need more than the damping asked for.
constexpr int kDampingTries = 4;

std::vector<int> order_of(std::span<const float> hessian, int k, bool act_order) {
  std::vector<int> order(static_cast<size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  if (!act_order) return order;
  const auto size = [hessian, k](int i) { return hessian[static_cast<size_t>(i) * static_cast<size_t>(k) + i]; };
  std::stable_sort(order.begin(), order.end(), [&size](int a, int b) { return size(a) > size(b); });
  return order;
}

}  // namespace

Result<Gptq> Gptq::make(std::span<const float> hessian, int k, const GptqOptions& options) {
  Gptq gptq;
  gptq.options_ = options;
  gptq.k_ = k;
  const size_t n = static_cast<size_t>(k);
  for (const float value : hessian) {
    if (!std::isfinite(value)) return fail(ErrorCode::kInvalidArgument, "inputs of the layer are not finite");
  }
  gptq.order_ = order_of(hessian, k, options.act_order);
  std::vector<double> damped(n * n);
  gptq.is_dead_.resize(n);
  double mean = 0;
  for (size_t i = 0; i < n; ++i) {
    const float* row = hessian.data() + static_cast<size_t>(gptq.order_[i]) * n;
    for (size_t j = 0; j < n; ++j) damped[i * n + j] = row[gptq.order_[j]];
    gptq.is_dead_[i] = damped[i * n + i] == 0;
    if (gptq.is_dead_[i]) damped[i * n + i] = 1;
    mean += damped[i * n + i] / k;
  }
  double damping = options.damping * mean;
  for (int attempt = 0; attempt < kDampingTries; ++attempt, damping *= 10) {
    gptq.factor_ = damped;
    for (size_t i = 0; i < n; ++i) gptq.factor_[i * n + i] += damping;
    if (factor_inverse(gptq.factor_, k)) return gptq;
  }
  return fail(ErrorCode::kInvalidArgument, "inputs of the layer do not tell its weights apart");
}

// Some rows of weights, in the order in which inputs are rounded.
class Gptq::Tile {
 public:
  Tile(const Gptq& gptq, std::span<const float> weights, std::span<LevelRow> out)
      : gptq_(gptq), n_(static_cast<size_t>(gptq.k_)), rows_(out.size()), out_(out), w_(rows_ * n_), errors_(rows_ * kBlock) {
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t i = 0; i < n_; ++i) w_[r * n_ + i] = gptq.is_dead_[i] ? 0 : weights[r * n_ + gptq.order_[i]];
      out_[r].codes.assign(n_, kZeroLevel);
      out_[r].factors.assign(static_cast<size_t>(group_count(gptq.k_, gptq.options_.group)), 0);
    }
  }

  Result<> round(std::span<const float> weights) {
    for (size_t r = 0; r < rows_; ++r) out_[r].scale = TRY(level_scale(weights.subspan(r * n_, n_)));
    if (gptq_.options_.act_order) choose_all_factors(weights);
    for (size_t begin = 0; begin < n_; begin += kBlock) {
      const size_t end = std::min(begin + kBlock, n_);
      for (size_t i = begin; i < end; ++i) round_input(i, begin, end);
      pass_errors_on(begin, end);
    }
    return {};
  }

 private:
  int group() const { return gptq_.options_.group; }

  // Of the weights as they came.
  void choose_all_factors(std::span<const float> weights) {
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t g = 0; g < out_[r].factors.size(); ++g) {
        const size_t first = g * static_cast<size_t>(group());
        const size_t count = std::min(static_cast<size_t>(group()), n_ - first);
        out_[r].factors[g] = static_cast<int8_t>(best_factor(weights.subspan(r * n_ + first, count), out_[r].scale));
      }
    }
  }

  // Of the group that begins at input i, as the errors before it have left it.
  void choose_factor(size_t r, size_t i) {
    std::vector<float> members;
    for (size_t j = i; j < std::min(i + static_cast<size_t>(group()), n_); ++j)
      members.push_back(static_cast<float>(w_[r * n_ + j]));
    out_[r].factors[i / static_cast<size_t>(group())] = static_cast<int8_t>(best_factor(members, out_[r].scale));
  }

  void round_input(size_t i, size_t begin, size_t end) {
    const double* factor = gptq_.factor_.data() + i * n_;
    const size_t input = static_cast<size_t>(gptq_.order_[i]);
    for (size_t r = 0; r < rows_; ++r) {
      if (!gptq_.options_.act_order && i % static_cast<size_t>(group()) == 0) choose_factor(r, i);
      double* w = w_.data() + r * n_;
      const float scale = out_[r].scale;
      const int factor_of_group = out_[r].factors[input / static_cast<size_t>(group())];
      const uint8_t code = level_code(static_cast<float>(w[i]), scale, factor_of_group);
      out_[r].codes[input] = code;
      const double error = (w[i] - static_cast<double>(scale) * level_weight(code, factor_of_group)) / factor[i];
      errors_[r * kBlock + (i - begin)] = error;
      for (size_t j = i + 1; j < reach(i, end); ++j) w[j] -= error * factor[j];
    }
  }

  // A group whose factor is chosen inside a block must have felt every error before it, so the errors of a block reach to the
  // end of the last group that begins in it.
  size_t reach(size_t, size_t end) const {
    if (gptq_.options_.act_order) return end;
    const size_t size = static_cast<size_t>(group());
    return std::min(n_, (end + size - 1) / size * size);
  }

  void pass_errors_on(size_t begin, size_t end) {
    const size_t first = reach(0, end);
    for (size_t i = begin; i < end; ++i) {
      const double* factor = gptq_.factor_.data() + i * n_;
      for (size_t r = 0; r < rows_; ++r) {
        const double error = errors_[r * kBlock + (i - begin)];
        double* w = w_.data() + r * n_;
        for (size_t j = first; j < n_; ++j) w[j] -= error * factor[j];
      }
    }
  }

  const Gptq& gptq_;
  size_t n_;
  size_t rows_;
  std::span<LevelRow> out_;
  std::vector<double> w_;       // [rows, k]
  std::vector<double> errors_;  // [rows, kBlock]
};

Result<> Gptq::round(std::span<const float> weights, std::span<LevelRow> out) const {
  const size_t k = static_cast<size_t>(k_);
  for (size_t row = 0; row < out.size(); row += kTileRows) {
    const size_t count = std::min<size_t>(kTileRows, out.size() - row);
    const std::span<const float> members = weights.subspan(row * k, count * k);
    TRY_VOID(Tile(*this, members, out.subspan(row, count)).round(members));
  }
  return {};
}

}  // namespace inlay
