// The weights in an ONNX model, under the names that the checkpoint it was exported from has. Works on bytes alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/stored_tensor.h"

namespace inlay {

struct OnnxTensor {
  StoredTensor stored;
  std::string location = {};  // the file beside the model that begin and end count in; empty: the model itself
};

// Initialisers and constants with their own names, and besides:
// - a matrix that a MatMul multiplies with is [in, out]; it is shown as [out, in], as Linear layers keep it, and named after
// the
//   bias that is added next or after the node ("/encoder/layer.0/output/dense/MatMul"), since exporters drop its name;
// - vectors that exporters merged because they are equal are found under all their names.
// Graphs in which layers were fused or quantised are kUnsupported, a broken promise kCorrupt; `name` starts every message.
// Tensors in external files are checked for their shapes only; who opens those files checks their ends.
Result<std::vector<OnnxTensor>> read_onnx(std::span<const std::byte> file, std::string_view name);

}  // namespace inlay
