#include "weights/torch_file.h"

#include "fuzz_target.h"
#include "weight_bytes.h"

namespace inlay {

bool fuzz_torch(std::string_view bytes) {
  const Result<std::vector<StoredTensor>> tensors = read_torch_file(as_bytes(bytes), "m.bin");
  if (tensors) check_tensors(*tensors, bytes);
  return tensors.has_value();
}

}  // namespace inlay
