// The tokenizer inside a GGUF file, as the files that Hugging Face's folders have for it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/gguf.h"

namespace inlay {

// tokenizer.json, or tokenizer.model where the file holds a sentencepiece BPE, and tokenizer_config.json. Kinds: bert
// (WordPiece), gpt2 (byte-level BPE, cut as tokenizer.ggml.pre says), t5 (Unigram, with the pipeline of XLM-RoBERTa or T5) and
// llama (sentencepiece BPE). Empty for other kinds. A fact that is missing is kCorrupt, a `pre` that isn't known kUnsupported;
// `name` starts messages.
Result<std::map<std::string, std::string>> gguf_tokenizer_files(const GgufFile& file, std::string_view name);

}  // namespace inlay
