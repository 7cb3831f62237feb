// Random changes seldom leave the eight bytes that say how long the header is right, so the bytes are also read with a length
// that ends at their last brace.
#include "weights/safetensors.h"

#include <cstring>

#include "base/check.h"
#include "fuzz_target.h"
#include "tensor/tensor_view.h"
#include "weight_bytes.h"

namespace inlay {
namespace {

bool read_header(std::string_view bytes) {
  const Result<SafetensorsHeader> header = read_safetensors_header(as_bytes(bytes), "m.safetensors");
  if (!header) return false;
  std::vector<StoredTensor> tensors;
  for (const SafetensorsEntry& entry : header->tensors) {
    tensors.push_back({.name = entry.name, .dtype = entry.dtype, .shape = entry.shape, .begin = entry.begin, .end = entry.end});
    if (!entry.dtype) continue;
    TensorView view;
    view.shape = entry.shape;
    const uint64_t bits = static_cast<uint64_t>(view.element_count()) * dtype_bits(*entry.dtype);
    INLAY_CHECK(bits == 8 * (entry.end - entry.begin), "a tensor has the bytes that its shape takes");
  }
  check_tensors(tensors, bytes);
  return true;
}

}  // namespace

bool fuzz_safetensors(std::string_view bytes) {
  const bool as_it_is = read_header(bytes);
  const size_t end = bytes.rfind('}');
  if (end == std::string_view::npos || end < 8) return as_it_is;
  const uint64_t length = end - 7;
  std::string mended(bytes);
  std::memcpy(mended.data(), &length, sizeof(length));
  // A copy of exactly this size on the heap, so that the sanitizer sees a read behind its end.
  const std::vector<char> exact(mended.begin(), mended.end());
  return read_header({exact.data(), exact.size()}) || as_it_is;
}

}  // namespace inlay
