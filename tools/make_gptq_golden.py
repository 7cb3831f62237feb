#!/usr/bin/env python3
"""Writes tests/golden/gptq: a small layer rounded by GPTQ as its paper says, in NumPy and double precision, one input at a time.

Nothing is lazy or blocked here and the inverse is formed as written there, so that the program's way is compared with another.
"""
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "gptq"


def group_scale(weights):
    extreme = weights[np.argmax(np.abs(weights))]
    return np.float16(np.float32(extreme) / np.float32(-8))


def code_of(weight, scale):
    if scale == 0:
        return 8
    return int(np.clip(np.rint(np.float32(weight) / np.float32(scale)), -8, 7)) + 8


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
    scales = np.zeros((rows, groups), np.float16)
    codes = np.zeros((rows, k), np.int64)
    if act_order:
        for row in range(rows):
            for g in range(groups):
                scales[row, g] = group_scale(weights[row, g * group:(g + 1) * group])
    for i, column in enumerate(order):
        for row in range(rows):
            if not act_order and column % group == 0:
                scales[row, column // group] = group_scale(w[row, column:column + group].astype(np.float32))
            scale = scales[row, column // group]
            codes[row, column] = code_of(w[row, column], scale)
            error = (w[row, column] - float(scale) * (codes[row, column] - 8)) / factor[i, i]
            for j in range(i + 1, k):
                w[row, order[j]] -= error * factor[i, j]
    return codes, scales


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
        codes, scales = gptq(weights, hessian, group, act_order, 0.01)
        cases.append({"rows": rows, "k": k, "group": group, "act_order": act_order, "damping": 0.01,
                      "weights": [round(float(v), 3) for v in weights.ravel()],
                      "inputs": [round(float(v), 2) for v in x.ravel()],
                      "codes": codes.ravel().tolist(), "scales": scales.view(np.uint16).ravel().tolist()})
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "layers.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
