#include "model/coded_source.h"

#include <algorithm>

namespace inlay {
namespace {

const LinearRows& part_of(const std::vector<LinearRows>& parts, int column) {
  size_t i = 0;
  while (column >= parts[i].end) ++i;
  return parts[i];
}

bool all_are(const std::vector<LinearRows>& parts, CodedMatrix::Kind kind) {
  return std::all_of(parts.begin(), parts.end(), [kind](const LinearRows& part) {
    return part.weights->coded != nullptr && part.weights->coded->kind() == kind;
  });
}

bool have_one_group(const std::vector<LinearRows>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&parts](const LinearRows& part) {
    return part.weights->coded->group() == parts.front().weights->coded->group();
  });
}

bool can_be_levels(const std::vector<LinearRows>& parts) {
  return all_are(parts, CodedMatrix::Kind::kLevels) && have_one_group(parts) &&
         parts.front().weights->coded->group() % kGroupStep == 0;
}

bool can_be_groups(const std::vector<LinearRows>& parts) {
  return all_are(parts, CodedMatrix::Kind::kGroups) && have_one_group(parts) &&
         parts.front().weights->coded->group() % kGroupStep == 0;
}

// A layer that shares its product with one that has zeros has them, too.
void add_zeros(GroupedRow& row) {
  if (row.zeros.empty()) row.zeros.assign(row.scales.size(), kMiddleCode);
}

}  // namespace

Format format_for(const LoadPlan& plan, const std::vector<LinearRows>& parts) {
  const Format format = plan.compute.format;
  if (!plan.keeps_floats || !takes_codes(format)) return format;
  if (all_are(parts, CodedMatrix::Kind::kBytes) || can_be_levels(parts) || can_be_groups(parts)) return format;
  // 16 bits hold what was left in 16 bits, and more than 4-bit codes in groups that no kernel takes.
  const DType dtype = parts.front().weights->dtype;
  const bool is_coded = parts.front().weights->coded != nullptr;
  if (is_coded || dtype == DType::kF16) return Format::kHalfWeights;
  return dtype == DType::kBF16 ? Format::kBF16Weights : Format::kF32;
}

Format format_of_recipe(const LoadPlan& plan, const std::vector<const TensorView*>& tensors) {
  if (!plan.keeps_floats || !takes_codes(plan.compute.format)) return plan.compute.format;
  const auto is_coded = [](const TensorView* tensor) { return tensor != nullptr && tensor->coded != nullptr; };
  const bool all_coded = !tensors.empty() && std::all_of(tensors.begin(), tensors.end(), is_coded);
  if (!all_coded) return Format::kF32;
  // What is added to codes of 4 bits would be lost in rounding the sum to 4 bits again.
  return plan.compute.format == Format::kI4 ? Format::kHalfWeights : Format::kI8;
}

LinearSource linear_source(const std::vector<LinearRows>& parts, int k, Format format) {
  LinearSource source;
  source.row = [parts, k](int column, std::span<float> out) {
    const LinearRows& part = part_of(parts, column);
    return to_float(*part.weights, int64_t{column - part.begin} * k, out);
  };
  if (format == Format::kI8 && (all_are(parts, CodedMatrix::Kind::kBytes) || all_are(parts, CodedMatrix::Kind::kLevels))) {
    source.codes = [parts](int column, std::span<int8_t> out) -> Result<float> {
      const LinearRows& part = part_of(parts, column);
      return part.weights->coded->read_codes(column - part.begin, out);
    };
  }
  if (format == Format::kL4 && can_be_levels(parts)) {
    source.group = parts.front().weights->coded->group();
    source.levels = [parts](int column, LevelRow& out) -> Result<> {
      const LinearRows& part = part_of(parts, column);
      part.weights->coded->read_levels(column - part.begin, out);
      return {};
    };
  }
  if (format == Format::kI4 && can_be_groups(parts)) {
    source.group = parts.front().weights->coded->group();
    source.has_zeros =
        std::any_of(parts.begin(), parts.end(), [](const LinearRows& part) { return part.weights->coded->has_zeros(); });
    source.groups = [parts, has_zeros = source.has_zeros](int column, GroupedRow& out) -> Result<> {
      const LinearRows& part = part_of(parts, column);
      part.weights->coded->read_groups(column - part.begin, out);
      if (has_zeros) add_zeros(out);
      return {};
    };
  }
  return source;
}

}  // namespace inlay
