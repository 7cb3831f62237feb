// Counts what this test program allocates, so that tests can say that a hostile file made it allocate little.
#include <atomic>
#include <cstdlib>
#include <new>

#include "weights/test_mutations.h"

namespace inlay {
namespace {

std::atomic<uint64_t> given_out = 0;

void* give(size_t size) {
  given_out += size;
  void* memory = std::malloc(size == 0 ? 1 : size);
  INLAY_CHECK(memory != nullptr, "tests need little memory");
  return memory;
}

}  // namespace

uint64_t allocated_bytes() { return given_out; }

}  // namespace inlay

void* operator new(size_t size) { return inlay::give(size); }
void* operator new[](size_t size) { return inlay::give(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return inlay::give(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return inlay::give(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
