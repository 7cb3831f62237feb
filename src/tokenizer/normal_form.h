// The Unicode normalization forms, by the tables of `tokenizers`.
#pragma once

#include <string>
#include <string_view>

namespace inlay {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// `text` is well-formed UTF-8. Linear, but for sorting within a run of marks (n log n).
std::string to_normal_form(std::string_view text, NormalForm form);

}  // namespace inlay
