#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace inlay {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr uint64_t kSmallFile = 1 << 16;

// The two numbers of "max 100000" or "150000 100000"; `max`, -1 and nonsense mean no limit.
double quota_ratio(std::string_view quota, std::string_view period) {
  double allowed = 0;
  double every = 0;
  const bool is_number = std::from_chars(quota.data(), quota.data() + quota.size(), allowed).ec == std::errc() &&
                         std::from_chars(period.data(), period.data() + period.size(), every).ec == std::errc();
  return is_number && allowed > 0 && every > 0 ? allowed / every : kUnlimited;
}

double limit_of_group(const std::filesystem::path& group) {
  if (const Result<std::string> text = read_file(group / "cpu.max", kSmallFile)) {
    const std::vector<std::string_view> words = split_words(*text);
    if (words.size() == 2) return quota_ratio(words[0], words[1]);
  }
  const Result<std::string> quota = read_file(group / "cpu.cfs_quota_us", kSmallFile);
  const Result<std::string> period = read_file(group / "cpu.cfs_period_us", kSmallFile);
  if (!quota || !period) return kUnlimited;
  return quota_ratio(trim(*quota), trim(*period));
}

// A limit holds for all groups below it, so the tightest on the way to the root counts.
double tightest_limit(const std::filesystem::path& root, std::string_view group) {
  double limit = limit_of_group(root);
  std::filesystem::path path = root;
  for (const std::filesystem::path& part : std::filesystem::path(group).relative_path()) {
    if (part == "..") return limit;
    path /= part;
    limit = std::min(limit, limit_of_group(path));
  }
  return limit;
}

}  // namespace

double cgroup_cpu_limit(const std::filesystem::path& proc_cgroup, const std::filesystem::path& root) {
  const Result<std::string> text = read_file(proc_cgroup, kSmallFile);
  if (!text) return limit_of_group(root);
  double limit = kUnlimited;
  for (const std::string_view line : split(*text, '\n')) {
    // "0::/group" is version 2; "4:cpu,cpuacct:/group" is version 1, mounted under the name of its controllers.
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() < 3) continue;
    const std::string_view controllers = fields[1];
    // The name of a group may hold colons.
    const std::string_view group = line.substr(fields[0].size() + controllers.size() + 2);
    if (controllers.empty()) limit = std::min(limit, tightest_limit(root, group));
    const std::vector<std::string_view> names = split(controllers, ',');
    if (std::find(names.begin(), names.end(), "cpu") == names.end()) continue;
    limit = std::min(limit, tightest_limit(root / controllers, group));
    limit = std::min(limit, tightest_limit(root / "cpu", group));
  }
  return limit;
}

int granted_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int affinity = ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const double limit = cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup");
  return threads_within(affinity, limit);
}

int threads_within(int affinity, double limit) {
  return std::max(1, static_cast<int>(std::floor(std::min(static_cast<double>(affinity), limit))));
}

#if defined(__x86_64__)

namespace {

struct CpuidLeaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidLeaf cpuid(unsigned leaf, unsigned subleaf = 0) {
  CpuidLeaf regs;
  __get_cpuid_count(leaf, subleaf, &regs.eax, &regs.ebx, &regs.ecx, &regs.edx);
  return regs;
}

bool bit(unsigned word, int index) { return ((word >> index) & 1U) != 0; }

// XCR0: which register files the operating system saves. Without this a feature bit is no permission.
uint64_t saved_registers(const CpuidLeaf& basic) {
  if (!bit(basic.ecx, 27)) return 0;
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

std::string vendor() {
  const CpuidLeaf regs = cpuid(0);
  std::string text;
  for (const unsigned word : {regs.ebx, regs.edx, regs.ecx}) text.append(reinterpret_cast<const char*>(&word), 4);
  return text;
}

}  // namespace

uint64_t cpu_features() {
  const CpuidLeaf basic = cpuid(1);
  const CpuidLeaf seven = cpuid(7);
  const CpuidLeaf seven1 = cpuid(7, 1);
  const uint64_t saved = saved_registers(basic);
  uint64_t features = 0;
  const bool fma_f16c = bit(basic.ecx, 12) && bit(basic.ecx, 29);
  if ((saved & 0x6) == 0x6 && bit(seven.ebx, 5) && fma_f16c) features |= kCpuAvx2;
  if ((features & kCpuAvx2) != 0 && bit(seven1.eax, 4)) features |= kCpuAvxVnni;
  const bool f_dq_cd_bw_vl =
      bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 28) && bit(seven.ebx, 30) && bit(seven.ebx, 31);
  if ((features & kCpuAvx2) == 0 || (saved & 0xe6) != 0xe6 || !f_dq_cd_bw_vl) return features;
  features |= kCpuAvx512;
  if (bit(seven.ecx, 11)) features |= kCpuAvx512Vnni;
  if (bit(seven1.eax, 5)) features |= kCpuAvx512Bf16;
  const bool amx_tile_int8_bf16 = bit(seven.edx, 24) && bit(seven.edx, 25) && bit(seven.edx, 22);
  if ((saved & 0x60000) == 0x60000 && amx_tile_int8_bf16) features |= kCpuAmx;
  return features;
}

std::string cpu_name() {
  if (cpuid(0x80000000U).eax < 0x80000004U) return "";
  std::string name;
  for (const unsigned leaf : {0x80000002U, 0x80000003U, 0x80000004U}) {
    const CpuidLeaf regs = cpuid(leaf);
    for (const unsigned word : {regs.eax, regs.ebx, regs.ecx, regs.edx}) name.append(reinterpret_cast<const char*>(&word), 4);
  }
  return std::string(trim(name.substr(0, name.find('\0'))));
}

bool cpu_is_amd() { return vendor() == "AuthenticAMD"; }

#else

uint64_t cpu_features() {
  uint64_t features = 0;
#if defined(__aarch64__)
  features |= kCpuNeon;
  if ((::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) features |= kCpuNeonDot;
  if ((::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0) features |= kCpuNeonI8mm;
#endif
  return features;
}

std::string cpu_name() { return ""; }
bool cpu_is_amd() { return false; }

#endif

}  // namespace inlay
