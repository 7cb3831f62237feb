// Which files of a repository a model is loaded from.
#pragma once

#include <string>
#include <vector>

namespace inlay {

// Of all files of a repository, those that loading needs: configuration, tokenizer, the modules of sentence-transformers with
// their weights, and for the encoder and each module the weights in one format: safetensors, else torch's, else ONNX, else
// GGUF. Sorted; paths that would leave the folder are left out.
std::vector<std::string> needed_files(const std::vector<std::string>& all);

}  // namespace inlay
