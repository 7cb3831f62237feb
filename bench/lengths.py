#!/usr/bin/env python3
"""What long texts cost: tokens a second for texts of 512 tokens beside texts of 128, and the memory of one of 8,192.

Usage: lengths.py TEXTS.jsonl [--model DIR] [--dtypes float32,bfloat16,int8] [--tokens 24576] [--rounds 2] [--write]
  TEXTS.jsonl  real texts; they are joined, then cut by --max-length, so that every text has exactly so many tokens
The two lengths take turns, twice; the best round counts. Exits with 1 where 512-token texts reach less than 80 % of the rate
of 128-token texts, or where the long text takes 300 MB or more above the weights.
The 8,192-token text goes through a seeded random BERT (6 layers of 384, 8,192 positions) made in a temporary folder.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import measure
import random_model
import report

SHORT, LONG = 128, 512
LONGEST = 8192
MIN_SHARE = 0.80
MAX_BYTES = 300e6
SEED = 20240607
WORDS = "a bridge over cold water holds seven grey stones while nobody counts the boats below it".split()


def joined(texts, count):
    """`count` texts of several thousand characters each, which is more than 512 tokens of any language."""
    result, at = [], 0
    for _ in range(count):
        parts, size = [], 0
        while size < 8 * LONG:
            parts.append(texts[at % len(texts)])
            size += len(parts[-1])
            at += 1
        result.append(" ".join(parts))
    return result


def rates(options, texts, dtype, folder):
    """Tokens a second by length of text."""
    best = {SHORT: 0.0, LONG: 0.0}
    for _ in range(2):
        for length in best:
            source = folder / f"{length}.jsonl"
            count = options.tokens // length
            measure.write_rows(source, "text", joined(texts, count))
            figures = measure.run_json([options.inlay, "bench", "--model", options.model, "--texts", source, "--dtype", dtype, "--threads", options.threads,
                                        "--max-length", length, "--rounds", options.rounds])
            if figures["tokens"] != count * length:
                raise SystemExit(f"{count} texts have {figures['tokens']} tokens, not {length} each")
            best[length] = max(best[length], figures["tokens_per_s"])
    return best


def memory_of_longest(options, dtype, folder):
    """The program's line of figures after one text of 8,192 tokens."""
    text = " ".join(WORDS[index * 7 % len(WORDS)] for index in range(LONGEST - 2))
    figures = measure.embed(options.inlay, folder, [text], "--dtype", dtype, "--threads", options.threads)[1]
    if figures["tokens"] != LONGEST:
        raise SystemExit(f"the long text has {figures['tokens']} tokens, not {LONGEST}")
    return figures


def measure_lengths(options, folder):
    texts = measure.documents(options.texts, 2000)
    rows, good = [], True
    for dtype in options.dtypes.split(","):
        best = rates(options, texts, dtype, folder)
        share = best[LONG] / best[SHORT]
        good = good and share >= MIN_SHARE
        rows.append((dtype, f"{best[SHORT]:.0f}", f"{best[LONG]:.0f}", f"{100 * share:.1f} %"))
        print(json.dumps({"dtype": dtype, "tokens_per_s": best, "share": round(share, 4)}), flush=True)
    return report.table(["", f"tokens/s, {SHORT}-token texts", f"tokens/s, {LONG}-token texts", "share"], rows), good


def measure_memory(options, folder):
    config = random_model.bert_config(384, 6, random_model.write_vocabulary(folder, WORDS), LONGEST)
    random_model.write_model(folder, config, SEED)
    rows, good = [], True
    for dtype in options.dtypes.split(","):
        figures = memory_of_longest(options, dtype, folder)
        above = figures["peak_rss_bytes"] - figures["weight_bytes"]
        good = good and above < MAX_BYTES
        rows.append((dtype, f"{measure.mib(figures['peak_rss_bytes']):.1f}", f"{measure.mib(figures['weight_bytes']):.1f}", f"{measure.mib(above):.1f}"))
        print(json.dumps({"dtype": dtype, "peak_rss_bytes": figures["peak_rss_bytes"], "weight_bytes": figures["weight_bytes"], "above": above}), flush=True)
    return report.table([f"one text of {LONGEST} tokens", "peak resident MiB", "weights MiB", "above the weights MiB"], rows), good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--dtypes", default="float32,bfloat16,int8")
    parser.add_argument("--tokens", type=int, default=24576, help="of each round")
    parser.add_argument("--rounds", type=int, default=2)
    measure.add_common_flags(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lengths, fast = measure_lengths(options, pathlib.Path(folder))
        memory, small = measure_memory(options, pathlib.Path(folder) / "long")
    text = f"{lengths}\n\n{memory}"
    print(text)
    if options.write:
        report.write_section("lengths", text)
    sys.exit(not (fast and small))


if __name__ == "__main__":
    main()
