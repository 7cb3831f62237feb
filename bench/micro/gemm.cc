// Matrix products of every format at the shapes of encoders. Usage: bench_gemm [--benchmark_filter=i8/384]; INLAY_ISA chooses.
#include <fmt/format.h>

#include <memory>

#include "kernels/pack.h"
#include "micro/share.h"
#include "tensor/half.h"

namespace inlay {
namespace {

struct Product {
  Format format;
  int rows;
  int columns;
  int k;
  Activation activation;
};

constexpr int kGroup = 32;
constexpr const char* kFormatNames[] = {"f32", "bf16", "i8", "half_weights", "bf16_weights", "i4", "l4"};

void fill_activations(const PanelLayout& layout, const Product& p, int64_t count, Operand& a) {
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(i * 7919 % 255) / 128.0F - 1.0F;
    const int code = static_cast<int>(i * 7919 % 255) + layout.first_code;
    if (takes_codes(p.format) && layout.activation_bytes == 1) a.as<uint8_t>()[i] = static_cast<uint8_t>(code);
    if (takes_codes(p.format) && layout.activation_bytes == 2) a.as<int16_t>()[i] = static_cast<int16_t>(code);
    if (p.format == Format::kBF16) a.as<uint16_t>()[i] = float_to_bf16(value);
    if (!is_narrow(p.format)) a.as<float>()[i] = value;
  }
}

void run_product(benchmark::State& state, const Product& p) {
  const Kernels& table = kernels();
  const PanelLayout& layout = table.panel(p.format);
  const bool is_grouped = p.format == Format::kI4 || p.format == Format::kL4;
  const PackedShape shape =
      is_grouped ? grouped_shape(layout, p.columns, p.k, kGroup, false) : packed_shape(layout, p.columns, p.k);
  Operand a(static_cast<size_t>(p.rows) * shape.padded_k * layout.activation_bytes);
  Operand b(shape.bytes);
  Operand c(static_cast<size_t>(p.rows) * shape.padded_columns * 4);
  Operand rows(static_cast<size_t>(p.rows) * 4);
  Operand columns(static_cast<size_t>(shape.padded_columns) * 4);
  Operand groups(static_cast<size_t>(shape.padded_columns) * shape.groups * sizeof(uint16_t));
  fill_activations(layout, p, static_cast<int64_t>(p.rows) * shape.padded_k, a);
  GemmArgs g;
  g.a = a.as<char>();
  g.a_stride = static_cast<int64_t>(shape.padded_k) * layout.activation_bytes;
  g.b = b.as<char>();
  g.rows = p.rows;
  g.k = shape.padded_k;
  g.panel_end = shape.panels;
  g.bias = g.b_scale = g.b_sum = columns.as<float>();
  g.a_scale = g.a_min = rows.as<float>();
  g.group = shape.group;
  g.b_group_scale = groups.as<uint16_t>();
  g.b_factor = groups.as<int8_t>();
  g.activation = p.activation;
  g.c = c.as<float>();
  g.c_stride = shape.padded_columns;
  g.c_is_bf16 = p.format == Format::kBF16;
  PeakMeter meter(table, p.format);
  while (state.KeepRunning()) table.gemm[static_cast<int>(p.format)](g);
  meter.report(state, 2.0 * p.rows * p.columns * p.k);
}

void add(const Product& p) {
  if (!kernels().has(p.format)) return;
  const std::string name = fmt::format("{}/{}x{}{}/rows:{}", kFormatNames[static_cast<int>(p.format)], p.k, p.columns,
                                       p.activation == Activation::kGelu ? "+gelu" : "", p.rows);
  benchmark::RegisterBenchmark(name.c_str(), [p](benchmark::State& state) { run_product(state, p); });
}

// QKV, output, up and down of a layer, of MiniLM (384), BERT base (768) and BERT large (1024).
void add_all() {
  for (int format = 0; format < kFormats; ++format) {
    for (const int hidden : {384, 768, 1024}) {
      for (const int rows : {1, 12, 64, 256}) {
        add({static_cast<Format>(format), rows, 3 * hidden, hidden, Activation::kIdentity});
        add({static_cast<Format>(format), rows, hidden, hidden, Activation::kIdentity});
        add({static_cast<Format>(format), rows, 4 * hidden, hidden, Activation::kGelu});
        add({static_cast<Format>(format), rows, hidden, 4 * hidden, Activation::kIdentity});
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
