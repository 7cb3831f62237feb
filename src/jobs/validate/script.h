// The script that a text is written in, as a stand-in for its language where nobody says what that is.
#pragma once

#include <string_view>

namespace inlay {

// "Latin", "Han", "Kana", "Hangul", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Thai", ...: the one that most
// letters of the text's beginning belong to; "other" if none is known. A text with a tenth or more of kana is "Kana", since
// Japanese mixes them with Han. Ill-formed UTF-8 is skipped.
std::string_view script_of(std::string_view text);

}  // namespace inlay
