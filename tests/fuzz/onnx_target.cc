#include "weights/onnx.h"

#include "base/check.h"
#include "fuzz_target.h"
#include "weight_bytes.h"

namespace inlay {

bool fuzz_onnx(std::string_view bytes) {
  const Result<std::vector<OnnxTensor>> tensors = read_onnx(as_bytes(bytes), "m.onnx");
  if (!tensors) return false;
  std::vector<StoredTensor> inside;
  for (const OnnxTensor& tensor : *tensors) {
    INLAY_CHECK(tensor.stored.begin <= tensor.stored.end, "a tensor does not end before it begins");
    // Whoever opens another file checks its ends.
    if (tensor.location.empty()) inside.push_back(tensor.stored);
  }
  check_tensors(inside, bytes);
  return true;
}

}  // namespace inlay
