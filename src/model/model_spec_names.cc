// Names of poolings and activations: ours, and those of transformers and torch.
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

template <class Value, size_t kCount>
std::optional<Value> value_of(const std::array<Named<Value>, kCount>& table, std::string_view name) {
  for (const Named<Value>& entry : table) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

template <class Value, size_t kCount>
std::string_view name_of(const std::array<Named<Value>, kCount>& table, Value value) {
  for (const Named<Value>& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

constexpr std::array<Named<Pooling>, 6> kPoolings = {{
    {"cls", Pooling::kCls},
    {"max", Pooling::kMax},
    {"mean", Pooling::kMean},
    {"mean_sqrt_len_tokens", Pooling::kMeanSqrtLen},
    {"weightedmean", Pooling::kWeightedMean},
    {"lasttoken", Pooling::kLastToken},
}};

// The first name of an activation is the one we show.
constexpr std::array<Named<Activation>, 14> kConfigActivations = {{
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"quick_gelu", Activation::kQuickGelu},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"tanh", Activation::kTanh},
    {"sigmoid", Activation::kSigmoid},
    {"linear", Activation::kIdentity},
}};

constexpr std::array<Named<Activation>, 6> kTorchActivations = {{
    {"Tanh", Activation::kTanh},
    {"Identity", Activation::kIdentity},
    {"ReLU", Activation::kRelu},
    {"GELU", Activation::kGelu},
    {"SiLU", Activation::kSilu},
    {"Sigmoid", Activation::kSigmoid},
}};

}  // namespace

std::string_view pooling_name(Pooling pooling) { return name_of(kPoolings, pooling); }
std::optional<Pooling> pooling_from_name(std::string_view name) { return value_of(kPoolings, name); }

std::string_view activation_name(Activation activation) {
  return activation == Activation::kIdentity ? "identity" : name_of(kConfigActivations, activation);
}
std::optional<Activation> activation_from_config(std::string_view name) { return value_of(kConfigActivations, name); }

std::optional<Activation> activation_from_torch(std::string_view dotted) {
  if (!dotted.starts_with("torch.nn.")) return std::nullopt;
  return value_of(kTorchActivations, dotted.substr(dotted.rfind('.') + 1));
}

std::string list_text(std::span<const std::string_view> names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace inlay
