// What the program has allocated, by malloc or new, as the address sanitizer counts it.
#pragma once

#include <cstdint>

namespace inlay {

// Starts anew; gives the bytes that are allocated now.
int64_t begin_memory_watch();
// Most bytes that were allocated at a time since then.
int64_t most_memory();

}  // namespace inlay
