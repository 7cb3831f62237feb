#!/usr/bin/env python3
"""Makes a seeded random model of BERT-base's shape (12 layers of 768), with the tokenizer of a real one, and prints the
command that measures it beside other engines.

Usage: base_shape.py FOLDER [--tokenizer MODEL_FOLDER] [--texts TEXTS.jsonl]
"""
import argparse
import pathlib

import measure
import random_model

SEED = 20240607


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path, default=measure.DEMO_MODEL, help="folder whose tokenizer it gets")
    parser.add_argument("--texts", type=pathlib.Path, default=pathlib.Path("TEXTS.jsonl"), help="for the command that is printed")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    vocabulary = random_model.copy_tokenizer(options.tokenizer, options.folder)
    random_model.write_model(options.folder, random_model.bert_config(768, 12, vocabulary, 512), SEED)
    print(f"python bench/peers.py {options.texts} --model {options.folder} --docs 320 --section speed-base --write")


if __name__ == "__main__":
    main()
