// Raw sums of matrix products by oneDNN, which uses the AMX tiles of CPUs that have them.
#pragma once

#include <cstdint>

namespace inlay {

// Every product has this many rows: the order in which oneDNN adds may differ between sizes, and a row must come out the same
// in any batch.
constexpr int kOneDnnRows = 32;
// Panels of columns of one product at most; it bounds the sums that wait for their epilogue.
constexpr int kOneDnnPanels = 16;
constexpr int kOneDnnPanelColumns = 48;

struct OneDnnProduct {
  bool is_int8 = false;  // u8 x s8 to int32, else bf16 x bf16 to float
  int rows = 0;          // 1..kOneDnnRows
  int k = 0;
  int64_t a_stride = 0;  // elements
  int panels = 0;        // 1..kOneDnnPanels
};

// sum_k a[row, k] * b[k, column] for the rows and for panels * kOneDnnPanelColumns columns, side by side. `b` are panels of
// [k / 32][16][48][2] bf16 or [k / 64][16][48][4] int8, the last block of k whole. The sums, float or int32, lie in memory of
// the calling thread until its next call. Starts no threads; the first call of a thread for a size sets it up, which allocates.
// Ends the program if oneDNN refuses.
const void* onednn_sums(const OneDnnProduct& product, const void* a, const void* b) noexcept;

}  // namespace inlay
