#!/usr/bin/env python3
"""Writes the golden folders of encoders other than plain BERT: small random models, with the ids and vectors that transformers
gives for a few texts. tests/golden/README.md describes what is written.

    python tools/make_golden_architectures.py [--out tests/golden] [--only qwen3-tiny]
"""

import argparse
import shutil
from pathlib import Path

import golden_berts
import golden_decoders
import torch

WRITERS = {
    "modernbert-tiny": golden_decoders.write_modernbert,
    "qwen3-tiny": golden_decoders.write_qwen3,
    "qwen2-tiny": golden_decoders.write_qwen2,
    "llama-tiny": golden_decoders.write_llama,
    "llama-bidirectional": golden_decoders.write_llama_bidirectional,
    "mistral-tiny": golden_decoders.write_mistral,
    "eurobert-tiny": golden_decoders.write_eurobert,
    "gemma3-tiny": golden_decoders.write_gemma3,
    "mpnet-tiny": golden_berts.write_mpnet,
    "t5-tiny": golden_berts.write_t5,
    "t5-gated": golden_berts.write_t5_gated,
    "nomic-tiny": golden_berts.write_nomic,
    "nomic-moe": golden_berts.write_nomic_moe,
    "gte-tiny": golden_berts.write_gte,
    "gte-transformers": golden_berts.write_gte_plain,
    "jina-v3-tiny": golden_berts.write_jina_v3,
    "jina-bert-tiny": golden_berts.write_jina_bert,
    "deberta-v3-tiny": golden_berts.write_deberta,
    "deberta-v2-tiny": golden_berts.write_deberta_v2,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "tests/golden")
    parser.add_argument("--only", choices=sorted(WRITERS), help="one folder instead of all")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in [arguments.only] if arguments.only else WRITERS:
        shutil.rmtree(arguments.out / name, ignore_errors=True)
        folder = arguments.out / name / "model"
        folder.mkdir(parents=True)
        WRITERS[name](folder)


if __name__ == "__main__":
    main()
