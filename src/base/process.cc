#include "base/process.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace inlay {
namespace {

// The value of a line of a file of the system in KiB; 0 if there is none.
uint64_t file_kib(const char* path, const char* key) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  unsigned long long kib = 0;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, key, std::strlen(key)) == 0) kib = std::strtoull(line + std::strlen(key), nullptr, 10);
  }
  std::fclose(file);
  return kib;
}

uint64_t status_kib(const char* key) { return file_kib("/proc/self/status", key); }

// The number that is all of a file; nothing if it is a word ("max") or isn't there.
std::optional<uint64_t> number_in(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return std::nullopt;
  unsigned long long number = 0;
  const bool is_number = std::fscanf(file, "%llu", &number) == 1;
  std::fclose(file);
  return is_number ? std::optional<uint64_t>(number) : std::nullopt;
}

}  // namespace

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// What getrusage tells includes the process that this one was started from, as large as it was then; VmHWM does not, but some
// sandboxes leave it out.
uint64_t peak_resident_bytes() {
  if (const uint64_t kib = status_kib("VmHWM:"); kib > 0) return kib * 1024;
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

uint64_t available_memory_bytes() {
  const uint64_t machine = file_kib("/proc/meminfo", "MemAvailable:") * 1024;
  const std::optional<uint64_t> limit = number_in("/sys/fs/cgroup/memory.max");
  const std::optional<uint64_t> used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return machine;
  return std::min(machine, *limit > *used ? *limit - *used : 0);
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
