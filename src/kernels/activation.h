// Activations of the models we run, as config.json names them (hidden_act, activation_function).
#pragma once

#include <stdint.h>

namespace inlay {

// kGelu is the exact erf form; kGeluTanh the approximation that configs call gelu_new, gelu_pytorch_tanh or gelu_fast.
enum class Activation : uint8_t { kIdentity, kGelu, kGeluTanh, kQuickGelu, kRelu, kSilu, kTanh, kSigmoid };

}  // namespace inlay
