// Folders without tokenizer.json: vocab.txt, or vocab.json and merges.txt, as fuzz_folder.h has them.
#include "fuzz_folder.h"
#include "fuzz_target.h"
#include "use_tokenizer.h"

namespace inlay {

bool fuzz_vocab_files(std::string_view bytes) {
  static FuzzFolder folder;
  folder.fill(bytes, {"vocab.json", "merges.txt", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json"});
  return use_tokenizer(folder.path());
}

}  // namespace inlay
