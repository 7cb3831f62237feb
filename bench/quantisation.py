#!/usr/bin/env python3
"""Precisions side by side, from folders that `inlay quantize` makes: size, speed, memory, cosine distance to fp32, and recall.

Usage: quantisation.py --calibrate TEXTS.jsonl --measure PAIRS.jsonl ... [--model DIR] [--groups 32,64,128]
                       [--query-prompt "query: "] [--passage-prompt "passage: "] [--section NAME] [--write]
  --calibrate  texts for GPTQ; the first --calibration-texts of them are used and should not be among those measured
  --measure    JSONL files with "query" and "text": distances over rows of the first file, recall over pairs of each
Speed is that of `inlay bench` on the first file and of `inlay bench --latency` on its queries, each the best of three turns that
precisions take one after another. Writes a section of docs/guide/quantisation.md with --write.
"""
import argparse
import json
import pathlib
import shutil
import subprocess

import numpy as np

import measure
import quality
import report

MAX_LENGTH = 256
PAGE = report.ROOT / "docs" / "guide" / "quantisation.md"
TURNS = 3


def variants(groups):
    """Name, and the flags of `inlay quantize`; none for the folder as it is in float32."""
    yield "float32", None
    for dtype in ("float16", "bfloat16", "int8"):
        yield dtype, ["--dtype", dtype]
    for group in groups:
        for method in ("rtn", "gptq"):
            yield f"int4 {method}, groups of {group}", ["--dtype", "int4", "--group-size", group, "--method", method]


def make_folder(options, name, flags):
    """The folder of a variant and the report of `inlay quantize`."""
    if flags is None:
        return options.model, None
    folder = options.work / name.replace(",", "").replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    texts = ["--texts", options.calibrate, "--calibration-texts", options.calibration_texts]
    command = [options.inlay, "quantize", options.model, folder, *flags, *texts, "--threads", options.threads]
    done = subprocess.run([str(word) for word in command] + ["--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr}")
    return folder, json.loads(done.stdout)


def speed(options, folder, dtype, texts):
    flags = ["--model", folder, "--dtype", dtype, "--threads", options.threads, "--max-length", MAX_LENGTH]
    bulk = measure.run_json([options.inlay, "bench", "--texts", texts, "--rounds", 1, *flags])
    single = measure.run_json([options.inlay, "bench", "--latency", "--texts", texts, "--text-field", "query", *flags])
    return bulk["docs_per_s"], single["p50_ms"], bulk


class Variant:
    def __init__(self, options, name, flags):
        self.name = name
        self.dtype = "float32" if flags is None else "auto"
        self.folder, self.quantized = make_folder(options, name, flags)
        self.bytes = sum(path.stat().st_size for path in pathlib.Path(self.folder).glob("*.safetensors"))
        self.rate, self.latency = 0.0, float("inf")

    def take_turn(self, options, texts):
        rate, latency, _ = speed(options, self.folder, self.dtype, texts)
        self.rate, self.latency = max(self.rate, rate), min(self.latency, latency)

    def vectors(self, options, texts):
        flags = ("--dtype", self.dtype, "--threads", options.threads, "--max-length", MAX_LENGTH)
        return measure.embed(options.inlay, self.folder, texts, *flags)


def recall(options, variant, path):
    pairs = measure.read_rows(path, options.pairs)
    queries, _ = variant.vectors(options, [options.query_prompt + row["query"] for row in pairs])
    texts, _ = variant.vectors(options, [options.passage_prompt + row["text"] for row in pairs])
    return quality.recalls(queries, texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrate", type=pathlib.Path, required=True)
    parser.add_argument("--measure", nargs="+", type=pathlib.Path, required=True)
    parser.add_argument("--groups", default="32,64,128")
    parser.add_argument("--calibration-texts", type=int, default=128)
    parser.add_argument("--skip", type=int, default=1000, help="rows of the first file that are not measured")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--query-prompt", default="")
    parser.add_argument("--passage-prompt", default="")
    parser.add_argument("--section", default="precisions")
    parser.add_argument("--work", type=pathlib.Path, default=report.ROOT / "build" / "quantised")
    measure.add_common_flags(parser)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    all_variants = [Variant(options, name, flags) for name, flags in variants(options.groups.split(","))]
    for _ in range(TURNS):
        for variant in all_variants:
            variant.take_turn(options, options.measure[0])
    documents = measure.documents(options.measure[0], options.skip + options.rows)[options.skip :]
    reference, _ = all_variants[0].vectors(options, documents)
    rows = []
    for variant in all_variants:
        vectors, figures = variant.vectors(options, documents)
        distance = 1 - measure.cosines(vectors, reference)
        found = [recall(options, variant, path) for path in options.measure]
        rows.append((variant.name, f"{measure.mib(variant.bytes):.1f}", f"{variant.rate:.1f}", f"{variant.latency:.3f}",
                     f"{measure.mib(figures['peak_rss_bytes']):.0f}", f"{distance.mean():.5f}",
                     f"{np.percentile(distance, 99):.5f}", f"{distance.max():.5f}",
                     *(f"{first:.4f} / {fifth:.4f}" for first, fifth in found)))
        print(json.dumps(rows[-1]), flush=True)
    header = ["", "weights, MiB", "texts/s", "query P50, ms", "peak RSS, MiB", "distance mean", "P99", "largest",
              *(f"Recall@1 / @5, {path.stem}" for path in options.measure)]
    text = f"Model: {options.model.resolve().name}; {options.threads} threads.\n\n" + report.table(header, rows)
    print(text)
    if options.write:
        report.write_section(options.section, text, PAGE)


if __name__ == "__main__":
    main()
