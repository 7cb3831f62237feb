// A model file of sentencepiece, as each of the classes that read one: they differ in the ids they shift and the tokens they
// add.
#include "fuzz_folder.h"
#include "fuzz_target.h"
#include "use_tokenizer.h"

namespace inlay {

bool fuzz_sentencepiece(std::string_view bytes) {
  static FuzzFolder folder;
  bool understood = false;
  for (const std::string_view name : {"sentencepiece.bpe.model", "tokenizer.model"}) {
    folder.fill({}, {"sentencepiece.bpe.model", "tokenizer.model"});
    folder.put(name, bytes);
    folder.put("tokenizer_config.json", name == "tokenizer.model" ? R"({"tokenizer_class":"LlamaTokenizer","legacy":false})"
                                                                  : R"({"tokenizer_class":"XLMRobertaTokenizer"})");
    understood = use_tokenizer(folder.path()) || understood;
  }
  return understood;
}

}  // namespace inlay
