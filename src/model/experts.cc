#include "model/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inlay {
namespace {

// Rows as wide as whole panels and a spare vector, as the kernels want them.
int64_t padded_width(const PackedLinear& linear) {
  return static_cast<int64_t>(round_up(static_cast<size_t>(linear.shape().padded_columns), 16)) + 16;
}

}  // namespace

struct Experts::Memory {
  Memory(const ComputePlan& plan, const Expert& expert, size_t experts)
      : wide_stride(padded_width(expert.up)),
        wide(static_cast<size_t>(wide_stride) * sizeof(float)),
        codes(static_cast<size_t>(wide_stride) * sizeof(float)),
        narrow(static_cast<size_t>(padded_width(expert.down)) * sizeof(float)),
        weights(experts),
        order(experts),
        format(plan.format) {}

  int64_t wide_stride;
  Buffer wide, codes, narrow;
  float scale = 0, minimum = 0;
  std::vector<double> weights;  // by expert
  std::vector<int> order;
  Format format;
};

Experts::Experts(std::vector<Expert> experts, std::vector<float> router, std::vector<float> bias, int used,
                 Activation activation)
    : experts_(std::move(experts)),
      router_(std::move(router)),
      bias_(std::move(bias)),
      used_(used),
      hidden_(experts_.front().up.shape().k),
      intermediate_(experts_.front().up.shape().columns),
      activation_(activation) {}

// The router decides between experts, so its sums are in double: near ties should fall as the exact numbers do.
void Experts::route(const float* x, Memory& memory) const {
  double highest = -HUGE_VAL;
  for (size_t e = 0; e < experts_.size(); ++e) {
    double sum = 0;
    for (int c = 0; c < hidden_; ++c) sum += static_cast<double>(router_[e * static_cast<size_t>(hidden_) + c]) * x[c];
    memory.weights[e] = sum;
    highest = std::max(highest, sum);
  }
  double total = 0;
  for (double& weight : memory.weights) total += weight = std::exp(weight - highest);
  for (double& weight : memory.weights) weight /= total;
  std::iota(memory.order.begin(), memory.order.end(), 0);
  const auto is_likelier = [&](int a, int b) {
    return memory.weights[a] != memory.weights[b] ? memory.weights[a] > memory.weights[b] : a < b;
  };
  // NaN would break the order; such a row is an error whichever experts it meets.
  if (!std::isnan(total))
    std::partial_sort(memory.order.begin(), memory.order.begin() + used_, memory.order.end(), is_likelier);
}

void Experts::run(const ComputePlan& plan, const Rows& rows, int row, Memory& memory) const {
  const Kernels& kernels = *plan.kernels;
  const Share alone;
  const Operand input = rows.input.from_row(kernels, plan.format, row);
  route(rows.states.row(row), memory);
  std::vector<double> sums(bias_.begin(), bias_.end());
  const Floats wide = {memory.wide.as<float>(), memory.wide_stride};
  Operand codes = {memory.codes.as<>(), memory.wide_stride, &memory.scale, &memory.minimum};
  if (takes_codes(plan.format)) codes.floats = wide;
  const Operand middle = is_narrow(plan.format) ? codes : Operand{wide.data, wide.stride, nullptr, nullptr};
  const Floats narrow = {memory.narrow.as<float>(), padded_width(experts_.front().down)};
  for (int i = 0; i < used_; ++i) {
    const Expert& expert = experts_[static_cast<size_t>(memory.order[i])];
    linear(kernels, alone,
           {.weights = expert.up,
            .input = input,
            .rows = 1,
            .activation = activation_,
            .output = wide.data,
            .output_stride = wide.stride});
    prepare(kernels, alone, {plan.format, wide, 1, intermediate_, codes});
    linear(kernels, alone,
           {.weights = expert.down, .input = middle, .rows = 1, .output = narrow.data, .output_stride = narrow.stride});
    const double weight = memory.weights[static_cast<size_t>(memory.order[i])];
    for (int c = 0; c < hidden_; ++c) sums[static_cast<size_t>(c)] += weight * static_cast<double>(narrow.data[c]);
  }
  float* out = rows.states.row(row);
  for (int c = 0; c < hidden_; ++c) out[c] = static_cast<float>(out[c] + sums[static_cast<size_t>(c)]);
}

void Experts::add(const ComputePlan& plan, const Share& share, const Rows& rows) const {
  Memory memory(plan, experts_.front(), experts_.size());
  const Share::Range part = share.part_of(rows.rows);
  for (int row = part.begin; row < part.end; ++row) run(plan, rows, row, memory);
}

double Experts::flop_per_token() const {
  return 2.0 * hidden_ * (static_cast<double>(experts_.size()) + 2.0 * used_ * intermediate_);
}

void Experts::count(WeightBytes& bytes) const {
  for (const Expert& expert : experts_) {
    bytes.add(expert.up);
    bytes.add(expert.down);
  }
  bytes.own += (router_.size() + bias_.size()) * sizeof(float);
}

}  // namespace inlay
