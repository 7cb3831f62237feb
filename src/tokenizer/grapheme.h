// Extended grapheme clusters: what a reader takes for one character. The classes are those of `tokenizers`, whose Precompiled
// normalizer works cluster by cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inlay {

enum class GraphemeClass : uint8_t {
  kOther,
  kControl,      // line ends, controls: a cluster of their own
  kExtend,       // marks and joiners that belong to the character before
  kZwj,          // the same, and joins a pictograph to another
  kSpacingMark,  // belongs to the character before
  kPrepend,      // belongs to the character behind
  kPictograph,   // may be joined to another one by a ZWJ
  kConsonant,    // Indic consonants, which a linker joins
  kLinker,       // of the Extend kind, and joins consonants
  kRegional,     // half of a flag
  kLeading,      // Hangul jamo and syllables
  kVowel,
  kTrailing,
  kSyllable,          // with a vowel and no trailing consonant
  kTrailingSyllable,  // with both
};

// `code` is below 0x110000. CR and LF count as kControl.
GraphemeClass grapheme_class(uint32_t code);

// Bytes of the cluster that begins at `at`, at least one character. `text` is well-formed UTF-8 and `at` lies before its end.
size_t grapheme_size(std::string_view text, size_t at);

}  // namespace inlay
