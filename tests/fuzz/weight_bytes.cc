#include "weight_bytes.h"

#include "base/check.h"
#include "tensor/tensor_view.h"

namespace inlay {

void check_tensors(const std::vector<StoredTensor>& tensors, std::string_view file) {
  constexpr int64_t kMostFloats = 1 << 16;
  std::vector<float> values;
  for (const StoredTensor& tensor : tensors) {
    INLAY_CHECK(tensor.begin <= tensor.end && tensor.end <= file.size(), "a tensor lies inside of its file");
    if (!tensor.dtype) continue;
    const TensorView view = {*tensor.dtype, tensor.shape, as_bytes(file).subspan(tensor.begin, tensor.end - tensor.begin),
                             tensor.strides};
    const int64_t count = view.element_count();
    INLAY_CHECK(count >= 0, "a shape is no number below zero");
    if (count > kMostFloats) continue;
    values.resize(static_cast<size_t>(count));
    // Types without a conversion are refused; those that have one read every byte.
    static_cast<void>(to_float(view, 0, values));
  }
}

}  // namespace inlay
