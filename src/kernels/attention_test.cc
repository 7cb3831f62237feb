// Attention of every table against a double-precision loop.
#include <algorithm>

#include "kernels/kernels_testing.h"
#include "tensor/half.h"

namespace inlay {
namespace {

struct AttentionShape {
  bool is_bf16 = false;
  int length = 0;
  int head_dim = 0;
  float score_factor = 1;  // scores are about normal(0, 1) times this
};

// One head in buffers that end with the last element the contract allows to be read. Between rows, and in three rows beyond the
// last one, there is NaN.
class Head {
 public:
  Head(const AttentionShape& shape, Random& random) : shape_(shape), stride_(shape.head_dim + 6) {
    for (int i = 0; i < 3; ++i) {
      values_[i] = random.normals(static_cast<size_t>(shape.length) * shape.head_dim);
      if (i == 0) {
        for (float& x : values_[i]) x *= shape.score_factor;
      }
      if (shape.is_bf16) {
        for (float& x : values_[i]) x = bf16_to_float(float_to_bf16(x));
      }
    }
    store();
  }

  // Runs queries [begin, end) into the rows of the result.
  void run(const Kernels& table, int begin, int end) {
    const auto bytes = shape_.is_bf16 ? table.attention_bf16_bytes : table.attention_f32_bytes;
    const size_t size = bytes(shape_.length, shape_.head_dim);
    scratch_.assign(size + 128, '\xff');
    args_.scratch = scratch_.data() + (64 - reinterpret_cast<uintptr_t>(scratch_.data()) % 64) % 64;
    args_.query_begin = begin;
    args_.query_end = end;
    (shape_.is_bf16 ? table.attention_bf16 : table.attention_f32)(args_);
    for (const char* p = static_cast<char*>(args_.scratch) + size; p < scratch_.data() + scratch_.size(); ++p) {
      ASSERT_EQ(*p, '\xff') << "wrote beyond the scratch";
    }
  }
  void use_bf16_output() {
    out_bf16_.assign(out_.size(), kUntouchedBf16);
    args_.out = out_bf16_.data();
    args_.out_is_bf16 = true;
  }
  void clear() {
    std::fill(out_.begin(), out_.end(), kUntouched);
    std::fill(out_bf16_.begin(), out_bf16_.end(), kUntouchedBf16);
  }
  float& value(int operand, int row, int d) { return values_[operand][static_cast<size_t>(row) * shape_.head_dim + d]; }
  void store() {
    for (int i = 0; i < 3; ++i) store_operand(i);
    out_.assign(static_cast<size_t>(shape_.length) * stride_, kUntouched);
    const void* operands[3];
    for (int i = 0; i < 3; ++i) {
      operands[i] = shape_.is_bf16 ? static_cast<const void*>(bf16_[i].data()) : static_cast<const void*>(f32_[i].data());
    }
    args_.q = operands[0];
    args_.k = operands[1];
    args_.v = operands[2];
    args_.stride = stride_;
    args_.out = out_.data();
    args_.out_stride = stride_;
    args_.length = shape_.length;
    args_.head_dim = shape_.head_dim;
    args_.scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim));
  }

  float result(int row, int d) const {
    const size_t at = static_cast<size_t>(row) * stride_ + d;
    return args_.out_is_bf16 ? bf16_to_float(out_bf16_[at]) : out_[at];
  }
  int64_t stride() const { return stride_; }

  // The exact context of one query, and the largest |score|.
  struct Exact {
    std::vector<double> context;
    double largest_score = 0;
    double largest_value = 0;
  };
  Exact exact(int query) {
    std::vector<double> weights(shape_.length);
    Exact result;
    double highest = -HUGE_VAL;
    for (int key = 0; key < shape_.length; ++key) {
      double sum = 0;
      for (int d = 0; d < shape_.head_dim; ++d) sum += static_cast<double>(value(0, query, d)) * value(1, key, d);
      weights[key] = sum * static_cast<double>(args_.scale);
      highest = std::max(highest, weights[key]);
      result.largest_score = std::max(result.largest_score, std::abs(weights[key]));
    }
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - highest);
    for (int d = 0; d < shape_.head_dim; ++d) {
      double sum = 0;
      for (int key = 0; key < shape_.length; ++key) {
        sum += weights[key] * value(2, key, d);
        result.largest_value = std::max(result.largest_value, std::abs(static_cast<double>(value(2, key, d))));
      }
      result.context.push_back(sum / total);
    }
    return result;
  }

  static constexpr float kUntouched = 4321.5F;
  static constexpr uint16_t kUntouchedBf16 = 0x4588;

 private:
  void store_operand(int i) {
    const size_t count = static_cast<size_t>(shape_.length + 3) * stride_;
    f32_[i].assign(shape_.is_bf16 ? 0 : count, NAN);
    bf16_[i].assign(shape_.is_bf16 ? count : 0, 0x7fc0);
    for (int row = 0; row < shape_.length; ++row) {
      for (int d = 0; d < shape_.head_dim; ++d) {
        const size_t at = static_cast<size_t>(row) * stride_ + d;
        if (shape_.is_bf16)
          bf16_[i][at] = float_to_bf16(value(i, row, d));
        else
          f32_[i][at] = value(i, row, d);
      }
    }
  }

  AttentionShape shape_;
  int64_t stride_;
  std::vector<float> values_[3];  // q, k, v
  std::vector<float> f32_[3];
  std::vector<uint16_t> bf16_[3];
  std::vector<float> out_;
  std::vector<uint16_t> out_bf16_;
  std::vector<char> scratch_;
  AttentionArgs args_;
};

class Attention : public TableTest {
 protected:
  void check(const AttentionShape& shape, Random& random, bool bf16_output = false) {
    if (shape.is_bf16 && table().attention_bf16 == nullptr) return;
    Head head(shape, random);
    if (bf16_output) head.use_bf16_output();
    head.run(table(), 0, shape.length);
    Comparison comparison;
    for (int query = 0; query<shape.length; query += shape.length> 100 ? 9 : 1) {
      const Head::Exact exact = head.exact(query);
      const double base = shape.is_bf16 ? Tolerance::kAttentionBf16 : Tolerance::kAttention;
      for (int d = 0; d < shape.head_dim; ++d) {
        // An error in a score is a relative error of its weight.
        double allowed = exact.largest_value * (base + 2 * Tolerance::kSum * exact.largest_score);
        if (bf16_output) allowed += Tolerance::kBf16 * std::abs(exact.context[d]);
        comparison.add(query, d, head.result(query, d), exact.context[d], allowed);
      }
    }
    EXPECT_TRUE(comparison.within()) << "bf16 " << shape.is_bf16 << ", length " << shape.length << ", head " << shape.head_dim;
  }
};
EACH_TABLE(Attention);

constexpr int kLengths[] = {1, 2, 3, 7, 15, 16, 17, 47, 48, 49, 100, 255, 513};

TEST_P(Attention, EqualsADoubleLoop) {
  Random random(21);
  SCOPED_TRACE(random.seed_text());
  for (const bool is_bf16 : {false, true}) {
    for (const int length : kLengths) {
      for (const int head_dim : {1, 3, 11, 16, 32, 44, 64, 96, 128}) check({is_bf16, length, head_dim}, random);
    }
  }
}

TEST_P(Attention, RoundsItsOutputToBf16) {
  Random random(22);
  for (const bool is_bf16 : {false, true}) {
    for (const int head_dim : {5, 32, 44}) check({is_bf16, 19, head_dim}, random, true);
  }
}

TEST_P(Attention, LargeScoresStayFiniteAndExact) {
  Random random(23);
  SCOPED_TRACE(random.seed_text());
  for (const bool is_bf16 : {false, true}) {
    for (const float factor : {30.0F, 1000.0F, 10000.0F}) {
      for (const int length : {1, 15, 50, 130}) check({is_bf16, length, 32, factor}, random);
    }
  }
}

// One key wins by far: its value comes out unchanged.
TEST_P(Attention, AWinnerTakesAll) {
  Random random(24);
  for (const float sign : {1.0F, -1.0F}) {
    Head head({false, 37, 16}, random);
    for (int row = 0; row < 37; ++row) {
      for (int d = 0; d < 16; ++d) {
        head.value(0, row, d) = 100;
        head.value(1, row, d) = sign * (row == 20 ? (sign > 0 ? 100.0F : 1.0F) : (sign > 0 ? 1.0F : 100.0F));
      }
    }
    head.store();
    head.run(table(), 0, 37);
    for (int d = 0; d < 16; ++d) EXPECT_FLOAT_EQ(head.result(5, d), head.value(2, 20, d));
  }
}

TEST_P(Attention, QueriesHaveTheSameBitsInAnySplit) {
  Random random(25);
  for (const bool is_bf16 : {false, true}) {
    if (is_bf16 && table().attention_bf16 == nullptr) continue;
    for (const int length : {1, 9, 50, 129}) {
      for (const int head_dim : {11, 32}) {
        Head head({is_bf16, length, head_dim}, random);
        head.run(table(), 0, length);
        std::vector<float> whole;
        for (int row = 0; row < length; ++row) {
          for (int d = 0; d < head_dim; ++d) whole.push_back(head.result(row, d));
        }
        for (const int block : {1, 3, 5, 8, 13, 64}) {
          head.clear();
          for (int begin = 0; begin < length; begin += block) head.run(table(), begin, std::min(length, begin + block));
          for (int row = 0; row < length; ++row) {
            for (int d = 0; d < head_dim; ++d) {
              const float found = head.result(row, d);
              ASSERT_EQ(std::memcmp(&found, &whole[static_cast<size_t>(row) * head_dim + d], sizeof(found)), 0)
                  << "length " << length << ", blocks of " << block << ", row " << row << ", column " << d;
            }
          }
        }
      }
    }
  }
}

TEST_P(Attention, WritesTheQueriesAskedForOnly) {
  Random random(26);
  for (const bool is_bf16 : {false, true}) {
    if (is_bf16 && table().attention_bf16 == nullptr) continue;
    for (const bool bf16_output : {false, true}) {
      Head head({is_bf16, 40, 20}, random);
      if (bf16_output) head.use_bf16_output();
      const float untouched = bf16_output ? bf16_to_float(Head::kUntouchedBf16) : Head::kUntouched;
      head.run(table(), 11, 30);
      for (int row = 0; row < 40; ++row) {
        for (int d = 0; d < head.stride(); ++d) {
          ASSERT_EQ(head.result(row, d) == untouched, row < 11 || row >= 30 || d >= 20) << "row " << row << ", column " << d;
        }
      }
    }
  }
}

TEST_P(Attention, KeepsAnErrorAnError) {
  Random random(27);
  for (const bool is_bf16 : {false, true}) {
    if (is_bf16 && table().attention_bf16 == nullptr) continue;
    for (const int operand : {0, 1, 2}) {
      for (const int row : {0, 17, 33}) {
        Head head({is_bf16, 34, 32}, random);
        head.value(operand, row, 9) = NAN;
        head.store();
        head.run(table(), 0, 34);
        for (int query = 0; query < 34; ++query) {
          // A bad query spoils its own row, a bad key every row, a bad value its column.
          const bool spoilt = operand != 0 || query == row;
          EXPECT_EQ(std::isnan(head.result(query, 9)), spoilt) << "operand " << operand << ", query " << query;
          EXPECT_EQ(std::isnan(head.result(query, 8)), spoilt && operand != 2) << "operand " << operand << ", query " << query;
        }
      }
    }
  }
}

TEST_P(Attention, LongTextsNeedNoSquareBuffer) {
  EXPECT_LT(table().attention_f32_bytes(8192, 64), size_t{6} << 20);
  if (table().attention_bf16_bytes == nullptr) return;
  EXPECT_LT(table().attention_bf16_bytes(8192, 64), size_t{6} << 20);
}

}  // namespace
}  // namespace inlay
