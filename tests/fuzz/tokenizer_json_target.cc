// tokenizer.json alone, or several files of a folder as fuzz_folder.h has them.
#include "fuzz_folder.h"
#include "fuzz_target.h"
#include "use_tokenizer.h"

namespace inlay {

bool fuzz_tokenizer_json(std::string_view bytes) {
  static FuzzFolder folder;
  folder.fill(bytes, {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"});
  if (!bytes.starts_with("=== ")) folder.put("tokenizer.json", bytes);
  return use_tokenizer(folder.path());
}

}  // namespace inlay
