#include "memory_watch.h"

#include <atomic>
#include <cstddef>

// GCC has the functions, but not their header.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                              void (*on_free)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* memory);
}

namespace inlay {
namespace {

std::atomic<int64_t> live_bytes = 0;
std::atomic<int64_t> most_bytes = 0;

void on_malloc(const volatile void*, size_t size) {
  const int64_t level =
      live_bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed) + static_cast<int64_t>(size);
  int64_t seen = most_bytes.load(std::memory_order_relaxed);
  while (level > seen && !most_bytes.compare_exchange_weak(seen, level, std::memory_order_relaxed)) {
  }
}

void on_free(const volatile void* memory) {
  if (memory == nullptr) return;
  live_bytes.fetch_sub(static_cast<int64_t>(__sanitizer_get_allocated_size(memory)), std::memory_order_relaxed);
}

}  // namespace

int64_t begin_memory_watch() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  static_cast<void>(installed);
  const int64_t level = live_bytes.load(std::memory_order_relaxed);
  most_bytes.store(level, std::memory_order_relaxed);
  return level;
}

int64_t most_memory() { return most_bytes.load(std::memory_order_relaxed); }

}  // namespace inlay
