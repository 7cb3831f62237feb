// What the system says about this process.
#pragma once

#include <cstdint>

namespace inlay {

bool stderr_is_terminal();
bool stdout_is_terminal();
// Columns of the terminal behind stderr; 80 where it does not say.
int terminal_columns();
// Most memory this process has held resident so far, in bytes; 0 where the system does not say.
uint64_t peak_resident_bytes();

}  // namespace inlay
