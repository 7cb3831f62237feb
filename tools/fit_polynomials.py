#!/usr/bin/env python3
"""Finds the polynomials of src/kernels/generic/math.inl.h and prints them as C++ with their errors.

Minimax by reweighted least squares: solve, raise the weight of the points whose error is large, and repeat. Errors are
measured twice: of the polynomial itself, and of the whole function as the kernels evaluate it in float32.

    tools/fit_polynomials.py            all of them
    tools/fit_polynomials.py --search   errors of other limits and degrees, for choosing
"""

import argparse
import math

import numpy as np

POINTS = 1000
ROUNDS = 60

erf = np.vectorize(math.erf)


def minimax(basis, wanted, scale, fixed=None):
    """Coefficients c that make max |(basis @ c - wanted) * scale| small; `fixed` = (row, value) holds exactly."""
    weight = np.ones(len(wanted))
    for _ in range(ROUNDS):
        root = scale * np.sqrt(weight)
        left, right = basis * root[:, None], wanted * root
        if fixed is not None:
            # One equation of so large a weight that it is met to the last digit.
            heavy = 1e6 * np.abs(left).max()
            left = np.vstack([left, fixed[0] * heavy])
            right = np.append(right, fixed[1] * heavy)
        coefficients = np.linalg.lstsq(left, right, rcond=None)[0]
        error = np.abs((basis @ coefficients - wanted) * scale)
        weight *= error / error.max() + 1e-3
        weight /= weight.mean()
    return coefficients, error.max()


def chebyshev_points(low, high):
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.linspace(0, np.pi, POINTS))


def fit_gelu(limit, degree):
    """P of gelu(x) = x * (0.5 + t * P(u)), t = x within +-limit, u = 2 t^2 / limit^2 - 1.

    The absolute error of the product is made small, and 0.5 + limit * P(1) is 1 exactly, so that a large x comes out as it is.
    """
    u = chebyshev_points(-1, 1)
    x = np.maximum(limit * np.sqrt((u + 1) / 2), 1e-9)
    wanted = 0.5 * erf(x / math.sqrt(2)) / x
    basis = np.polynomial.chebyshev.chebvander(u, degree)
    end = np.polynomial.chebyshev.chebvander(np.array([1.0]), degree)
    coefficients, error = minimax(basis, wanted, x * x, (end, 0.5 / limit))
    return np.polynomial.chebyshev.cheb2poly(coefficients), error


def fit_exp2(degree):
    """2^x on [-0.5, 0.5], relative error."""
    x = chebyshev_points(-0.5, 0.5)
    wanted = 2.0**x
    return minimax(np.vander(x, degree + 1, increasing=True), wanted, 1 / wanted)


def tail(r):
    """gelu(x) = max(x, 0) - tail(|x|): a bump that is gone at 4."""
    return r * 0.5 * (1 - erf(r / math.sqrt(2)))


def fit_segments(per_unit, count):
    """Quadratics c0 + c1 r + c2 r^2 of tail(r), the i-th for the r nearest to i / per_unit. Beyond the last it is 0."""
    rows, errors = [], []
    for i in range(count - 1):
        r = chebyshev_points(max(0, i - 0.5) / per_unit, (i + 0.5) / per_unit)
        coefficients, error = minimax(np.vander(r, 3, increasing=True), tail(r), np.ones(POINTS))
        rows.append(coefficients)
        errors.append(error)
    rows.append(np.zeros(3))
    errors.append(tail(np.array([(count - 1.5) / per_unit]))[0])
    return np.array(rows).T, max(errors)


def horner32(x, coefficients):
    """As fused multiply-adds in float32 round."""
    total = np.full(x.shape, np.float32(coefficients[-1]))
    for coefficient in coefficients[-2::-1]:
        total = (total.astype(np.float64) * x + np.float64(np.float32(coefficient))).astype(np.float32)
    return total


def in_square(limit, coefficients):
    """The same polynomial in t^2 instead of u: one operation less, but rounding errors grow with the degree."""
    result = np.zeros(1)
    for coefficient in coefficients[::-1]:
        result = np.polynomial.polynomial.polymul(result, [-1, 2 / limit**2])
        result[0] += coefficient
    return result[: len(coefficients)]


def gelu32(x, limit, coefficients, squared):
    limit = np.float32(limit)
    above = np.maximum(x, -limit)
    t = np.minimum(above, limit)
    u = t * t
    if not squared:
        scale = np.float32(2 / (float(limit) * float(limit)))
        u = (u.astype(np.float64) * scale - 1).astype(np.float32)
    share = (t.astype(np.float64) * horner32(u, coefficients) + 0.5).astype(np.float32)
    return above * share


def gelu_errors(limit, coefficients, squared=False):
    """Largest absolute error for |x| <= 12, and largest error relative to |x| beyond the limit."""
    x = np.linspace(-12, 12, 400001).astype(np.float32)
    wide = x.astype(np.float64)
    exact = wide * 0.5 * (1 + erf(wide / math.sqrt(2)))
    error = np.abs(gelu32(x, limit, coefficients, squared) - exact)
    return error[np.abs(x) <= limit].max(), (error / np.maximum(np.abs(wide), 1))[np.abs(x) > limit].max()


def exp2_error(coefficients):
    x = np.linspace(-0.5, 0.5, 400001).astype(np.float32)
    return np.abs(horner32(x, coefficients) / 2.0 ** x.astype(np.float64) - 1).max()


def show(name, coefficients, note):
    values = ", ".join(f"{np.float32(c):#.10g}F" for c in coefficients)
    print(f"// {note}\nstatic constexpr float {name}[] = {{{values}}};\n")


def show_gelu(limit, degree, squared):
    coefficients, error = fit_gelu(limit, degree)
    if squared:
        coefficients = in_square(limit, coefficients)
    inside, beyond = gelu_errors(limit, coefficients, squared)
    variable = "t^2" if squared else "u"
    note = f"GELU, limit {limit}, degree {degree} in {variable}: fit {error:.2e}, float32 {inside:.2e}, beyond the limit {beyond:.2e} of |x|"
    show("kPolynomial", coefficients, note)


def show_segments(per_unit, count):
    tables, error = fit_segments(per_unit, count)
    r = np.linspace(0, 12, 400001).astype(np.float32)
    index = np.minimum(np.rint(r * np.float32(per_unit)), count - 1).astype(int)
    c0, c1, c2 = tables.astype(np.float32)
    found = ((c2[index] * r + c1[index]) * r + c0[index]).astype(np.float64)
    measured = np.abs(found - tail(r.astype(np.float64))).max()
    note = f"max(x, 0) - GELU(x) in {count} quadratics, {per_unit} a unit: fit {error:.2e}, float32 {measured:.2e}"
    for power, table in enumerate(tables):
        show(f"kPower{power}", table, note)


def show_exp2(degree):
    coefficients, error = fit_exp2(degree)
    show("kPolynomial", coefficients, f"2^x, degree {degree}: fit {error:.2e} relative, float32 {exp2_error(coefficients):.2e}")


def search():
    for degree in range(4, 15):
        best = min((fit_gelu(limit / 10, degree)[1], limit / 10) for limit in range(26, 58))
        coefficients, _ = fit_gelu(best[1], degree)
        print(f"GELU degree {degree}: best limit {best[1]}, fit {best[0]:.2e}, float32", *gelu_errors(best[1], coefficients))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", action="store_true", help="errors of other limits and degrees of GELU")
    if parser.parse_args().search:
        search()
        return
    for limit, degree, squared in ((5.4, 13, False), (4.4, 8, True), (4.0, 6, True)):
        show_gelu(limit, degree, squared)
    show_segments(3.5, 16)
    for degree in (5, 3):
        show_exp2(degree)


if __name__ == "__main__":
    main()
