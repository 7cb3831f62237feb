// Attention over one sequence, all heads. Usage: bench_attention [--benchmark_filter=bf16/heads:12x32]; INLAY_ISA chooses.
#include <fmt/format.h>

#include <memory>

#include "micro/share.h"
#include "tensor/half.h"

namespace inlay {
namespace {

// How attention is computed: its entry of the table, the format of its input and that of the peak it is compared with.
struct Kind {
  const char* name;
  void (*run)(const AttentionArgs&) noexcept;
  size_t (*scratch_bytes)(int length, int head_dim) noexcept;
  bool is_bf16;
  Format products;
};

struct Heads {
  int heads;
  int head_dim;
  int length;
};

void run_attention(benchmark::State& state, const Kind& kind, const Heads& h) {
  const int64_t width = int64_t{h.heads} * h.head_dim;
  const size_t element = kind.is_bf16 ? 2 : 4;
  // Rows hold q, k and v side by side, as the product that makes them leaves them.
  Operand qkv(static_cast<size_t>(h.length) * 3 * width * element);
  Operand out(static_cast<size_t>(h.length) * width * 4);
  Operand scratch(kind.scratch_bytes(h.length, h.head_dim));
  for (int64_t i = 0; i < h.length * 3 * width; ++i) {
    const float value = static_cast<float>(i * 7919 % 255) / 64.0F - 2.0F;
    if (kind.is_bf16) {
      qkv.as<uint16_t>()[i] = float_to_bf16(value);
    } else {
      qkv.as<float>()[i] = value;
    }
  }
  PeakMeter meter(kernels(), kind.products);
  while (state.KeepRunning()) {
    for (int head = 0; head < h.heads; ++head) {
      AttentionArgs a;
      const char* q = qkv.as<char>() + head * h.head_dim * element;
      a.q = q;
      a.k = q + width * element;
      a.v = q + 2 * width * element;
      a.stride = 3 * width;
      a.out = out.as<char>() + head * h.head_dim * element;
      a.out_stride = width;
      a.out_is_bf16 = kind.products == Format::kBF16;
      a.length = h.length;
      a.head_dim = h.head_dim;
      a.scale = 0.1F;
      a.query_end = h.length;
      a.scratch = scratch.as<char>();
      kind.run(a);
    }
  }
  meter.report(state, 4.0 * h.length * h.length * static_cast<double>(width));
}

void add_all() {
  const Kernels& table = kernels();
  const Kind kinds[] = {{"f32", table.attention_f32, table.attention_f32_bytes, false, Format::kF32},
                        {"bf16", table.attention_bf16, table.attention_bf16_bytes, true, Format::kBF16},
                        {"codes", table.attention_codes, table.attention_codes_bytes, true, Format::kI8}};
  for (const Kind& kind : kinds) {
    if (kind.run == nullptr) continue;
    for (const int head_dim : {32, 64}) {
      for (const int length : {16, 32, 64, 88, 128, 256, 512}) {
        const Heads heads{12, head_dim, length};
        const std::string name = fmt::format("{}/heads:12x{}/length:{}", kind.name, head_dim, length);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run_attention(state, kind, heads); });
      }
    }
  }
}

}  // namespace
}  // namespace inlay

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  inlay::add_all();
  benchmark::AddCustomContext("isa", inlay::kernels().name);
  benchmark::RunSpecifiedBenchmarks();
}
