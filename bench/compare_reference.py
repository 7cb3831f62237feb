#!/usr/bin/env python3
"""Compares the vectors of `inlay embed` in fp32 with those of sentence-transformers on the same folder and texts.

Prints one line of JSON for each data file, and a markdown table. Exits with 1 where a cosine is below 0.999999 or a
component of the normalised vectors differs by more than 2e-5. Run with the environment of tools/requirements-reference.txt.

Usage: compare_reference.py DATA.jsonl... [--model DIR] [--random-bert] [--rows N] [--write]
  DATA.jsonl     objects with "query" and "text" (embedded as "query. text"), or with "text" alone
  --random-bert  a seeded random BERT of odd sizes with the tokenizer of DIR, beside DIR
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
import numpy as np

import report

MIN_COSINE = 0.999999
MAX_DIFFERENCE = 2e-5


def read_texts(path, count):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][:count]
    return [f"{row['query']}. {row['text']}" if "query" in row else row["text"] for row in rows]


def make_random_bert(model, folder):
    """A BERT whose sizes are multiples of nothing that a kernel would like."""
    import torch
    from transformers import BertConfig, BertModel
    torch.manual_seed(20240607)
    vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
    config = BertConfig(vocab_size=vocabulary, hidden_size=95, num_hidden_layers=3, num_attention_heads=5, intermediate_size=251,
                        max_position_embeddings=131, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    net = BertModel(config)
    # Weights as large as trained ones, and norms and biases that are not one and zero.
    for parameter in net.parameters():
        parameter.data.normal_(0, 0.05 if parameter.dim() == 2 else 0.3)
    net.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (model / name).is_file():
            shutil.copy(model / name, folder)


def embed_with_reference(model, texts):
    import torch
    from sentence_transformers import SentenceTransformer
    net = SentenceTransformer(str(model), device="cpu", model_kwargs={"dtype": torch.float32})
    return net.encode(texts, batch_size=32, show_progress_bar=sys.stderr.isatty(), convert_to_numpy=True)


def embed_with_inlay(binary, model, texts):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "texts.jsonl"
        result = pathlib.Path(folder) / "vectors.npy"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        subprocess.run([binary, "embed", "--model", model, "--dtype", "float32", "--input", source, "--output", result, "--quiet"], check=True)
        return np.load(result)


def unit(vectors):
    vectors = vectors.astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def compare(name, data, reference, ours):
    assert reference.shape == ours.shape, f"{reference.shape} by the reference, {ours.shape} by Inlay"
    a, b = unit(reference), unit(ours)
    return {
        "model": name,
        "data": data,
        "texts": len(a),
        "dimensions": a.shape[1],
        "min_cosine": float((a * b).sum(axis=1).min()),
        "max_difference": float(np.abs(a - b).max()),
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, default=report.ROOT / "models" / "all-MiniLM-L6-v2")
    parser.add_argument("--random-bert", action="store_true")
    parser.add_argument("--inlay", type=pathlib.Path, default=report.ROOT / "build" / "release" / "inlay")
    parser.add_argument("--rows", type=int, help="only this many rows of each file")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        models = [(options.model.resolve().name, options.model)]
        if options.random_bert:
            make_random_bert(options.model, folder)
            models.append(("random BERT, 3 layers, hidden 95, 5 heads", pathlib.Path(folder)))
        results = []
        for name, model in models:
            for path in options.data:
                texts = read_texts(path, options.rows)
                reference = embed_with_reference(model, texts)
                results.append(compare(name, path.name, reference, embed_with_inlay(options.inlay, model, texts)))
                print(json.dumps(results[-1]), flush=True)
    rows = [(r["model"], r["data"], r["texts"], f"{r['min_cosine']:.9f}", f"{r['max_difference']:.2e}") for r in results]
    text = report.table(["model", "texts of", "texts", "least cosine", "largest difference"], rows)
    print("\n" + text)
    if options.write:
        report.write_section("exactness", text)
    sys.exit(any(r["min_cosine"] < MIN_COSINE or r["max_difference"] > MAX_DIFFERENCE for r in results))


if __name__ == "__main__":
    main()
