#!/usr/bin/env python3
"""Writes tests/golden/gptq: a small layer rounded by GPTQ as its paper says, in NumPy and double precision, one input at a time.

Nothing is lazy or blocked here and the inverse is formed as written there, so that the program's way is compared with another.
"""
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "gptq"


LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 0, 12, 25, 38, 53, 69, 89, 113])
FACTORS = [factor for factor in range(-8, 8) if factor != 0]


def weights_under(factor):
    """What the sixteen codes stand for."""
    return np.floor(LEVELS * factor / 8 + 0.5)


def column_scale(weights):
    extreme = weights[np.argmax(np.abs(weights))]
    return np.float32(extreme) / np.float32(127)


def code_of(weight, scale, factor):
    return int(np.argmin(np.abs(np.float32(weight) / scale - weights_under(factor)))) if scale != 0 else 8


def best_factor(weights, scale):
    steps = weights.astype(np.float32) / scale
    errors = [sum(np.abs(step - weights_under(factor)).min() ** 2 for step in steps) for factor in FACTORS]
    return FACTORS[int(np.argmin(errors))]


def gptq(weights, hessian, group, act_order, damping):
    rows, k = weights.shape
    w = weights.astype(np.float64).copy()
    h = hessian.astype(np.float64).copy()
    dead = np.diag(h) == 0
    h[dead, dead] = 1
    w[:, dead] = 0
    order = np.argsort(-np.diag(hessian), kind="stable") if act_order else np.arange(k)
    h = h[order][:, order] + damping * np.mean(np.diag(h)) * np.eye(k)
    factor = np.linalg.cholesky(np.linalg.inv(h)).T
    groups = -(-k // group)
    scales = [column_scale(weights[row]) for row in range(rows)]
    factors = np.zeros((rows, groups), np.int64)
    codes = np.zeros((rows, k), np.int64)
    if act_order:
        for row in range(rows):
            for g in range(groups):
                factors[row, g] = best_factor(weights[row, g * group:(g + 1) * group], scales[row])
    for i, column in enumerate(order):
        for row in range(rows):
            if not act_order and column % group == 0:
                factors[row, column // group] = best_factor(w[row, column:column + group], scales[row])
            under = factors[row, column // group]
            codes[row, column] = code_of(w[row, column], scales[row], under)
            error = (w[row, column] - float(scales[row]) * weights_under(under)[codes[row, column]]) / factor[i, i]
            for j in range(i + 1, k):
                w[row, order[j]] -= error * factor[i, j]
    return codes, factors, scales


def main():
    random = np.random.default_rng(20261130)
    cases = []
    for rows, k, group, act_order, inputs in [(5, 24, 8, False, 60), (5, 24, 8, True, 60), (3, 40, 32, False, 60),
                                              (8, 136, 32, False, 90), (8, 136, 32, True, 90), (4, 136, 16, False, 50)]:
        distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
        mix = random.normal(size=(k, k)) * np.exp(-distance / 3)
        x = np.round(random.normal(size=(inputs, k)) @ mix, 2)
        x[:, 3] = 0
        weights = np.round(random.normal(size=(rows, k)), 3).astype(np.float32)
        hessian = (x.T @ x).astype(np.float32)
        codes, factors, scales = gptq(weights, hessian, group, act_order, 0.01)
        cases.append({"rows": rows, "k": k, "group": group, "act_order": act_order, "damping": 0.01,
                      "weights": [round(float(v), 3) for v in weights.ravel()],
                      "inputs": [round(float(v), 2) for v in x.ravel()],
                      "codes": codes.ravel().tolist(), "factors": factors.ravel().tolist(), "scales": [float(scale) for scale in scales]})
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "layers.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
