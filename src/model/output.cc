#include "model/output.h"

#include <array>

namespace inlay {
namespace {

constexpr std::array<std::string_view, kOutputKinds> kNames = {"vector", "scores", "sparse", "tokens"};

}  // namespace

std::string_view output_name(OutputKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<OutputKind> output_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<OutputKind>(i);
  }
  return std::nullopt;
}

std::string output_names(OutputSet set) {
  std::string text;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (!set.has(static_cast<OutputKind>(i))) continue;
    if (!text.empty()) text += ", ";
    text += kNames[i];
  }
  return text;
}

}  // namespace inlay
