// With H = R R^T, R upper triangular, the inverse of H is R^-T R^-1, so U is R^-1: a Cholesky factor from the last row up, and
// a triangular inverse. Nothing else is stored, and the inverse of H itself is never formed.
#include "quant/inverse_factor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace inlay {
namespace {

// Four sums, so that the compiler may use vectors and the processor need not wait for each addition.
double dot(const double* a, const double* b, size_t count) {
  double sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// H to R in the upper triangle.
bool factor(double* h, size_t n) {
  for (size_t j = n; j-- > 0;) {
    double* row = h + j * n;
    const double pivot = row[j] - dot(row + j + 1, row + j + 1, n - j - 1);
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    row[j] = std::sqrt(pivot);
    for (size_t i = 0; i < j; ++i) {
      double* other = h + i * n;
      other[j] = (other[j] - dot(other + j + 1, row + j + 1, n - j - 1)) / row[j];
    }
  }
  return true;
}

// R to R^-1, from the last row up: row i of the inverse is made of the rows of the inverse below it.
void invert(double* r, size_t n) {
  std::vector<double> old(n);
  for (size_t i = n; i-- > 0;) {
    double* row = r + i * n;
    const double inverse = 1 / row[i];
    std::copy(row + i, row + n, old.begin() + static_cast<std::ptrdiff_t>(i));
    std::fill(row + i, row + n, 0.0);
    for (size_t k = i + 1; k < n; ++k) {
      const double factor = -old[k] * inverse;
      const double* below = r + k * n;
      for (size_t j = k; j < n; ++j) row[j] += factor * below[j];
    }
    row[i] = inverse;
  }
}

}  // namespace

bool factor_inverse(std::span<double> matrix, int n) {
  const size_t size = static_cast<size_t>(n);
  if (!factor(matrix.data(), size)) return false;
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < i; ++j) matrix[i * size + j] = 0;
  }
  invert(matrix.data(), size);
  return true;
}

}  // namespace inlay
