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
  // bounded - whole, on the units that multiply: those that add are busier.
  return vscale(polynomial(vfma(whole, vset(-1.0F), bounded), coefficient), whole);
}

// Relative error below 2.2e-7.
inline V vexp2(V x) {
  static constexpr float kPolynomial[] = {1.000000119F,   0.693146944F,    0.2402212024F,
                                          0.05550713465F, 0.009675541893F, 0.001327646663F};
  return exp2_by(x, kPolynomial);
}

// Relative error below 8e-5, for results that are rounded to bf16, whose own error is 2e-3.
inline V vexp2_bf16(V x) {
  static constexpr float kPolynomial[] = {0.9999280572F, 0.6932609677F, 0.24261114F, 0.05517162755F};
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

// x * P(X <= x), P being the Gaussian distribution function, as x * (0.5 + t * Q(t)): t = x within [-limit, limit], and Q an
// even polynomial. Q is minimax for the absolute error of the product, with 0.5 + limit * Q(limit) = 1, so that a large x comes
// out as it is (tools/fit_polynomials.py).
template <class Q>
inline V gelu_by(V x, float limit, const Q& q) {
  // The factor x is bounded from below too: a far negative x times the rounding error of Q would not be small.
  const V above = vmax(vset(-limit), x);
  const V t = vmin(vset(limit), above);
  return vmul(above, vfma(t, q(vmul(t, t)), vset(0.5F)));
}

// How a result is kept right after, and so how exact an activation need be.
enum class Precision { kFloat, kBF16, kCodes };

// Exact (erf) GELU: absolute error below 3e-7 + 2e-7 |x|.
inline V vgelu(V x) {
  static constexpr float kPolynomial[] = {
      0.1309281141F,   -0.0653276667F, 0.0484987013F,    -0.03922040761F, 0.03213804588F,   -0.02561344206F, 0.01946605928F,
      -0.01451052725F, 0.01032708399F, -0.005638177041F, 0.002397193108F, -0.002190778265F, 0.00201061531F,  -0.0006722253747F};
  // In u = 2 t^2 / limit^2 - 1: in t^2 itself so high a degree would lose its digits.
  constexpr float kLimit = 5.4F;
  return gelu_by(x, kLimit,
                 [](V square) { return polynomial(vfma(square, vset(2.0F / (kLimit * kLimit)), vset(-1.0F)), kPolynomial); });
}

// The same with absolute error below 4e-5 + 5e-6 |x|, for results that are rounded to bf16.
inline V vgelu_bf16(V x) {
  static constexpr float kPolynomial[] = {0.3987616003F,    -0.06607640535F,   0.009643013589F,
                                          -0.001054988592F, 8.429241279e-05F,  -4.724814062e-06F,
                                          1.740819329e-07F, -3.753971356e-09F, 3.569339616e-11F};
  return gelu_by(x, 4.4F, [](V square) { return polynomial(square, kPolynomial); });
}

// The same with absolute error below 2e-4 + 3.5e-5 |x|, for results that are rounded to 256 steps, 0.01 and more apart.
inline V vgelu_codes(V x) {
  static constexpr float kPolynomial[] = {0.397870183F,     -0.06455431134F,   0.008763650432F, -0.0008121800493F,
                                          4.776319111e-05F, -1.588795271e-06F, 2.258763843e-08F};
  return gelu_by(x, 4.0F, [](V square) { return polynomial(square, kPolynomial); });
}

#if defined(INLAY_LOOKUP_16)
// The same by max(x, 0) - bump(|x|), the bump as 16 parabolas, 3.5 to a unit, zero beyond: half the multiplications. Absolute
// error below 1e-4. An infinite x gives NaN.
inline V vgelu_codes_by_lookup(V x) {
  alignas(64) static constexpr float kPower0[] = {1.747437523e-06F, 0.001073188731F, 0.01724247262F, 0.07275506854F,
                                                  0.1742609292F,    0.2960893214F,   0.3933394253F,  0.4303814173F,
                                                  0.3990821242F,    0.3204860091F,   0.2257423997F,  0.1408040226F,
                                                  0.07831941545F,   0.03905658051F,  0.01753436774F, 0.0F};
  alignas(64) static constexpr float kPower1[] = {0.4998189211F,   0.4883330464F,   0.4153162241F,    0.2607803345F,
                                                  0.0572610721F,   -0.1335568428F,  -0.2587388456F,   -0.299649328F,
                                                  -0.270950377F,   -0.2063476294F,  -0.1364382207F,   -0.07964994013F,
                                                  -0.04147500545F, -0.01939472742F, -0.008183738217F, 0.0F};
  alignas(64) static constexpr float kPower2[] = {-0.3964931965F,  -0.3659618199F,  -0.2828710973F,   -0.1749736965F,
                                                  -0.07278928161F, 0.002002496738F, 0.04230965301F,   0.05360464752F,
                                                  0.04702587798F,  0.03374705836F,  0.02084796317F,   0.01135434117F,
                                                  0.005522749387F, 0.002418052405F, 0.0009579489124F, 0.0F};
  constexpr float kToLowBits = 12582912.0F;  // 1.5 * 2^23: a number added to it lands in the lowest bits, rounded
  const V size = vabs(x);
  const V index = vmin(vset(kToLowBits + 15.0F), vfma(size, vset(3.5F), vset(kToLowBits)));
  const V slope = vfma(vlookup(index, vload(kPower2)), size, vlookup(index, vload(kPower1)));
  return vsub(vmax(vzero(), x), vfma(slope, size, vlookup(index, vload(kPower0))));
}
#else
inline V vgelu_codes_by_lookup(V x) { return vgelu_codes(x); }
#endif

inline V vgelu_tanh(V x) {
  const V inner = vmul(vset(0.7978845608F), vfma(vmul(vmul(x, x), x), vset(0.044715F), x));
  // 0.5 x (1 + tanh(z)) = x sigmoid(2z).
  return vmul(x, vsigmoid(vadd(inner, inner)));
}

// x * sigmoid(z): an infinite x with a sigmoid of 0 must give 0, not NaN; finite x never does, and x is finite or already an
// error.
template <Activation kActivation, Precision kPrecision>
inline V vactivate(V x) {
  if constexpr (kActivation == Activation::kGelu) {
    if constexpr (kPrecision == Precision::kFloat) return vgelu(x);
    if constexpr (kPrecision == Precision::kBF16) return vgelu_bf16(x);
    return vgelu_codes_by_lookup(x);
  }
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
