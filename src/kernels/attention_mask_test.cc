// Attention with windows, causal order and a bias, on every table against a double-precision loop.
#include <algorithm>

#include "kernels/kernels_testing.h"
#include "tensor/half.h"

namespace inlay {
namespace {

struct MaskedShape {
  bool is_bf16 = false;
  int length = 0;
  int head_dim = 0;
  int left = kUnbounded;
  int right = kUnbounded;
  int bias = 0;  // 0: none, -1: by distance, 1: a number for each pair
  float score_factor = 1;
  int beyond = 0;  // queries after the last key, of `length`

  int keys() const { return length - beyond; }
};

// One head; k and v follow q in each row, as a model's product leaves them.
class MaskedHead {
 public:
  MaskedHead(const MaskedShape& shape, Random& random) : shape_(shape), stride_(3 * shape.head_dim) {
    values_ = random.normals(static_cast<size_t>(shape.length) * stride_ + 64);
    for (int row = 0; row < shape.length; ++row) {
      for (int d = 0; d < shape.head_dim; ++d) values_[row * stride_ + d] *= shape.score_factor;
    }
    narrow_.resize(values_.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      narrow_[i] = float_to_bf16(values_[i]);
      if (shape.is_bf16) values_[i] = bf16_to_float(narrow_[i]);
    }
    for (int row = shape.keys(); row < shape.length; ++row) {
      for (const int operand : {1, 2}) set(operand, row, NAN);
    }
    const size_t length = shape.length;
    bias_ = random.normals(shape.bias == 1 ? length * length + 64 : 2 * length + 64);
    out_.assign(length * shape.head_dim, 0.0F);
  }

  void run(const Kernels& table, int begin, int end) {
    const auto bytes = shape_.is_bf16 ? table.attention_bf16_bytes : table.attention_f32_bytes;
    const size_t size = bytes(shape_.keys(), shape_.head_dim);
    scratch_.assign(size + 128, '\xff');
    AttentionArgs args;
    args.scratch = scratch_.data() + (64 - reinterpret_cast<uintptr_t>(scratch_.data()) % 64) % 64;
    args.q = operand(0);
    args.k = operand(1);
    args.v = operand(2);
    args.stride = stride_;
    args.out = out_.data();
    args.out_stride = shape_.head_dim;
    args.length = shape_.keys();
    args.head_dim = shape_.head_dim;
    args.scale = scale();
    args.left = shape_.left;
    args.right = shape_.right;
    args.query_begin = begin;
    args.query_end = end;
    args.bias = shape_.bias == 0 ? nullptr : bias_.data() + (shape_.bias == -1 ? shape_.length - 1 : 0);
    args.bias_stride = shape_.bias == -1 ? -1 : shape_.length;
    (shape_.is_bf16 ? table.attention_bf16 : table.attention_f32)(args);
    for (const char* p = static_cast<char*>(args.scratch) + size; p < scratch_.data() + scratch_.size(); ++p) {
      ASSERT_EQ(*p, '\xff') << "wrote beyond the scratch";
    }
  }

  void compare(Comparison& comparison) const {
    for (int query = 0; query<shape_.length; query += shape_.length> 100 ? 7 : 1) {
      std::vector<double> weights;
      const int first = std::max(0, query - shape_.left);
      const int end = shape_.right >= shape_.length ? shape_.keys() : std::min(shape_.keys(), query + shape_.right + 1);
      double highest = -HUGE_VAL, largest_score = 0, total = 0;
      for (int key = first; key < end; ++key) {
        double sum = 0;
        for (int d = 0; d < shape_.head_dim; ++d) sum += double{value(0, query, d)} * value(1, key, d);
        weights.push_back(sum * static_cast<double>(scale()) + bias(query, key));
        highest = std::max(highest, weights.back());
        largest_score = std::max(largest_score, std::abs(weights.back()));
      }
      for (double& weight : weights) total += weight = std::exp(weight - highest);
      for (int d = 0; d < shape_.head_dim; ++d) {
        double sum = 0, largest = 0;
        for (int key = first; key < end; ++key) {
          sum += weights[key - first] * value(2, key, d);
          largest = std::max(largest, std::abs(double{value(2, key, d)}));
        }
        const double base = shape_.is_bf16 ? Tolerance::kMaskedAttentionBf16 : Tolerance::kAttention;
        comparison.add(query, d, result(query, d), sum / total, largest * (base + 2 * Tolerance::kSum * largest_score));
      }
    }
  }

  float result(int row, int d) const { return out_[static_cast<size_t>(row) * shape_.head_dim + d]; }
  const std::vector<float>& results() const { return out_; }
  void clear() { std::fill(out_.begin(), out_.end(), 0.0F); }
  void set(int operand, int row, float x) {
    values_[row * stride_ + operand * shape_.head_dim] = x;
    narrow_[row * stride_ + operand * shape_.head_dim] = float_to_bf16(x);
  }

 private:
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)); }
  float value(int operand, int row, int d) const { return values_[row * stride_ + operand * shape_.head_dim + d]; }
  const void* operand(int i) const {
    const int64_t at = static_cast<int64_t>(i) * shape_.head_dim;
    return shape_.is_bf16 ? static_cast<const void*>(narrow_.data() + at) : values_.data() + at;
  }
  double bias(int query, int key) const {
    if (shape_.bias == 0) return 0;
    return shape_.bias == 1 ? bias_[query * shape_.length + key] : bias_[key - query + shape_.length - 1];
  }

  MaskedShape shape_;
  int64_t stride_;
  std::vector<float> values_, bias_, out_;
  std::vector<uint16_t> narrow_;
  std::vector<char> scratch_;
};

class MaskedAttention : public TableTest {
 protected:
  void check(const MaskedShape& shape, Random& random) {
    if (shape.is_bf16 && table().attention_bf16 == nullptr) return;
    MaskedHead head(shape, random);
    head.run(table(), 0, shape.length);
    Comparison comparison;
    head.compare(comparison);
    EXPECT_TRUE(comparison.within()) << "bf16 " << shape.is_bf16 << ", length " << shape.length << ", head " << shape.head_dim
                                     << ", left " << shape.left << ", right " << shape.right << ", bias " << shape.bias;
  }
};
EACH_TABLE(MaskedAttention);

struct Sight {
  int left, right;
};
constexpr Sight kSights[] = {{kUnbounded, 0}, {64, 64}, {3, 3}, {0, 0}, {9, 0}, {0, kUnbounded}, {100, 2}, {kUnbounded, 17}};

TEST_P(MaskedAttention, WindowsAndCausalOrderEqualADoubleLoop) {
  Random random(51);
  SCOPED_TRACE(random.seed_text());
  for (const bool is_bf16 : {false, true}) {
    for (const int length : {1, 2, 7, 17, 49, 100, 259}) {
      for (const Sight& sight : kSights) {
        for (const int head_dim : {11, 32, 64}) check({is_bf16, length, head_dim, sight.left, sight.right}, random);
      }
    }
  }
}

TEST_P(MaskedAttention, HeadsUpTo256AreExact) {
  Random random(52);
  for (const bool is_bf16 : {false, true}) {
    for (const int head_dim : {128, 200, 255, 256}) check({is_bf16, 61, head_dim, 20, 20}, random);
  }
}

TEST_P(MaskedAttention, ABiasByDistanceOrByPairIsAdded) {
  Random random(53);
  SCOPED_TRACE(random.seed_text());
  for (const bool is_bf16 : {false, true}) {
    for (const int bias : {-1, 1}) {
      for (const int length : {1, 5, 16, 33, 129}) {
        check({is_bf16, length, 32, kUnbounded, kUnbounded, bias}, random);
        check({is_bf16, length, 11, 7, 0, bias}, random);
      }
    }
  }
}

TEST_P(MaskedAttention, LargeScoresStayFiniteAndExact) {
  Random random(54);
  for (const bool is_bf16 : {false, true}) {
    for (const float factor : {30.0F, 10000.0F}) check({is_bf16, 130, 32, kUnbounded, 0, 0, factor}, random);
  }
}

TEST_P(MaskedAttention, QueriesHaveTheSameBitsInAnySplit) {
  Random random(55);
  for (const bool is_bf16 : {false, true}) {
    if (is_bf16 && table().attention_bf16 == nullptr) continue;
    for (const Sight& sight : kSights) {
      MaskedHead head({is_bf16, 131, 24, sight.left, sight.right, -1}, random);
      head.run(table(), 0, 131);
      const std::vector<float> whole = head.results();
      for (const int block : {1, 3, 5, 13, 64}) {
        head.clear();
        for (int begin = 0; begin < 131; begin += block) head.run(table(), begin, std::min(131, begin + block));
        ASSERT_EQ(std::memcmp(whole.data(), head.results().data(), whole.size() * sizeof(float)), 0)
            << "blocks of " << block << ", left " << sight.left << ", right " << sight.right;
      }
    }
  }
}

TEST_P(MaskedAttention, QueriesBeyondTheLastKeySeeTheKeysOnly) {
  Random random(57);
  SCOPED_TRACE(random.seed_text());
  for (const bool is_bf16 : {false, true}) {
    for (const int keys : {1, 3, 16, 17, 50, 131}) {
      for (const int beyond : {1, 5, 40}) {
        for (const Sight& sight : {Sight{kUnbounded, kUnbounded}, Sight{kUnbounded, 0}, Sight{keys + beyond, 3}}) {
          for (const int bias : {0, -1}) {
            check({is_bf16, keys + beyond, 11, sight.left, sight.right, bias, 1, beyond}, random);
            check({is_bf16, keys + beyond, 32, sight.left, sight.right, bias, 1, beyond}, random);
          }
        }
      }
    }
  }
}

// Without them the others have the same bits: a query's keys are all that counts.
TEST_P(MaskedAttention, QueriesBeyondTheLastKeyChangeNoOthers) {
  Random random(58);
  for (const bool is_bf16 : {false, true}) {
    if (is_bf16 && table().attention_bf16 == nullptr) continue;
    MaskedHead head({is_bf16, 70, 24, kUnbounded, kUnbounded, 0, 1, 33}, random);
    head.run(table(), 0, 70);
    const std::vector<float> whole = head.results();
    head.clear();
    head.run(table(), 0, 37);
    EXPECT_EQ(std::memcmp(whole.data(), head.results().data(), size_t{37} * 24 * sizeof(float)), 0);
  }
}

// What a query does not see cannot spoil it, as long as it lies outside of the blocks that hold what is seen.
TEST_P(MaskedAttention, FarKeysAreNeverRead) {
  Random random(56);
  MaskedHead head({false, 400, 16, 4, 4}, random);
  head.set(1, 399, NAN);
  head.set(2, 399, NAN);
  head.run(table(), 0, 400);
  for (int d = 0; d < 16; ++d) {
    EXPECT_TRUE(std::isfinite(head.result(200, d)));
    EXPECT_TRUE(std::isnan(head.result(397, d)));
  }
}

}  // namespace
}  // namespace inlay
