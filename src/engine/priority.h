// Classes of work and the clock that deadlines are told by.
#pragma once

#include <chrono>
#include <cstdint>

namespace inlay {

using Clock = std::chrono::steady_clock;

// Classes of work, the most urgent first.
enum class Priority : uint8_t { kInteractive, kStandard, kBulk };
inline constexpr int kPriorities = 3;

}  // namespace inlay
