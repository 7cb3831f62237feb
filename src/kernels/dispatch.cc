// Builds the tables, from the plainest up, and picks one. Compiled without instruction-set flags.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "kernels/kernels.h"

namespace inlay {

void fill_scalar(Kernels& table);
#if defined(__x86_64__)
void fill_avx2(Kernels& table);
void fill_avx_vnni(Kernels& table);
void fill_avx512(Kernels& table);
void fill_avx512_vnni(Kernels& table);
void fill_avx512_bf16(Kernels& table);
#if defined(INLAY_ONEDNN)
void fill_onednn(Kernels& table);
#endif
#elif defined(__aarch64__)
void fill_neon(Kernels& table);
void fill_neon_dot(Kernels& table);
void fill_neon_i8mm(Kernels& table);
#endif

namespace {

struct Step {
  const char* name;
  uint64_t needs;
  void (*fill)(Kernels&);
  const char* base;  // the table whose entries are kept where this one has none; null: none
  // On CPUs without these it runs only when asked for by name.
  uint64_t chosen_with = 0;
};

// In order of preference, the best last. A new instruction set is a folder and a line here.
constexpr Step kSteps[] = {
    {"scalar", 0, fill_scalar, nullptr},
#if defined(__x86_64__)
    {"avx2", kCpuAvx2, fill_avx2, nullptr},
    {"avx_vnni", kCpuAvx2 | kCpuAvxVnni, fill_avx_vnni, "avx2"},
    {"avx512", kCpuAvx512, fill_avx512, nullptr},
    {"avx512_vnni", kCpuAvx512 | kCpuAvx512Vnni, fill_avx512_vnni, "avx512"},
    {"avx512_bf16", kCpuAvx512 | kCpuAvx512Vnni | kCpuAvx512Bf16, fill_avx512_bf16, "avx512_vnni"},
#if defined(INLAY_ONEDNN)
    {"onednn", kCpuAvx512 | kCpuAvx512Vnni | kCpuAvx512Bf16, fill_onednn, "avx512_bf16", kCpuAmx},
#endif
#elif defined(__aarch64__)
    {"neon", kCpuNeon, fill_neon, nullptr},
    {"neon_dot", kCpuNeon | kCpuNeonDot, fill_neon_dot, "neon"},
    {"neon_i8mm", kCpuNeon | kCpuNeonI8mm, fill_neon_i8mm, "neon"},
#endif
};

struct Tables {
  std::vector<Kernels> storage;
  std::vector<const Kernels*> pointers;
  const Kernels* best = nullptr;

  Tables() {
    const uint64_t features = cpu_features();
    storage.reserve(std::size(kSteps));  // so that pointers stay
    for (const Step& step : kSteps) {
      if ((step.needs & features) != step.needs) continue;
      Kernels table;
      for (const Kernels& other : storage) {
        if (step.base != nullptr && std::string_view(other.name) == step.base) table = other;
      }
      table.name = step.name;
      table.needs = step.needs;
      step.fill(table);
      storage.push_back(table);
      pointers.push_back(&storage.back());
      if ((step.chosen_with & features) == step.chosen_with) best = &storage.back();
    }
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

const Kernels& choose() {
  const char* forced = std::getenv("INLAY_ISA");
  if (forced == nullptr || *forced == '\0') return *tables().best;
  for (const Kernels* table : tables().pointers) {
    if (std::string_view(table->name) == forced) return *table;
  }
  std::fprintf(stderr, "INLAY_ISA is '%s', but this CPU runs:", forced);
  for (const Kernels* table : tables().pointers) std::fprintf(stderr, " %s", table->name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

KernelTables available_kernels() { return {tables().pointers.data(), tables().pointers.size()}; }

bool bf16_is_fast(const Kernels& table) {
  return (table.needs & kCpuAvx512Bf16) != 0 && (cpu_is_amd() || std::string_view(table.name) == "onednn");
}

}  // namespace inlay
