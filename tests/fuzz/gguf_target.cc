#include "weights/gguf.h"

#include "fuzz_target.h"
#include "weight_bytes.h"
#include "weights/gguf_folder.h"

namespace inlay {

bool fuzz_gguf(std::string_view bytes) {
  Result<GgufFile> file = read_gguf(as_bytes(bytes), "m.gguf");
  if (!file) return false;
  check_tensors(file->tensors, bytes);
  static_cast<void>(gguf_folder_files(*file, "m.gguf"));
  static_cast<void>(rename_gguf_tensors(*file, "m.gguf"));
  return true;
}

}  // namespace inlay
