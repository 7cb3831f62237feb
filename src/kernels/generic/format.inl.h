// Enters one matrix product into a table. Included after a vec.h.
#pragma once

#include "kernels/generic/gemm.inl.h"
#include "kernels/generic/peak.inl.h"
#include "kernels/generic/rows.inl.h"

namespace inlay {
namespace {

template <class T>
void set_format(Kernels& table, Format format, void (*gemm)(const GemmArgs&) noexcept, int element_bytes,
                int activation_bytes) {
  const int index = static_cast<int>(format);
  table.layout[index] = {kPanelColumns, T::kStep, element_bytes, activation_bytes};
  table.gemm[index] = gemm;
  table.peak[index] = peak<T>;
}

// The conversion to codes goes with the int8 product that reads them. Codes of int8_t are shifted to begin at -128.
template <class T, class Code>
void set_int8(Kernels& table) {
  constexpr int kFirst = sizeof(Code) == 1 && static_cast<Code>(-1) < 0 ? -128 : 0;
  set_format<T>(table, Format::kI8, gemm<T, IntResult, Precision::kCodes>, 1, sizeof(Code));
  table.layout[static_cast<int>(Format::kI8)].first_code = kFirst;
  table.to_codes = to_codes<Code, kFirst>;
}

}  // namespace
}  // namespace inlay
