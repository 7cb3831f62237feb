#include "base/own_cores.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <thread>

namespace inlay {
namespace {

std::set<int> usable_cores() {
  cpu_set_t allowed;
  EXPECT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::set<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.insert(core);
  }
  return cores;
}

// Runs `step` on a thread of its own.
template <class Step>
void apart(const Step& step) {
  std::thread(step).join();
}

TEST(OwnCores, EveryThreadHasOneAndThoseBeyondHaveNone) {
  const std::set<int> before = usable_cores();
  OwnCores cores;
  std::set<int> held;
  std::optional<OwnCores::Hold> outer(std::in_place, cores);
  held.merge(usable_cores());
  ASSERT_EQ(held.size(), 1U);
  const std::function<void()> hold_more = [&] {
    // A new thread inherits the one core of its parent.
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const int core : before) CPU_SET(core, &all);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(all), &all), 0);
    const OwnCores::Hold hold(cores);
    const std::set<int> mine = usable_cores();
    if (held.size() == before.size()) {  // one thread more than cores
      EXPECT_EQ(mine, before);
      return;
    }
    ASSERT_EQ(mine.size(), 1U);
    EXPECT_EQ(*mine.begin(), ::sched_getcpu());
    EXPECT_TRUE(held.insert(*mine.begin()).second);
    apart(hold_more);
  };
  apart(hold_more);
  EXPECT_EQ(held, before);
  outer.reset();
  EXPECT_EQ(usable_cores(), before);
}

TEST(OwnCores, ACoreIsFreeAgainAfterwards) {
  OwnCores cores;
  const size_t more_than_cores = usable_cores().size() + 1;
  for (size_t i = 0; i < more_than_cores; ++i) {
    const OwnCores::Hold hold(cores);
    EXPECT_EQ(usable_cores().size(), 1U);
  }
}

}  // namespace
}  // namespace inlay
