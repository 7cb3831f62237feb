#!/usr/bin/env python3
"""What smaller precisions cost: vectors against Inlay's own fp32, and retrieval of each query's own text, by data file.

Usage: quality.py [--cosine TEXTS.jsonl] [--recall PAIRS.jsonl ...] [--model DIR] [--dtypes bfloat16,float16,int8]
                  [--query-prompt "query: "] [--passage-prompt "passage: "] [--section quality] [--write]
  --cosine  the mean, the first percentile and the least cosine over the first 4,000 rows ("query. text")
  --recall  Recall@1 and Recall@5 over the first 600 pairs: the one right answer to a row's "query" is its own "text"
  --section where it goes in docs/performance.md: quality, or quality-multilingual
Texts are cut at 256 tokens. A model whose tokenizer Inlay does not read is fed with token ids from PyPI's `tokenizers`.
Exits with 1 where bf16's mean cosine is under 0.9995, int8's under 0.998 or its least under 0.99, or where a precision loses
more than 1 % of fp32's Recall@5.
"""
import argparse
import json
import pathlib
import sys

import numpy as np

import measure
import report
import token_ids

MAX_LENGTH = 256
MIN_MEAN = {"bfloat16": 0.9995, "float16": 0.9995, "int8": 0.998}
MIN_LEAST = {"int8": 0.99}
MAX_LOSS = 0.01


class Embedder:
    """One model in any precision; texts are tokenised outside of the program only if they must be."""

    def __init__(self, options):
        self.options = options

    def __call__(self, texts, dtype):
        flags = ("--dtype", dtype, "--threads", self.options.threads)
        return token_ids.embed(self.options.inlay, self.options.model, texts, MAX_LENGTH, *flags)


def compare_cosines(embedder, options):
    texts = measure.documents(options.cosine, options.rows)
    reference = embedder(texts, "float32")
    rows, good = [], True
    for dtype in options.dtypes.split(","):
        cosine = measure.cosines(embedder(texts, dtype), reference)
        mean, low, least = float(cosine.mean()), float(np.percentile(cosine, 1)), float(cosine.min())
        good = good and mean >= MIN_MEAN.get(dtype, 0) and least >= MIN_LEAST.get(dtype, 0)
        rows.append((dtype, f"{mean:.6f}", f"{low:.6f}", f"{least:.6f}"))
        print(json.dumps({"data": options.cosine.name, "texts": len(texts), "dtype": dtype, "mean": mean, "p1": low, "min": least}), flush=True)
    title = f"cosine to fp32, {len(texts)} texts of {options.cosine.name}"
    return report.table([title, "mean", "P1", "least"], rows), good


def recalls(queries, texts):
    """Recall@1 and @5. An equal score of another text counts against the query."""
    scores = measure.unit(queries) @ measure.unit(texts).T
    own = np.diag(scores).copy()
    np.fill_diagonal(scores, -np.inf)
    rank = (scores >= own[:, None]).sum(axis=1)
    return float((rank < 1).mean()), float((rank < 5).mean())


def measure_recall(embedder, path, options):
    """{dtype: (Recall@1, Recall@5)}"""
    pairs = measure.read_rows(path, options.pairs)
    queries = [options.query_prompt + row["query"] for row in pairs]
    texts = [options.passage_prompt + row["text"] for row in pairs]
    result = {}
    for dtype in ["float32", *options.dtypes.split(",")]:
        vectors = embedder(queries + texts, dtype)
        result[dtype] = recalls(vectors[:len(pairs)], vectors[len(pairs):])
        print(json.dumps({"data": path.name, "pairs": len(pairs), "dtype": dtype, "recall": result[dtype]}), flush=True)
    return result


def compare_recalls(embedder, options):
    rows, good = [], True
    for path in options.recall:
        found = measure_recall(embedder, path, options)
        base = found["float32"][1]
        for dtype, (first, fifth) in found.items():
            loss = (base - fifth) / base if base > 0 else 0.0
            good = good and loss <= MAX_LOSS
            rows.append((path.name, dtype, f"{first:.4f}", f"{fifth:.4f}", f"{100 * loss:.2f} %"))
    return report.table([f"first {options.pairs} pairs of", "", "Recall@1", "Recall@5", "Recall@5 lost"], rows), good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cosine", type=pathlib.Path)
    parser.add_argument("--recall", nargs="+", type=pathlib.Path, default=[])
    parser.add_argument("--dtypes", default="bfloat16,float16,int8")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--query-prompt", default="")
    parser.add_argument("--passage-prompt", default="")
    parser.add_argument("--section", default="quality")
    measure.add_common_flags(parser)
    options = parser.parse_args()
    embedder = Embedder(options)
    results = [compare_cosines(embedder, options)] if options.cosine else []
    results += [compare_recalls(embedder, options)] if options.recall else []
    if not results:
        parser.error("nothing to do: give --cosine or --recall")
    text = f"Model: {options.model.resolve().name}.\n\n" + "\n\n".join(table for table, _ in results)
    print(text)
    if options.write:
        report.write_section(options.section, text)
    sys.exit(not all(good for _, good in results))


if __name__ == "__main__":
    main()
