#include "tensor/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "base/check.h"

namespace inlay {

namespace {

std::byte* map(size_t size) {
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(data);
}

void unmap(std::byte* data, size_t size) {
  if (size > 0) INLAY_CHECK(::munmap(data, size) == 0, "mapped memory can be unmapped");
}

// Maps more than is asked for and gives back what lies before and after the aligned part.
std::byte* map_huge(size_t size) {
  const size_t whole = size + Buffer::kHugePage;
  std::byte* data = map(whole);
  const size_t before = round_up(reinterpret_cast<uintptr_t>(data), Buffer::kHugePage) - reinterpret_cast<uintptr_t>(data);
  const size_t kept = round_up(size, static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
  unmap(data, before);
  unmap(data + before + kept, whole - before - kept);
  ::madvise(data + before, size, MADV_HUGEPAGE);
  return data + before;
}

}  // namespace

// Anonymous maps come zeroed and page-aligned, go back to the system whole when freed, and cost nothing until touched.
Buffer::Buffer(size_t size) : size_(size) {
  if (size == 0) return;
  data_ = size >= kHugePage ? map_huge(size) : map(size);
}

Buffer::~Buffer() {
  if (data_ != nullptr) unmap(data_, size_);
}

size_t Buffer::touched_bytes() const {
  if (size_ == 0) return 0;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(round_up(size_, page) / page);
  if (::mincore(data_, size_, resident.data()) != 0) return size_;
  size_t sum = 0;
  for (const unsigned char flags : resident) sum += (flags & 1U) * page;
  return std::min(sum, size_);
}

}  // namespace inlay
