#!/usr/bin/env python3
"""Peak resident memory of `inlay embed` over a bulk of texts, by precision.

Usage: rss.py TEXTS.jsonl [--models DIR,DIR] [--dtypes float32,bfloat16,float16,int8] [--docs 2000] [--limit MODEL:DTYPE:MB ...] [--write]
  --limit  exits with 1 where that model (the name of its folder) needs more at that precision, e.g. all-MiniLM-L6-v2:int8:120
Peak counts everything of the process: the program, the packed weights, the file's pages while they are packed, tokenizer,
lanes and rows. A model whose tokenizer Inlay does not read is fed with token ids from PyPI's `tokenizers`.
"""
import argparse
import json
import pathlib
import sys

import measure
import report
import token_ids

MAX_LENGTH = 256


def parse_limits(texts):
    """{(model, dtype): bytes}"""
    limits = {}
    for text in texts:
        model, dtype, megabytes = text.rsplit(":", 2)
        limits[model, dtype] = float(megabytes) * 1e6
    return limits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--models", default=str(measure.DEMO_MODEL))
    parser.add_argument("--dtypes", default="float32,bfloat16,float16,int8")
    parser.add_argument("--docs", type=int, default=2000)
    parser.add_argument("--limit", action="append", default=[])
    parser.add_argument("--inlay", type=pathlib.Path, default=measure.INLAY)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="put it into docs/performance.md")
    options = parser.parse_args()
    limits = parse_limits(options.limit)
    texts = measure.documents(options.texts, options.docs)
    rows, good = [], True
    for model in map(pathlib.Path, options.models.split(",")):
        name = model.resolve().name
        inputs = token_ids.inputs_for(options.inlay, model, texts, MAX_LENGTH)
        for dtype in options.dtypes.split(","):
            flags = ["--dtype", dtype, "--threads", options.threads, "--max-length", MAX_LENGTH]
            figures = measure.embed(options.inlay, model, inputs, *flags)[1]
            peak, held = figures["peak_rss_bytes"], figures["weight_bytes"]
            good = good and peak <= limits.get((name, dtype), peak)
            rows.append((name, dtype, f"{peak / 1e6:.1f}", f"{held / 1e6:.1f}", "text" if inputs is texts else "token ids"))
            print(json.dumps({"model": name, "dtype": dtype, "peak_rss_bytes": peak, "weight_bytes": held}), flush=True)
    text = report.table(["model", "", "peak resident MB", "packed weights MB", "fed with"], rows)
    text += f"\n\n{len(texts)} texts, at most {MAX_LENGTH} tokens each, {options.threads} threads."
    print(text)
    if options.write:
        report.write_section("peak-memory", text)
    sys.exit(not good)


if __name__ == "__main__":
    main()
