#!/usr/bin/env python3
"""Speed of the tokenizer beside PyPI's `tokenizers`, both on one thread, in one run, on the same texts.

    python3 bench/tokenizer_speed.py MODEL_FOLDER [--shared ../shared] [--rounds 5] [--rows N] [--languages en,zh] [--json]

Needs tests/requirements.txt and a release build. Each side encodes every text of a language in turn, special tokens added and
nothing truncated; the fastest of as many rounds counts on either side. `tokenizers` is timed through encode_batch_fast, its quickest call, and
through encode, the usual one.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402  (the variable must be set before)

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/tokenizer"))
import parity  # noqa: E402


def time_inlay(model, texts, rounds):
    requests = b"".join(parity.request(text) for text in texts)
    run = subprocess.run([parity.PROGRAM, model, "--time", str(rounds)], input=requests, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def fastest(rounds, call):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path, default=parity.SHARED)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="no more texts of a language than this")
    parser.add_argument("--languages", default=",".join(parity.LANGUAGES))
    parser.add_argument("--json", action="store_true", help="one JSON line a language")
    arguments = parser.parse_args()
    parity.SHARED = arguments.shared
    reference = tokenizers.Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    if not arguments.json:
        print(f"{'':4} {'Inlay MB/s':>11} {'ids/us':>7} {'batch_fast':>11} {'encode':>8} {'ratio':>7} {'ratio':>7}")
    for language in arguments.languages.split(","):
        texts = parity.read_rows(language)[: arguments.rows]
        if not texts:
            sys.exit(f"no texts of {language} in {arguments.shared}")
        ours = time_inlay(arguments.model, texts, arguments.rounds)
        batch = fastest(arguments.rounds, lambda: reference.encode_batch_fast(texts))
        single = fastest(arguments.rounds, lambda: [reference.encode(text) for text in texts])
        speed, ids = ours["bytes"] / ours["seconds"] / 1e6, ours["ids"] / ours["seconds"] / 1e6
        row = {"language": language, "inlay_mb_s": speed, "encode_batch_fast_mb_s": ours["bytes"] / batch / 1e6,
               "encode_mb_s": ours["bytes"] / single / 1e6, "ratio_to_batch_fast": batch / ours["seconds"], "ratio_to_encode": single / ours["seconds"]}
        if arguments.json:
            print(json.dumps(row))
        else:
            print(f"{language:4} {speed:11.1f} {ids:7.2f} {row['encode_batch_fast_mb_s']:11.2f} {row['encode_mb_s']:8.2f} "
                  f"{row['ratio_to_batch_fast']:7.1f} {row['ratio_to_encode']:7.1f}", flush=True)


main()
