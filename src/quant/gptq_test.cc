// GPTQ against the same algorithm in NumPy, and what makes it worth its time.
#include "quant/gptq.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/json.h"
#include "quant/group_codes.h"
#include "quant/inverse_factor.h"

namespace inlay {
namespace {

struct Layer {
  int rows = 0;
  int k = 0;
  GptqOptions options;
  std::vector<float> weights, hessian;
  std::vector<int> codes, factors;
  std::vector<float> scales;
};

template <class Number>
std::vector<Number> numbers(const Json& json, std::string_view name) {
  const std::vector<Json> items = *json.get(name)->items();
  std::vector<Number> values;
  for (const Json& item : items) values.push_back(static_cast<Number>(*item.as_double()));
  return values;
}

// Sum of x x^T, in double and then float, as NumPy made it.
std::vector<float> hessian_of(const std::vector<double>& inputs, int k) {
  std::vector<double> sums(static_cast<size_t>(k) * k);
  for (size_t row = 0; row < inputs.size(); row += k) {
    for (int i = 0; i < k; ++i) {
      for (int j = 0; j < k; ++j) sums[static_cast<size_t>(i) * k + j] += inputs[row + i] * inputs[row + j];
    }
  }
  return std::vector<float>(sums.begin(), sums.end());
}

std::vector<Layer> golden_layers() {
  const Result<JsonDocument> document = JsonDocument::read("tests/golden/gptq/layers.json", 1 << 22);
  const std::vector<Json> items = *document->root().items();
  std::vector<Layer> layers;
  for (const Json& json : items) {
    Layer layer;
    layer.rows = static_cast<int>(*json.int_or("rows", 0));
    layer.k = static_cast<int>(*json.int_or("k", 0));
    layer.options.group = static_cast<int>(*json.int_or("group", 0));
    layer.options.act_order = *json.bool_or("act_order", false);
    layer.options.damping = *json.double_or("damping", 0);
    layer.weights = numbers<float>(json, "weights");
    layer.hessian = hessian_of(numbers<double>(json, "inputs"), layer.k);
    layer.codes = numbers<int>(json, "codes");
    layer.factors = numbers<int>(json, "factors");
    layer.scales = numbers<float>(json, "scales");
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::vector<LevelRow> rounded(const Layer& layer) {
  const Result<Gptq> gptq = Gptq::make(layer.hessian, layer.k, layer.options);
  EXPECT_TRUE(gptq.has_value());
  std::vector<LevelRow> rows(static_cast<size_t>(layer.rows));
  const Result<> done = gptq->round(layer.weights, rows);
  EXPECT_TRUE(done.has_value());
  return rows;
}

TEST(Gptq, EqualsTheAlgorithmInNumPy) {
  const std::vector<Layer> layers = golden_layers();
  ASSERT_EQ(layers.size(), 6U);
  for (const Layer& layer : layers) {
    SCOPED_TRACE(fmt::format("{} x {}, groups of {}{}", layer.rows, layer.k, layer.options.group,
                             layer.options.act_order ? ", act-order" : ""));
    const std::vector<LevelRow> rows = rounded(layer);
    for (int row = 0; row < layer.rows; ++row) {
      for (int k = 0; k < layer.k; ++k) {
        ASSERT_EQ(rows[row].codes[k], layer.codes[static_cast<size_t>(row) * layer.k + k]) << "row " << row << ", input " << k;
      }
      const int groups = group_count(layer.k, layer.options.group);
      for (int g = 0; g < groups; ++g) {
        ASSERT_EQ(rows[row].factors[g], layer.factors[static_cast<size_t>(row) * groups + g])
            << "row " << row << ", group " << g;
      }
      ASSERT_FLOAT_EQ(rows[row].scale, layer.scales[row]);
    }
  }
}

// (w - q) H (w - q)^T over all rows: the squared error of the layer's outputs on the calibration inputs.
double output_error(const Layer& layer, const std::vector<LevelRow>& rows) {
  double sum = 0;
  for (int row = 0; row < layer.rows; ++row) {
    std::vector<float> values(static_cast<size_t>(layer.k));
    weights_of(rows[row], layer.options.group, values);
    for (int k = 0; k < layer.k; ++k) values[k] -= layer.weights[static_cast<size_t>(row) * layer.k + k];
    for (int i = 0; i < layer.k; ++i) {
      for (int j = 0; j < layer.k; ++j)
        sum += double{values[i]} * values[j] * layer.hessian[static_cast<size_t>(i) * layer.k + j];
    }
  }
  return sum;
}

TEST(Gptq, IsCloserThanRoundingToNearest) {
  for (const Layer& layer : golden_layers()) {
    std::vector<LevelRow> nearest(static_cast<size_t>(layer.rows));
    for (int row = 0; row < layer.rows; ++row) {
      const std::span<const float> weights(layer.weights.data() + static_cast<size_t>(row) * layer.k, layer.k);
      ASSERT_TRUE(round_to_levels(weights, layer.options.group, nearest[row]).has_value());
    }
    EXPECT_LT(output_error(layer, rounded(layer)), 0.8 * output_error(layer, nearest));
  }
}

// Without correlations there is nothing to put right.
TEST(Gptq, OfIndependentInputsIsRoundingToNearest) {
  std::mt19937 random(31);
  std::normal_distribution<float> normal;
  Layer layer;
  layer.rows = 3;
  layer.k = 64;
  layer.options.damping = 0;
  layer.hessian.assign(64 * 64, 0.0F);
  for (int i = 0; i < 64; ++i) layer.hessian[i * 64 + i] = 1.0F + static_cast<float>(i);
  for (int i = 0; i < 3 * 64; ++i) layer.weights.push_back(normal(random));
  const std::vector<LevelRow> rows = rounded(layer);
  for (int row = 0; row < 3; ++row) {
    LevelRow nearest;
    ASSERT_TRUE(round_to_levels(std::span(layer.weights).subspan(row * 64, 64), 32, nearest).has_value());
    EXPECT_EQ(rows[row].codes, nearest.codes);
    EXPECT_EQ(rows[row].factors, nearest.factors);
    EXPECT_EQ(rows[row].scale, nearest.scale);
  }
}

TEST(Gptq, OneInputSeenManyTimesIsDampedUntilItWorks) {
  const std::vector<float> hessian(16 * 16, 1.0F);
  const Result<Gptq> gptq = Gptq::make(hessian, 16, {.group = 16, .damping = 1e-17});
  EXPECT_TRUE(gptq.has_value());
}

TEST(Gptq, InputsThatAreNotFiniteAreAnError) {
  std::vector<float> hessian(16, 1.0F);
  hessian[5] = NAN;
  const Result<Gptq> gptq = Gptq::make(hessian, 4, {});
  ASSERT_FALSE(gptq.has_value());
  EXPECT_EQ(gptq.error().code, ErrorCode::kInvalidArgument);
}

TEST(InverseFactor, TimesItselfIsTheInverse) {
  std::mt19937 random(32);
  std::normal_distribution<double> normal;
  for (const int n : {1, 2, 7, 33}) {
    std::vector<double> x(static_cast<size_t>(n) * n), h(x.size());
    for (double& value : x) value = normal(random);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        for (int t = 0; t < n; ++t) h[i * n + j] += x[t * n + i] * x[t * n + j];
        if (i == j) h[i * n + j] += 1;
      }
    }
    std::vector<double> u = h;
    ASSERT_TRUE(factor_inverse(u, n));
    // U^T U H is the identity.
    std::vector<double> inverse(h.size());
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        for (int t = 0; t < n; ++t) inverse[i * n + j] += u[t * n + i] * u[t * n + j];
      }
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int t = 0; t < n; ++t) sum += inverse[i * n + t] * h[t * n + j];
        EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-9) << n;
        if (j < i) {
          EXPECT_EQ(u[i * n + j], 0);
        }
      }
    }
  }
  std::vector<double> negative = {1, 2, 2, 1};
  EXPECT_FALSE(factor_inverse(negative, 2));
}

}  // namespace
}  // namespace inlay
