// What tests of the scheduler share.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "engine/scheduler.h"

namespace inlay {

// The result of `request` later; the scheduler must take it.
inline std::future<WorkResult> send(Scheduler& scheduler, WorkRequest request) {
  std::shared_ptr<std::promise<WorkResult>> promise = std::make_shared<std::promise<WorkResult>>();
  std::future<WorkResult> future = promise->get_future();
  const std::optional<Overload> overload =
      scheduler.submit(std::move(request), [promise](WorkResult result) { promise->set_value(std::move(result)); });
  EXPECT_FALSE(overload) << overload->reason;
  return future;
}

}  // namespace inlay
