// Elementwise functions on vectors. Included after a vec.h.
#pragma once

#include <stdint.h>

#include "kernels/activation.h"

namespace inlay {
namespace {

constexpr float kLog2E = 1.44269504F;

// Horner's rule, coefficients from the lowest power up.
template <int kCount>
inline V polynomial(V x, const float (&coefficient)[kCount]) {
  V sum = vset(coefficient[kCount - 1]);
#pragma GCC unroll 16
  for (int i = kCount - 2; i >= 0; --i) sum = vfma(sum, x, vset(coefficient[i]));
  return sum;
}

// 2^x by a polynomial for 2^fraction on [-0.5, 0.5] and by the exponent for the rest. 0 and infinity at the far ends.
template <int kCount>
inline V exp2_by(V x, const float (&coefficient)[kCount]) {
  const V bounded = vbound_exponent(x);
  const V whole = vround(bounded);
  return vscale(polynomial(vsub(bounded, whole), coefficient), whole);
}

// 2^x, relative error below 1e-7: 2^n by the exponent, 2^fraction by a minimax polynomial on [-0.5, 0.5].
inline V vexp2(V x) {
  static constexpr float kPolynomial[] = {1.000000119F,   0.693146944F,    0.2402212024F,
                                          0.05550713465F, 0.009675541893F, 0.001327646663F};
  return exp2_by(x, kPolynomial);
}

// Same with relative error 2.6e-6, for results that are kept in 8 bits of mantissa.
inline V vexp2_coarse(V x) {
  static constexpr float kPolynomial[] = {0.9999992847F, 0.6931217909F, 0.2402474433F, 0.0559178628F, 0.009570096619F};
  return exp2_by(x, kPolynomial);
}

inline V vexp(V x) { return vexp2(vmul(x, vset(kLog2E))); }

inline V vsigmoid(V x) {
  // exp of a large negative x is 0 and of a large positive one infinite; both limits come out right.
  return vdiv(vset(1.0F), vadd(vset(1.0F), vexp(vsub(vzero(), x))));
}

inline V vtanh(V x) {
  // 2 sigmoid(2x) - 1 loses relative precision near 0, absolute error stays below 1e-7, which is what activations need.
  return vfma(vset(2.0F), vsigmoid(vadd(x, x)), vset(-1.0F));
}

// x * P(x <= X) - the Gaussian distribution function - as x * (0.5 + t * P(u)), t = x clamped to [-limit, limit], u = 2 t^2 /
// limit^2 - 1. P is the minimax polynomial for the absolute error of the product, found by reweighted least squares
// (tools/fit_polynomials.py).
template <int kCount>
inline V gelu_by(V x, float limit, const float (&coefficient)[kCount]) {
  // The factor x is bounded from below too: a far negative x times the rounding error of P would not be small.
  const V above = vmax(vset(-limit), x);
  const V t = vmin(vset(limit), above);
  const V u = vfma(vmul(t, t), vset(2.0F / (limit * limit)), vset(-1.0F));
  return vmul(above, vfma(t, polynomial(u, coefficient), vset(0.5F)));
}

// Exact (erf) GELU: absolute error below 3e-7 + 2e-7 |x|.
inline V vgelu(V x) {
  static constexpr float kPolynomial[] = {0.1333925724F,   -0.06651824713F,  0.0492634587F,   -0.03959814832F,
                                          0.03209594637F,  -0.0252079647F,   0.01879154891F,  -0.01355761383F,
                                          0.009327893145F, -0.005116153508F, 0.002211485058F, -0.001780469902F,
                                          0.001556925359F, -0.0005216248683F};
  return gelu_by(x, 5.3F, kPolynomial);
}

// The same with absolute error below 4e-5 + 1e-6 |x|, for results that are rounded to 8 bits right after.
inline V vgelu_coarse(V x) {
  static constexpr float kPolynomial[] = {0.1569021195F,   -0.07717196643F, 0.05481857434F,   -0.04055572301F, 0.02762933634F,
                                          -0.01674416848F, 0.01220868435F,  -0.009328443557F, 0.003353577107F};
  return gelu_by(x, 4.5F, kPolynomial);
}

inline V vgelu_tanh(V x) {
  const V inner = vmul(vset(0.7978845608F), vfma(vmul(vmul(x, x), x), vset(0.044715F), x));
  // 0.5 x (1 + tanh(z)) = x sigmoid(2z).
  return vmul(x, vsigmoid(vadd(inner, inner)));
}

// x * sigmoid(z): an infinite x with a sigmoid of 0 must give 0, not NaN; finite x never does, and x is finite or already an
// error.
template <Activation kActivation, bool kCoarse>
inline V vactivate(V x) {
  if constexpr (kActivation == Activation::kGelu) return kCoarse ? vgelu_coarse(x) : vgelu(x);
  if constexpr (kActivation == Activation::kGeluTanh) return vgelu_tanh(x);
  if constexpr (kActivation == Activation::kQuickGelu) return vmul(x, vsigmoid(vmul(x, vset(1.702F))));
  if constexpr (kActivation == Activation::kRelu) return vmax(vzero(), x);
  if constexpr (kActivation == Activation::kSilu) return vmul(x, vsigmoid(x));
  if constexpr (kActivation == Activation::kTanh) return vtanh(x);
  if constexpr (kActivation == Activation::kSigmoid) return vsigmoid(x);
  return x;
}

// Calls body.template operator()<activation>() for the activation that is known at run time only.
template <class Body>
inline void with_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::kIdentity: return body.template operator()<Activation::kIdentity>();
    case Activation::kGelu: return body.template operator()<Activation::kGelu>();
    case Activation::kGeluTanh: return body.template operator()<Activation::kGeluTanh>();
    case Activation::kQuickGelu: return body.template operator()<Activation::kQuickGelu>();
    case Activation::kRelu: return body.template operator()<Activation::kRelu>();
    case Activation::kSilu: return body.template operator()<Activation::kSilu>();
    case Activation::kTanh: return body.template operator()<Activation::kTanh>();
    case Activation::kSigmoid: return body.template operator()<Activation::kSigmoid>();
  }
}

}  // namespace
}  // namespace inlay
