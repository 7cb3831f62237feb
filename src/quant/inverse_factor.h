// The one piece of linear algebra that GPTQ needs.
#pragma once

#include <span>

namespace inlay {

// Replaces the symmetric matrix [n, n] by the upper triangular U, zero below its diagonal, for which U^T U is the matrix's
// inverse. False, with the matrix spoilt, if it is not positive definite.
bool factor_inverse(std::span<double> matrix, int n);

}  // namespace inlay
