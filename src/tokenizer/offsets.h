// The part of a text that a token stands for.
#pragma once

#include <cstdint>

namespace inlay {

// In characters (code points) of the text; `end` is behind the last one.
struct Offsets {
  int32_t begin = 0;
  int32_t end = 0;
};

}  // namespace inlay
