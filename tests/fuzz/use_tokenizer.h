// What the targets of tokenizers share.
#pragma once

#include <filesystem>

namespace inlay {

// Loads the folder's tokenizer and, if there is one, encodes and decodes ugly texts with it; whether there is one.
bool use_tokenizer(const std::filesystem::path& folder);

}  // namespace inlay
