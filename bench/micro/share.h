// Operations per second as a share of what this core can do, both measured in one run.
#pragma once

#include <benchmark/benchmark.h>

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "kernels/kernels.h"

namespace inlay {

// Of this thread, so that other programs on the machine count less. Google Benchmark's rates are in CPU time too.
inline double cpu_seconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Operations per second of register-only multiply-adds of a format: the best of several short runs.
inline double measured_peak(const Kernels& table, Format format) {
  double best = 0;
  for (int run = 0; run < 20; ++run) {
    const double begin = cpu_seconds();
    const double operations = table.peak[static_cast<int>(format)](400000);
    best = std::max(best, operations / (cpu_seconds() - begin));
  }
  return best;
}

// A machine that others use too changes its speed within seconds. So the peak is measured around every repetition, in
// between, and shares are of the time that the work would have taken at that peak.
class PeakMeter {
 public:
  PeakMeter(const Kernels& table, Format format) : table_(table), format_(format), peak_(measured_peak(table, format)) {}
  // To be called after the loop.
  void report(benchmark::State& state, double operations_per_iteration) {
    const double peak = std::max(peak_, measured_peak(table_, format_));
    const double operations = operations_per_iteration * static_cast<double>(state.iterations());
    state.counters["GFLOP/s"] = benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsRate);
    state.counters["of_peak"] = benchmark::Counter(operations / peak, benchmark::Counter::kIsRate);
  }

 private:
  const Kernels& table_;
  Format format_;
  double peak_;
};

// 64-byte aligned memory for operands, filled with small numbers.
class Operand {
 public:
  explicit Operand(size_t bytes) : data_(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), std::free) {
    for (size_t i = 0; i < (bytes + 63) / 64 * 64; ++i) data_.get()[i] = 0;
  }
  template <class Element>
  Element* as() {
    return reinterpret_cast<Element*>(data_.get());
  }

 private:
  std::unique_ptr<char, void (*)(void*)> data_;
};

}  // namespace inlay
