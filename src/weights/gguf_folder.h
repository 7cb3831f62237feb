// What a GGUF file says about its model, as the files of a folder that Hugging Face would lay out, so that everything else
// reads one kind of model only.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/gguf.h"

namespace inlay {

// Relative paths and contents of config.json, modules.json, the pooling module's config.json, sentence_bert_config.json and
// what gguf_tokenizer_files() gives. The file's pooling is taken, and vectors are normalised, as llama.cpp does it.
// `file` has the names of GGUF; `name` starts
// messages. An architecture that isn't known is kUnsupported, a fact that is missing kCorrupt.
Result<std::map<std::string, std::string>> gguf_folder_files(const GgufFile& file, std::string_view name);

}  // namespace inlay
