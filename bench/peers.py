#!/usr/bin/env python3
"""Documents a second of Inlay beside other engines, on the same texts in one run.

Usage: peers.py TEXTS.jsonl [--model DIR] [--engines st-fp32,...] [--dtypes float32,bfloat16,int8] [--docs 2000] [--rounds 2]
                [--json FILE] [--section speed] [--write]
  TEXTS.jsonl  objects with "query" and "text" (embedded as "query. text"), or with "text" alone, cut at 256 tokens
  --section    where it goes in docs/performance.md: speed, or speed-base
The model is a BERT-type folder with mean pooling. Engines take turns, so that a noisy neighbour hits all; the best of its
rounds counts for each. Peers are timed from texts to vectors, tokenising included; Inlay by the seconds that `inlay embed`
tells, which are from reading the file of texts to the file of vectors in place. Loading counts for none. The int8 of ort and
ct2 is dynamic; ov-int8 is calibrated by NNCF on rows behind those that are measured.

Needs tools/requirements-peers.txt. Exports go to build/peers.
"""
import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
import measure
import peer_engines
import report

ENGINES = "st-fp32,st-bf16,ort-fp32,ort-int8,ov-fp32,ov-bf16,ov-int8,ct2-fp32,ct2-int8"
SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "int8": "int8"}
MAX_LENGTH = 256
CALIBRATION = 300
WARM_UP = 64


class Inlay:
    """The program as an engine: each call is a process, timed by itself without loading."""

    def __init__(self, options, dtype):
        self.command = (options.inlay, options.model)
        self.flags = ("--dtype", dtype, "--threads", options.threads, "--max-length", MAX_LENGTH)
        self.seconds = 0.0

    def __call__(self, texts):
        vectors, figures = measure.embed(*self.command, texts, *self.flags)
        self.seconds = figures["seconds"]
        return vectors


def read_texts(options):
    """The texts to measure, and others to calibrate on."""
    rows = measure.documents(options.texts)
    texts = rows[:options.docs]
    calibration = rows[len(texts):][-CALIBRATION:]
    if "ov-int8" in options.engines and len(calibration) < CALIBRATION:
        raise SystemExit(f"{options.texts}: {len(rows)} rows; ov-int8 needs {CALIBRATION} beyond the {len(texts)} measured")
    return texts, calibration


def run_all(engines, texts, rounds):
    """The least seconds and the vectors of each engine."""
    best, vectors = {}, {}
    for run in engines.values():
        run(texts[:WARM_UP])
    for _ in range(rounds):
        for name, run in engines.items():
            begin = time.perf_counter()
            vectors[name] = run(texts)
            took = run.seconds if isinstance(run, Inlay) else time.perf_counter() - begin
            best[name] = min(best.get(name, took), took)
            print(f"{name}: {len(texts) / took:.1f} docs/s", flush=True)
    return best, vectors


def summarise(best, vectors, count):
    """A dictionary for each engine: its rate, how near its vectors are to the reference's, its ratio to the best peer."""
    table = {}
    for name, seconds in best.items():
        row = {"docs_per_s": count / seconds}
        if "st-fp32" in vectors:
            cosine = measure.cosines(vectors[name], vectors["st-fp32"])
            row["cosine_mean"], row["cosine_min"] = float(cosine.mean()), float(cosine.min())
        peers = [count / best[peer] for peer in best if peer.split("-")[1] == name.split("-")[1] and not peer.startswith("inlay")]
        if name.startswith("inlay") and peers:
            row["ratio_to_best_peer"] = row["docs_per_s"] / max(peers)
        table[name] = row
    return table


def markdown(table, options, count):
    rows = []
    for name, row in table.items():
        shown = [f"{row['docs_per_s']:.1f}"]
        for key, form in (("cosine_mean", "{:.6f}"), ("cosine_min", "{:.6f}"), ("ratio_to_best_peer", "{:.2f}")):
            shown.append(form.format(row[key]) if key in row else "")
        rows.append((name, *shown))
    note = f"\n\n{options.model.resolve().name}, {count} texts of {options.texts.name}, {options.threads} threads, best of {options.rounds} rounds."
    return report.table(["engine", "docs/s", "mean cosine to st-fp32", "least", "ratio to the best peer of the precision"], rows) + note


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--engines", default=ENGINES)
    parser.add_argument("--dtypes", default="float32,bfloat16,int8")
    parser.add_argument("--docs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--section", default="speed")
    measure.add_common_flags(parser)
    options = parser.parse_args()
    texts, calibration = read_texts(options)
    setup = peer_engines.Setup(options.model, options.threads, MAX_LENGTH, calibration)
    engines = {name: peer_engines.make(name, setup) for name in options.engines.split(",") if name}
    engines.update({"inlay-" + SHORT[dtype]: Inlay(options, dtype) for dtype in options.dtypes.split(",") if dtype})
    table = summarise(*run_all(engines, texts, options.rounds), len(texts))
    text = markdown(table, options, len(texts))
    print(text)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1))
    if options.write:
        report.write_section(options.section, text)


if __name__ == "__main__":
    main()
