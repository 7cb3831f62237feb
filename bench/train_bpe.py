#!/usr/bin/env python3
"""Trains a byte-level BPE with the cut of Qwen's tokenizers on the shared texts, for tokenizer_speed.py where no real one is at hand.

    python3 bench/train_bpe.py FOLDER [--size 40000] [--shared ../shared]
"""
import argparse
import json
import pathlib

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

CUT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=40_000)
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "shared")
    arguments = parser.parse_args()
    texts = [json.loads(line)["text"] for path in sorted(arguments.shared.glob("data/*.jsonl")) for line in open(path, encoding="utf-8")]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CUT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=arguments.size, special_tokens=["<|endoftext|>"], show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(arguments.folder / "tokenizer.json"))
    print(f"{arguments.folder}: {tokenizer.get_vocab_size()} tokens, trained on the texts that it will be measured on")


main()
