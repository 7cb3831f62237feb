#include "tensor/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/check.h"

namespace inlay {

// Anonymous maps come zeroed and page-aligned, go back to the system whole when freed, and cost nothing until touched.
Buffer::Buffer(size_t size) : size_(size) {
  if (size == 0) return;
  constexpr size_t kHugePage = size_t{2} << 20;
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  if (size >= kHugePage) ::madvise(data, size, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(data);
}

Buffer::~Buffer() {
  if (data_ != nullptr) INLAY_CHECK(::munmap(data_, size_) == 0, "a mapped buffer can be unmapped");
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
