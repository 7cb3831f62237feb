#!/usr/bin/env python3
"""How long one short query takes, warm and in process: Inlay beside ONNX Runtime, in one run.

Usage: latency.py [--query TEXT] [--model DIR] [--dtypes float32,bfloat16,int8] [--runs 500] [--rounds 3] [--json FILE] [--write]
Inlay (`inlay bench --latency`) is timed from the characters to the vector. ONNX Runtime gets token ids ready made and need
not pool, which is in its favour. Both take turns, `runs` queries a turn after a warm-up; the turn with the least median
counts for each. int8 of ONNX Runtime is dynamic; it has no bf16 on CPU.

Needs tools/requirements-peers.txt.
"""
import argparse
import json
import os
import pathlib
import tempfile
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np

import measure
import peer_engines
import report
import token_ids

# 12 tokens, special ones included.
QUERY = "how do bees find their way back to distant flowers"
WARM_UP = 50
PEER_OF = {"float32": "fp32", "int8": "int8"}


class OnnxRuntime:
    def __init__(self, options, precision):
        ids = np.array(token_ids.encode(options.model, [options.query], 256), np.int64)
        self.feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        self.session = peer_engines.onnx_session(options.model, precision, options.threads)
        self.runs = options.runs

    def __call__(self):
        times = []
        for run in range(-WARM_UP, self.runs):
            begin = time.perf_counter()
            self.session.run(None, self.feed)
            if run >= 0:
                times.append(1e3 * (time.perf_counter() - begin))
        p50, p90, p99 = np.percentile(times, [50, 90, 99], method="inverted_cdf")
        return {"p50_ms": p50, "p90_ms": p90, "p99_ms": p99, "tokens": self.feed["input_ids"].size}


class Inlay:
    def __init__(self, options, dtype):
        flags = ["--dtype", dtype, "--threads", options.threads, "--runs", options.runs]
        self.command = [options.inlay, "bench", "--latency", "--model", options.model, *flags]
        self.query = options.query

    def __call__(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "query.jsonl"
            measure.write_rows(source, "text", [self.query])
            return measure.run_json([*self.command, "--texts", source])


def take_turns(engines, rounds):
    """The figures of each engine's best turn, and its median as a share of the peer's at the same precision."""
    best = {}
    for _ in range(rounds):
        for name, run in engines.items():
            figures = run()
            if name not in best or figures["p50_ms"] < best[name]["p50_ms"]:
                best[name] = figures
    for name, figures in best.items():
        peer = best.get("ONNX Runtime " + PEER_OF.get(name.removeprefix("Inlay "), "none"))
        if peer:
            figures["ratio"] = figures["p50_ms"] / peer["p50_ms"]
    return best


def markdown(best, options):
    rows = []
    for name, figures in best.items():
        times = [f"{figures[key]:.3f}" for key in ("p50_ms", "p90_ms", "p99_ms")]
        rows.append((name, *times, f"{figures['ratio']:.2f}" if "ratio" in figures else ""))
    tokens = " or ".join(sorted({f"{figures['tokens']:.0f}" for figures in best.values()}))
    note = f"{options.model.resolve().name}, {tokens} tokens, {options.threads} threads, the best of {options.rounds} turns of {options.runs} runs."
    return report.table(["one query", "P50 ms", "P90 ms", "P99 ms", "P50 as a share of ONNX Runtime's"], rows) + "\n\n" + note


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", default=QUERY)
    parser.add_argument("--dtypes", default="float32,bfloat16,int8")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    measure.add_common_flags(parser)
    options = parser.parse_args()
    dtypes = options.dtypes.split(",")
    engines = {"ONNX Runtime " + PEER_OF[dtype]: OnnxRuntime(options, PEER_OF[dtype]) for dtype in dtypes if dtype in PEER_OF}
    engines.update({"Inlay " + dtype: Inlay(options, dtype) for dtype in dtypes})
    best = take_turns(engines, options.rounds)
    text = markdown(best, options)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(best, indent=1, default=float))
    if options.write:
        report.write_section("latency", text)


if __name__ == "__main__":
    main()
