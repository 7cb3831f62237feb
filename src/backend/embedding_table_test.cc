#include "backend/embedding_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tensor/half.h"

namespace inlay {
namespace {

using Storage = EmbeddingTable::Storage;

constexpr int kColumns = 37;
constexpr Storage kNarrow[] = {Storage::kI8, Storage::kBF16, Storage::kF16};

// Rows of small numbers with one that stands out, as those of token types have.
std::vector<float> rows_with_outliers(int rows) {
  std::mt19937 random(20261201);
  std::normal_distribution<float> normal(0, 0.05F);
  std::vector<float> values(static_cast<size_t>(rows) * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = normal(random) + (i % kColumns == 5 ? 7 : 0);
  return values;
}

template <class Element>
TensorView view_of_rows(DType dtype, const std::vector<Element>& values) {
  return {dtype, {static_cast<int64_t>(values.size()) / kColumns, kColumns}, std::as_bytes(std::span(values))};
}

EmbeddingTable table_of(const TensorView& view, Storage storage) {
  Team team(2);
  Result<EmbeddingTable> table = EmbeddingTable::make(view, storage, team, [](std::span<const std::byte>) {});
  EXPECT_TRUE(table.has_value());
  return *std::move(table);
}

// The largest error of row `id` as it is set, and as it is added to ones.
float error_of_row(const EmbeddingTable& table, int id, std::span<const float> wanted) {
  std::vector<float> set(kColumns), sum(kColumns, 1.0F);
  table.set_row(id, set.data());
  table.add_row(id, sum.data());
  float largest = 0;
  for (int c = 0; c < kColumns; ++c) {
    EXPECT_EQ(sum[c], 1.0F + set[c]);
    largest = std::max(largest, std::abs(set[c] - wanted[c]));
  }
  return largest;
}

TEST(EmbeddingTable, AFewRowsKeepTheirNumbersInEveryPrecision) {
  for (const int rows : {1, 2, 16}) {
    std::vector<float> values = rows_with_outliers(rows);
    const std::vector<float> wanted = values;
    for (const Storage storage : kNarrow) {
      values = wanted;
      const EmbeddingTable table = table_of(view_of_rows(DType::kF32, values), storage);
      std::fill(values.begin(), values.end(), NAN);  // The table has its own copy.
      for (int r = 0; r < rows; ++r) EXPECT_EQ(error_of_row(table, r, std::span(wanted).subspan(r * kColumns, kColumns)), 0);
    }
  }
}

TEST(EmbeddingTable, AFewRowsOf16BitsKeepTheirNumbers) {
  const std::vector<float> values = rows_with_outliers(2);
  std::vector<uint16_t> half, brain;
  for (const float value : values) {
    half.push_back(float_to_fp16(value));
    brain.push_back(float_to_bf16(value));
  }
  std::vector<float> of_half, of_brain;
  std::transform(half.begin(), half.end(), std::back_inserter(of_half), fp16_to_float);
  std::transform(brain.begin(), brain.end(), std::back_inserter(of_brain), bf16_to_float);
  for (const Storage storage : kNarrow) {
    EXPECT_EQ(error_of_row(table_of(view_of_rows(DType::kF16, half), storage), 1, std::span(of_half).subspan(kColumns)), 0);
    EXPECT_EQ(error_of_row(table_of(view_of_rows(DType::kBF16, brain), storage), 1, std::span(of_brain).subspan(kColumns)), 0);
  }
}

TEST(EmbeddingTable, ManyRowsBecomeAsNarrowAsAsked) {
  constexpr int kRows = 17;
  const std::vector<float> values = rows_with_outliers(kRows);
  const TensorView view = view_of_rows(DType::kF32, values);
  EXPECT_EQ(table_of(view, Storage::kI8).bytes(), size_t{kRows} * (kColumns + sizeof(float)));
  EXPECT_EQ(table_of(view, Storage::kBF16).bytes(), size_t{kRows} * kColumns * 2);
  EXPECT_TRUE(table_of(view, Storage::kAsStored).uses_source());
  for (int r = 0; r < kRows; ++r) {
    const std::span<const float> row = std::span(values).subspan(r * kColumns, kColumns);
    const float step = *std::max_element(row.begin(), row.end()) / 127;
    const float error = error_of_row(table_of(view, Storage::kI8), r, row);
    EXPECT_LE(error, 0.5F * step * 1.001F);
    EXPECT_GT(error, 0.1F * step);
  }
}

}  // namespace
}  // namespace inlay
