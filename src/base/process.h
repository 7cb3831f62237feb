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

// Memory of this process as the system counts it, in bytes; 0 where it does not say.
struct ProcessMemory {
  uint64_t resident = 0;
  uint64_t resident_anonymous = 0;  // memory of its own
  uint64_t resident_file = 0;       // pages of mapped files, program and libraries among them; other processes may share them
  uint64_t peak_resident = 0;       // the most that was resident so far
};
ProcessMemory process_memory();

// Bytes that this process may still take: what the machine has left, or its control group if that is less. 0 where the system
// does not say.
uint64_t available_memory_bytes();

// Bytes that allocations of the whole program take at present; 0 where the C library does not say.
uint64_t heap_bytes();

}  // namespace inlay
