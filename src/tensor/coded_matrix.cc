#include "tensor/coded_matrix.h"

#include "base/check.h"

namespace inlay {

float CodedMatrix::read_codes(int64_t, std::span<int8_t>) const {
  INLAY_CHECK(false, "the kind of a matrix is asked first");
  return 0;
}

void CodedMatrix::read_levels(int64_t, LevelRow&) const { INLAY_CHECK(false, "the kind of a matrix is asked first"); }

void CodedMatrix::read_groups(int64_t, GroupedRow&) const { INLAY_CHECK(false, "the kind of a matrix is asked first"); }

}  // namespace inlay
