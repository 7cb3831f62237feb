// The Unicode normalization forms, by the tables of `tokenizers`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/aligned_text.h"

namespace inlay {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// `text` is well-formed UTF-8. Linear, but for sorting within a run of marks (n log n).
std::string to_normal_form(std::string_view text, NormalForm form);

// The same, and which characters each one stands for.
std::vector<Edit> normal_form_edits(std::string_view text, NormalForm form);

}  // namespace inlay
