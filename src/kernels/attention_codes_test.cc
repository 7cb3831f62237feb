// Attention by codes of 8 bits: against exact attention, and against its own arithmetic written as plain loops.
#include <algorithm>

#include "kernels/kernels_testing.h"
#include "tensor/half.h"

namespace inlay {
namespace {

struct CodesShape {
  int length = 0;
  int head_dim = 0;
  int left = kUnbounded;
  int right = kUnbounded;
  bool has_bias = false;  // by distance
  float score_factor = 1;
  int beyond = 0;  // queries after the last key, of `length`

  int keys() const { return length - beyond; }
};

// One head whose numbers are bf16; between rows, and in a row beyond the last, there is NaN.
class CodesHead {
 public:
  CodesHead(const CodesShape& shape, Random& random) : shape_(shape), stride_(3 * shape.head_dim + 6) {
    bits_.assign(static_cast<size_t>(shape.length + 1) * stride_, 0x7fc0);
    for (int operand = 0; operand < 3; ++operand) {
      for (int row = 0; row < shape.length; ++row) {
        for (int d = 0; d < shape.head_dim; ++d)
          set(operand, row, d,
              operand > 0 && row >= shape.keys() ? NAN : random.normal() * (operand == 0 ? shape.score_factor : 1));
      }
    }
    bias_ = random.normals(2 * static_cast<size_t>(shape.length) + 64);
    out_.assign(static_cast<size_t>(shape.length) * shape.head_dim, 0.0F);
  }

  void set(int operand, int row, int d, float x) { bits_[at(operand, row, d)] = float_to_bf16(x); }
  double value(int operand, int row, int d) const { return double{bf16_to_float(bits_[at(operand, row, d)])}; }
  float result(int row, int d) const { return out_[static_cast<size_t>(row) * shape_.head_dim + d]; }
  const std::vector<float>& results() const { return out_; }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)); }
  double bias(int query, int key) const { return shape_.has_bias ? double{bias_[key - query + shape_.length - 1]} : 0; }
  int first(int query) const { return std::max(0, query - shape_.left); }
  int end(int query) const {
    return shape_.right >= shape_.length ? shape_.keys() : std::min(shape_.keys(), query + shape_.right + 1);
  }

  void run(const Kernels& table, int begin, int end) {
    const size_t size = table.attention_codes_bytes(shape_.keys(), shape_.head_dim);
    scratch_.assign(size + 128, '\xff');
    AttentionArgs args;
    args.scratch = scratch_.data() + (64 - reinterpret_cast<uintptr_t>(scratch_.data()) % 64) % 64;
    args.q = bits_.data();
    args.k = bits_.data() + shape_.head_dim;
    args.v = bits_.data() + 2 * shape_.head_dim;
    args.stride = stride_;
    args.out = out_.data();
    args.out_stride = args.head_dim = shape_.head_dim;
    args.length = shape_.keys();
    args.scale = scale();
    args.left = shape_.left;
    args.right = shape_.right;
    args.query_begin = begin;
    args.query_end = end;
    args.bias = shape_.has_bias ? bias_.data() + shape_.length - 1 : nullptr;
    args.bias_stride = -1;
    table.attention_codes(args);
    for (const char* p = static_cast<char*>(args.scratch) + size; p < scratch_.data() + scratch_.size(); ++p) {
      ASSERT_EQ(*p, '\xff') << "wrote beyond the scratch";
    }
  }

  // Exact attention of the bf16 numbers.
  void compare_exactly(Comparison& comparison) const {
    for (int query = 0; query<shape_.length; query += shape_.length> 100 ? 7 : 1) {
      std::vector<double> weights;
      double highest = -HUGE_VAL, total = 0;
      for (int key = first(query); key < end(query); ++key) {
        double sum = 0;
        for (int d = 0; d < shape_.head_dim; ++d) sum += value(0, query, d) * value(1, key, d);
        weights.push_back(sum * double{scale()} + bias(query, key));
        highest = std::max(highest, weights.back());
      }
      for (double& weight : weights) total += weight = std::exp(weight - highest);
      for (int d = 0; d < shape_.head_dim; ++d) {
        double sum = 0, largest = 0;
        for (int key = 0; key < shape_.keys(); ++key) largest = std::max(largest, std::abs(value(2, key, d)));
        for (int key = first(query); key < end(query); ++key) sum += weights[key - first(query)] * value(2, key, d);
        comparison.add(query, d, result(query, d), sum / total, Tolerance::kAttentionCodes * largest);
      }
    }
  }

 private:
  size_t at(int operand, int row, int d) const {
    return static_cast<size_t>(row) * stride_ + static_cast<size_t>(operand) * shape_.head_dim + d;
  }

  CodesShape shape_;
  int64_t stride_;
  std::vector<uint16_t> bits_;
  std::vector<float> bias_, out_;
  std::vector<char> scratch_;
};

// The codes of one operand by column, as the contract of the kernel says: 0..`top` between the least and the largest.
struct Column {
  float step = 0, inverse = 0, shift = 0, base = 0;
  Column(const CodesHead& head, int operand, int d, int length, float steps, bool from_middle) {
    float low = HUGE_VALF, high = -HUGE_VALF;
    for (int row = 0; row < length; ++row) {
      low = std::min(low, static_cast<float>(head.value(operand, row, d)));
      high = std::max(high, static_cast<float>(head.value(operand, row, d)));
    }
    const float range = high - low;
    base = from_middle ? std::fma(range, 0.5F, low) : low;
    step = range * (1.0F / steps);
    inverse = step > 0 ? 1.0F / step : 0.0F;
    shift = -base * inverse;
  }
  int code(double x) const { return static_cast<int>(std::nearbyint(std::fma(static_cast<float>(x), inverse, shift))); }
};

// 255 * 2^(-distance / 4096) as the kernel computes it in 16 bits.
int weight_at(int distance) {
  const uint32_t fraction = static_cast<uint32_t>(distance) << 4 & 0xffff;
  uint32_t x = 15140 - (fraction * 2621 >> 16);
  x = 45163 - (fraction * x >> 16);
  x = 65280 - (fraction * x >> 16);
  return static_cast<int>(((x >> (distance >> 12)) + 128) >> 8);
}

// The same arithmetic in plain loops: codes, sums of products and weights are equal to the last bit, the rest is in double.
class SameCodes {
 public:
  SameCodes(const CodesHead& head, int length, int head_dim) : head_(head), length_(length), head_dim_(head_dim) {
    for (int d = 0; d < head_dim; ++d) {
      keys_.emplace_back(head, 1, d, length, 255.0F, false);
      values_.emplace_back(head, 2, d, length, 254.0F, true);
    }
  }

  std::vector<double> context(int query) const {
    float top = 0;
    for (int d = 0; d < head_dim_; ++d) top = std::max(top, std::abs(scaled(query, d)));
    const float inverse = top > 0 ? 127.0F / top : 0.0F;
    const float factor = top * (1.0F / 127) * (head_.scale() * 1.44269504F);
    std::vector<int> scores(length_);
    for (int key = 0; key < length_; ++key) {
      for (int d = 0; d < head_dim_; ++d) {
        scores[key] += static_cast<int>(std::nearbyint(scaled(query, d) * inverse)) * keys_[d].code(head_.value(1, key, d));
      }
    }
    std::vector<double> sums(head_dim_);
    double total = 0;
    const int highest = *std::max_element(scores.begin(), scores.end());
    for (int begin = 0; begin < length_; begin += 64) {
      const int end = std::min(length_, begin + 64);
      const int block_highest = *std::max_element(scores.begin() + begin, scores.begin() + end);
      const float block_top = static_cast<float>(block_highest) * factor;
      const double share = std::exp2(double{block_top} - double{static_cast<float>(highest) * factor});
      for (int key = begin; key < end; ++key) {
        const float distance = std::fma(-static_cast<float>(scores[key]), factor * 4096, block_top * 4096);
        const double weight = share * weight_at(static_cast<int>(std::clamp(std::nearbyint(distance), 0.0F, 65535.0F)));
        total += weight;
        for (int d = 0; d < head_dim_; ++d) sums[d] += weight * values_[d].code(head_.value(2, key, d));
      }
    }
    for (int d = 0; d < head_dim_; ++d) sums[d] = sums[d] / total * double{values_[d].step} + double{values_[d].base};
    return sums;
  }

 private:
  float scaled(int query, int d) const { return static_cast<float>(head_.value(0, query, d)) * keys_[d].step; }

  const CodesHead& head_;
  int length_, head_dim_;
  std::vector<Column> keys_, values_;
};

class AttentionCodes : public TableTest {
 protected:
  void SetUp() override {
    if (table().attention_codes == nullptr) GTEST_SKIP() << "this table has none";
  }
  void check(const CodesShape& shape, Random& random) {
    CodesHead head(shape, random);
    head.run(table(), 0, shape.length);
    Comparison comparison;
    head.compare_exactly(comparison);
    EXPECT_TRUE(comparison.within()) << "length " << shape.length << ", head " << shape.head_dim << ", left " << shape.left
                                     << ", right " << shape.right << ", bias " << shape.has_bias;
  }
};
EACH_TABLE(AttentionCodes);

constexpr int kTextLengths[] = {1, 3, 16, 17, 63, 64, 65, 130, 513};
constexpr int kHeads[] = {1, 8, 20, 24, 32, 33, 64, 96, 128};

TEST_P(AttentionCodes, IsNearExactAttention) {
  Random random(61);
  SCOPED_TRACE(random.seed_text());
  for (const int length : kTextLengths) {
    for (const int head_dim : kHeads) check({length, head_dim}, random);
  }
}

TEST_P(AttentionCodes, EqualsItsArithmeticInPlainLoops) {
  Random random(62);
  SCOPED_TRACE(random.seed_text());
  for (const int length : kTextLengths) {
    for (const int head_dim : {8, 20, 32, 33, 64, 128}) {
      for (const float factor : {1.0F, 1000.0F}) {
        CodesHead head({length, head_dim, kUnbounded, kUnbounded, false, factor}, random);
        head.run(table(), 0, length);
        const SameCodes same(head, length, head_dim);
        Comparison comparison;
        for (int query = 0; query<length; query += length> 100 ? 31 : 5) {
          const std::vector<double> wanted = same.context(query);
          for (int d = 0; d < head_dim; ++d)
            comparison.add(query, d, head.result(query, d), wanted[d], Tolerance::kAttentionSameCodes);
        }
        EXPECT_TRUE(comparison.within()) << "length " << length << ", head " << head_dim << ", factor " << factor;
      }
    }
  }
}

TEST_P(AttentionCodes, WindowsCausalOrderAndBiasesAreObeyed) {
  Random random(63);
  SCOPED_TRACE(random.seed_text());
  for (const int length : {1, 7, 64, 100, 259}) {
    for (const int head_dim : {20, 32, 64}) {
      for (const bool has_bias : {false, true}) {
        check({length, head_dim, kUnbounded, 0, has_bias}, random);
        check({length, head_dim, 64, 64, has_bias}, random);
        check({length, head_dim, 3, 100, has_bias}, random);
        check({length, head_dim, kUnbounded, kUnbounded, has_bias}, random);
      }
    }
  }
}

TEST_P(AttentionCodes, QueriesBeyondTheLastKeySeeTheKeysOnly) {
  Random random(66);
  SCOPED_TRACE(random.seed_text());
  for (const int keys : {1, 7, 64, 100}) {
    for (const int beyond : {1, 30, 70}) {
      for (const bool has_bias : {false, true}) {
        check({keys + beyond, 20, kUnbounded, kUnbounded, has_bias, 1, beyond}, random);
        check({keys + beyond, 32, kUnbounded, 0, has_bias, 1, beyond}, random);
        check({keys + beyond, 64, keys + beyond, 9, has_bias, 1, beyond}, random);
      }
    }
  }
}

// A query that sees itself only has a weight of one: what is left is the rounding of V.
TEST_P(AttentionCodes, AQueryThatSeesItselfOnlyGetsItsValue) {
  Random random(64);
  CodesHead head({70, 32, 0, 0}, random);
  head.run(table(), 0, 70);
  for (int row = 0; row < 70; ++row) {
    for (int d = 0; d < 32; ++d) EXPECT_NEAR(head.result(row, d), head.value(2, row, d), 0.016);
  }
}

TEST_P(AttentionCodes, QueriesHaveTheSameBitsInAnySplit) {
  Random random(65);
  for (const CodesShape& shape : {CodesShape{131, 24}, CodesShape{131, 32, 20, 0, true}, CodesShape{9, 64}}) {
    CodesHead head(shape, random);
    head.run(table(), 0, shape.length);
    const std::vector<float> whole = head.results();
    for (const int block : {1, 3, 5, 6, 13, 64}) {
      for (int begin = 0; begin < shape.length; begin += block) head.run(table(), begin, std::min(shape.length, begin + block));
      ASSERT_EQ(std::memcmp(whole.data(), head.results().data(), whole.size() * sizeof(float)), 0) << "blocks of " << block;
    }
  }
}

TEST_P(AttentionCodes, KeepsAnErrorAnError) {
  Random random(66);
  for (const float bad : {NAN, HUGE_VALF, -HUGE_VALF}) {
    for (const int operand : {0, 1, 2}) {
      for (const int row : {0, 17, 33}) {
        CodesHead head({34, 32}, random);
        head.set(operand, row, 9, bad);
        head.run(table(), 0, 34);
        for (int query = 0; query < 34; ++query) {
          // A bad query spoils its own row, a bad key every row, a bad value its column.
          const bool spoilt = operand != 0 || query == row;
          EXPECT_EQ(std::isnan(head.result(query, 9)), spoilt) << "operand " << operand << ", query " << query << ", " << bad;
          EXPECT_EQ(std::isnan(head.result(query, 8)), spoilt && operand != 2) << "operand " << operand << ", query " << query;
        }
      }
    }
  }
}

// K or V that is the same in every row has no range at all.
TEST_P(AttentionCodes, ConstantColumnsComeOutExactly) {
  Random random(67);
  CodesHead head({40, 32}, random);
  for (int row = 0; row < 40; ++row) {
    for (int d = 0; d < 32; ++d) {
      head.set(1, row, d, 0.75F);
      head.set(2, row, d, static_cast<float>(d));
    }
  }
  head.run(table(), 0, 40);
  for (int d = 0; d < 32; ++d) EXPECT_EQ(head.result(11, d), static_cast<float>(d));
}

TEST_P(AttentionCodes, LongTextsNeedNoSquareBuffer) { EXPECT_LT(table().attention_codes_bytes(8192, 64), size_t{2} << 20); }

}  // namespace
}  // namespace inlay
