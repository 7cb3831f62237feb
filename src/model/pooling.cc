// Formulas of sentence_transformers' Pooling module, for one text without padding.
#include <algorithm>
#include <cmath>

#include "model/head.h"

namespace inlay {
namespace {

// Rows [begin, end) of a text's hidden states.
struct Pooled {
  Floats hidden;
  int columns;
  int begin, end;
};

// out = sum over tokens of weight(i) * row i, then divided by `divisor`.
template <class Weight>
void weighted_sum(const Pooled& p, const Weight& weight, float divisor, float* out) {
  std::fill(out, out + p.columns, 0.0F);
  for (int i = p.begin; i < p.end; ++i) {
    const float* row = p.hidden.row(i);
    const float factor = weight(i);
    for (int c = 0; c < p.columns; ++c) out[c] += factor * row[c];
  }
  for (int c = 0; c < p.columns; ++c) out[c] /= divisor;
}

void pool_max(const Pooled& p, float* out) {
  std::copy_n(p.hidden.row(p.begin), p.columns, out);
  for (int i = p.begin + 1; i < p.end; ++i) {
    const float* row = p.hidden.row(i);
    // NaN must come out as NaN: a comparison that fails keeps the row's value.
    for (int c = 0; c < p.columns; ++c) out[c] = out[c] >= row[c] ? out[c] : row[c];
  }
}

void pool_one(Pooling mode, const Pooled& p, float* out) {
  const float count = static_cast<float>(p.end - p.begin);
  const auto one = [](int) { return 1.0F; };
  const auto position = [](int i) { return static_cast<float>(i + 1); };
  switch (mode) {
    case Pooling::kCls: std::copy_n(p.hidden.row(p.begin), p.columns, out); return;
    case Pooling::kLastToken: std::copy_n(p.hidden.row(p.end - 1), p.columns, out); return;
    case Pooling::kMax: return pool_max(p, out);
    case Pooling::kMean: return weighted_sum(p, one, count, out);
    case Pooling::kMeanSqrtLen: return weighted_sum(p, one, std::sqrt(count), out);
    case Pooling::kWeightedMean: {
      float total = 0;
      for (int i = p.begin; i < p.end; ++i) total += position(i);
      return weighted_sum(p, position, total, out);
    }
  }
}

}  // namespace

void pool(const PoolingSpec& spec, Floats hidden, int hidden_size, int tokens, int prompt_tokens, float* out) {
  for (const Pooling mode : spec.modes) {
    pool_one(mode, {hidden, hidden_size, prompt_tokens, tokens}, out);
    out += hidden_size;
  }
}

}  // namespace inlay
