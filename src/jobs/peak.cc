#include "jobs/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "kernels/kernels.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;
using PeakLoop = double (*)(int64_t iterations) noexcept;

constexpr double kRoundSeconds = 0.08;
constexpr int kRounds = 6;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

PeakLoop loop_of(Precision precision) {
  Format format = Format::kF32;
  if (precision == Precision::kBFloat16) format = Format::kBF16;
  if (precision == Precision::kInt8) format = Format::kI8;
  if (precision == Precision::kInt4) format = Format::kL4;
  const PeakLoop loop = kernels().peak[static_cast<int>(format)];
  return loop != nullptr ? loop : kernels().peak[static_cast<int>(Format::kF32)];
}

// Iterations that take about one round on one thread; this warms the core up as well.
int64_t calibrate(PeakLoop loop) {
  int64_t iterations = 1000;
  while (true) {
    const Clock::time_point begin = Clock::now();
    loop(iterations);
    const double seconds = seconds_since(begin);
    if (seconds > kRoundSeconds / 4)
      return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(iterations) * kRoundSeconds / seconds));
    iterations *= 2;
  }
}

double run_round(PeakLoop loop, int64_t iterations, int threads) {
  std::atomic<int> waiting = threads;
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<std::jthread> workers;
  for (double& rate : rates) {
    workers.emplace_back([&, loop, iterations] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();  // All start together, so that they share the machine as in real work.
      const Clock::time_point begin = Clock::now();
      const double operations = loop(iterations);
      rate = operations / seconds_since(begin);
    });
  }
  workers.clear();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace

double measure_peak(int threads, Precision precision) {
  const PeakLoop loop = loop_of(precision);
  const int64_t iterations = calibrate(loop);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) best = std::max(best, run_round(loop, iterations, threads));
  return best;
}

}  // namespace inlay
