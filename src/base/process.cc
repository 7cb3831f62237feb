#include "base/process.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace inlay {

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

uint64_t peak_resident_bytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB.
}

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::FILE* status = std::fopen("/proc/self/status", "re");
  if (status == nullptr) return memory;
  std::array<char, 256> line;
  while (std::fgets(line.data(), static_cast<int>(line.size()), status) != nullptr) {
    unsigned long long kib = 0;
    if (std::sscanf(line.data(), "VmRSS: %llu kB", &kib) == 1) memory.resident = kib * 1024;
    if (std::sscanf(line.data(), "RssAnon: %llu kB", &kib) == 1) memory.resident_anonymous = kib * 1024;
    if (std::sscanf(line.data(), "RssFile: %llu kB", &kib) == 1) memory.resident_file = kib * 1024;
    if (std::sscanf(line.data(), "VmHWM: %llu kB", &kib) == 1) memory.peak_resident = kib * 1024;
  }
  (void)std::fclose(status);
  return memory;
}

uint64_t heap_bytes() {
#ifdef __GLIBC__
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

}  // namespace inlay
