// What this processor offers and how much of it we may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace inlay {

// Bits of cpu_features().
enum CpuFeature : uint64_t {
  kCpuAvx2 = 1U << 0,  // with FMA and F16C
  kCpuAvxVnni = 1U << 1,
  kCpuAvx512 = 1U << 2,  // F, BW, DQ, VL, CD
  kCpuAvx512Vnni = 1U << 3,
  kCpuAvx512Bf16 = 1U << 4,
  kCpuNeon = 1U << 5,
  kCpuNeonDot = 1U << 6,
  kCpuNeonI8mm = 1U << 7,
  kCpuAmx = 1U << 8,  // tiles of bf16 and of int8
};

// Features that both the processor and the operating system support.
uint64_t cpu_features();

// "AMD EPYC ..." ; empty if unknown.
std::string cpu_name();
bool cpu_is_amd();

// Threads that may run at once: the smaller of the CPU affinity and the quota of the cgroup (v2 cpu.max or v1 cfs quota, the
// tightest of the nested groups), rounded down, at least 1. Not the number of cores of the host.
int granted_threads();

// The same from given places, for tests: `proc_cgroup` as /proc/self/cgroup, `root` as /sys/fs/cgroup.
// Infinity if nothing limits.
double cgroup_cpu_limit(const std::filesystem::path& proc_cgroup, const std::filesystem::path& root);
int threads_within(int affinity, double limit);

}  // namespace inlay
