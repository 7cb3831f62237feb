#!/usr/bin/env python3
"""Prints the documents nearest to each query, by the cosine of their vectors. Needs nothing but Python.

Both files are what `inlay embed --output FILE.jsonl` writes: one JSON object a line with "embedding" and "id", or "index"
where the row had no id. Rows that carry an "error" are left out.
For more than some thousand vectors use .npy and numpy, or a vector database.

Usage: nearest.py QUERIES.jsonl DOCUMENTS.jsonl [--top 5] [--texts TEXTS.jsonl] [--query TEXT]
"""
import argparse
import json
import math
import textwrap


def read_rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read_vectors(path):
    """Pairs of an id and a vector of length one."""
    return [(row.get("id", row.get("index")), unit(row["embedding"])) for row in read_rows(path) if "embedding" in row]


def unit(vector):
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / length for x in vector]


def nearest(query, documents, top):
    """The `top` documents as (cosine, id), best first. Vectors are of length one."""
    scored = [(sum(a * b for a, b in zip(query, vector)), identifier) for identifier, vector in documents]
    return sorted(scored, key=lambda pair: -pair[0])[:top]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries")
    parser.add_argument("documents")
    parser.add_argument("--top", type=int, default=5, help="documents to print for each query")
    parser.add_argument("--texts", help="JSONL with id and text, to print beside the ids")
    parser.add_argument("--query", help="what to call the queries; their ids otherwise")
    options = parser.parse_args()
    texts = {row["id"]: row["text"] for row in read_rows(options.texts)} if options.texts else {}
    documents = read_vectors(options.documents)
    for name, query in read_vectors(options.queries):
        print(f"\nNearest to: {options.query or name}")
        for score, identifier in nearest(query, documents, options.top):
            text = textwrap.shorten(texts.get(identifier, ''), 90, placeholder=' ...')
            print(f"  {score:6.3f}  {identifier!s:<12} {text}".rstrip())


if __name__ == "__main__":
    main()
