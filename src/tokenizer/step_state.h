// What the text-to-text steps of one encode call share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "tokenizer/regex.h"
#include "tokenizer/text_arena.h"

namespace inlay {

struct StepState {
  TextArena arena;              // text that pre-tokenizers make
  const char* start = nullptr;  // where the whole input begins, if it is in sight
  RegexScratch regex;
  // Normalizers stop with an error beyond so many bytes: a file may ask for growth without end.
  size_t max_text = SIZE_MAX;
  std::optional<Error> error;  // why the result is not to be used

  // Whether a text may grow to `size` bytes; sets the error if not.
  bool allows(size_t size) {
    if (size > max_text && !error) {
      error = Error{ErrorCode::kTooLarge, "the normalizer of tokenizer.json makes the text grow beyond all measure"};
    }
    return size <= max_text;
  }
};

}  // namespace inlay
