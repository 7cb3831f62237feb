// Checks for what only a bug of ours can cause. What input can cause is an Error instead.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace inlay {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, condition, why);
  std::abort();
}

}  // namespace inlay

#define INLAY_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::inlay::check_failed(__FILE__, __LINE__, #condition, why))

#ifdef NDEBUG
#define INLAY_DCHECK(condition, why) static_cast<void>(0)
#else
#define INLAY_DCHECK(condition, why) INLAY_CHECK(condition, why)
#endif
