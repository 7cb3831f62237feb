#include "base/own_cores.h"

namespace inlay {

OwnCores::Hold::Hold(OwnCores& cores) : cores_(cores) {
  if (::sched_getaffinity(0, sizeof(allowed_), &allowed_) == 0) core_ = cores_.take(allowed_);
}

OwnCores::Hold::~Hold() {
  if (core_ < 0) return;
  (void)::sched_setaffinity(0, sizeof(allowed_), &allowed_);
  const std::lock_guard<std::mutex> lock(cores_.mutex_);
  CPU_CLR(core_, &cores_.taken_);
}

int OwnCores::take(const cpu_set_t& allowed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_free = [&](int core) { return CPU_ISSET(core, &allowed) && !CPU_ISSET(core, &taken_); };
  int core = ::sched_getcpu();
  if (core < 0 || !is_free(core)) {
    core = 0;
    while (core < CPU_SETSIZE && !is_free(core)) ++core;
    if (core == CPU_SETSIZE) return -1;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (::sched_setaffinity(0, sizeof(one), &one) != 0) return -1;
  CPU_SET(core, &taken_);
  return core;
}

}  // namespace inlay
