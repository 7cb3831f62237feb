// Folders without a tokenizer.json that hold the files of sentencepiece, or vocab.json and merges.txt. What transformers makes
// of them depends on the tokenizer's class, which tokenizer_config.json names.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "tokenizer/tokenizer_config.h"
#include "tokenizer/tokenizer_files.h"

namespace inlay {

// The sentencepiece file of the folder, empty if there is none.
std::filesystem::path find_sentencepiece(const std::filesystem::path& folder);

// All of TokenizerParts but model_max_length.
Result<TokenizerParts> read_sentencepiece_tokenizer(const std::filesystem::path& path, const TokenizerConfig& config);

// The same of a folder with vocab.json and merges.txt: RoBERTa, GPT-2, Qwen 2.
Result<TokenizerParts> read_merges_tokenizer(const std::filesystem::path& folder, const TokenizerConfig& config);

}  // namespace inlay
