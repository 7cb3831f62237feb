#!/usr/bin/env python3
"""Trains the folders of tests/data/tokenizers/files: what classes of transformers read without a tokenizer.json.

    python3 tests/tokenizer/make_file_tokenizers.py TEXTS.jsonl...     # needs: pip install tokenizers sentencepiece transformers==5.24.0

A model file serves several folders, which differ in the JSON files beside it; test_file_tokenizers.py lays them out as cases.json says.
`expected` holds the ids that transformers makes of the texts there (pairs are lists of two).
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import transformers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

import make_tokenizers as base

OUT = base.OUT / "files"
UGLY = ["", " ", "  two  spaces ", "a\n\nb\tc\r\nd", "Hello, World! HELLO", "``quoted'' text", "it's don’t 3,14 1,000,000", "Café e\u0301 n\u0303 ﬁ Ａ１ ① …",
        "日本語のテスト。中文，测试", "Привет, мир — ёлка", "😀👍🏽 ok😀", "zero\u200bwidth soft\u00adhyphen\ufeff", "▁▁a ▁b", "x" * 60, "한국어 مرحبا", "\u00a0nbsp\u3000wide\u2028line",
        "a\0b\ufffdc", "[CLS] x [SEP] [MASK]y [PAD]", "<s>x</s> <mask> y<pad><unk>", "<extra_id_0> x<extra_id_99>", "<bos>a<eos> <start_of_turn>user\n\n\n   x",
        "<|endoftext|>a<|im_start|> b", "Hello [NEW]world <new> [new]", "<s>NOTUSED </s>NOTUSED <unk>NOTUSED", "İI ß Straße ΑΣ", "12345 ６７８ ½", "a\u180eb", "\u0301x"]
SPECIAL = {"[NEW]": {"content": "[NEW]", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}}


def real_texts(paths, each=8):
    return [text[:100] for path in paths for text in list(base.read_texts([path]))[::18][:each]]


def spm(texts, name, file, model_type, size, **options):
    folder, model = base.sentencepiece_model(texts, f"files/{name}", model_type, size, **options)
    (folder / file).write_bytes(model.SerializeToString())


def train(texts):
    spm(texts, "camembert", "sentencepiece.bpe.model", "unigram", 500, character_coverage=0.98)
    spm(texts, "albert", "spiece.model", "unigram", 500, character_coverage=0.98, pad_id=0, unk_id=1, bos_id=-1, eos_id=-1,
        pad_piece="<pad>", unk_piece="<unk>", control_symbols=["[CLS]", "[SEP]", "[MASK]"])
    spm(texts, "deberta", "spm.model", "unigram", 500, character_coverage=0.98, pad_id=0, bos_id=1, eos_id=2, unk_id=3,
        pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
    spm(texts, "t5", "spiece.model", "unigram", 500, character_coverage=0.98, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>")
    spm(texts, "gemma", "tokenizer.model", "bpe", 900, character_coverage=0.98, byte_fallback=True, split_digits=True, add_dummy_prefix=False,
        remove_extra_whitespaces=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
        user_defined_symbols=["<mask>", "<start_of_turn>", "<end_of_turn>", "\n", "\n\n", "\n\n\n", "▁▁", "▁▁▁"])
    pieces(texts, "gpt2", pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(base.QWEN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    pieces(texts, "qwen", split, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])


def pieces(texts, name, split, specials):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    model = json.loads(base.byte_level(texts, split, specials, size=600).to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in model["merges"]), encoding="utf-8")


def config(name, **keys):
    return {"tokenizer_config.json": {"tokenizer_class": name} | keys}


# name: (folder with the model, the JSON files beside it)
CASES = {
    "camembert": ("camembert", config("CamembertTokenizer")),
    "camembert-by-model-type": ("camembert", {"config.json": {"model_type": "camembert"}}),
    "camembert-no-prefix": ("camembert", config("CamembertTokenizer", add_prefix_space=False)),
    "camembert-map": ("camembert", config("CamembertTokenizer") | {"special_tokens_map.json": {"mask_token": "<mask>", "additional_special_tokens": ["<s>NOTUSED", "</s>NOTUSED"]}}),
    "albert": ("albert", config("AlbertTokenizer")),
    "albert-accents": ("albert", config("AlbertTokenizer", keep_accents=True)),
    "albert-cased": ("albert", config("AlbertTokenizerFast", do_lower_case=False, keep_accents=True)),
    "albert-tokens": ("albert", config("AlbertTokenizer", mask_token={"__type": "AddedToken", "content": "[MASK]", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False})),
    "deberta": ("deberta", config("DebertaV2Tokenizer", do_lower_case=False) | {"added_tokens.json": {"[MASK]": 500}}),
    "deberta-by-model-type": ("deberta", {"config.json": {"model_type": "deberta-v2"}, "tokenizer_config.json": {"do_lower_case": False, "vocab_type": "spm"}}),
    "deberta-punctuation": ("deberta", config("DebertaV2Tokenizer", split_by_punct=True)),
    "deberta-lower": ("deberta", config("DebertaV2Tokenizer", do_lower_case=True) | {"special_tokens_map.json": {"mask_token": SPECIAL["[NEW]"]}}),
    "t5": ("t5", config("T5Tokenizer")),
    "t5-extra": ("t5", config("T5Tokenizer", extra_ids=7)),
    "t5-listed": ("t5", config("T5Tokenizer", extra_ids=100, additional_special_tokens=[f"<extra_id_{i}>" for i in range(100)])),
    "t5-none": ("t5", config("T5Tokenizer", extra_ids=0)),
    "gemma": ("gemma", config("GemmaTokenizer", add_bos_token=True, add_eos_token=False)),
    "gemma-silent": ("gemma", config("GemmaTokenizer")),
    "gemma-both": ("gemma", config("GemmaTokenizer", add_bos_token=True, add_eos_token=True)),
    "gemma-neither": ("gemma", config("GemmaTokenizerFast", add_bos_token=False, add_eos_token=False)),
    "gemma-decoder": ("gemma", config("GemmaTokenizer", add_bos_token=True, add_eos_token=True, additional_special_tokens=["<start_of_turn>", "<end_of_turn>"], added_tokens_decoder={
        str(i): {"content": t, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
        for i, t in enumerate(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"])})),
    "llama-legacy": ("../llama-files", config("LlamaTokenizer", legacy=True, add_bos_token=True)),
    "llama-silent": ("../llama-files", config("LlamaTokenizer")),
    "llama-no-prefix": ("../llama-files", config("LlamaTokenizerFast", legacy=False, add_prefix_space=False, add_eos_token=True)),
    "xlmr": ("../xlmr-files", config("XLMRobertaTokenizer")),
    "xlmr-map": ("../xlmr-files", config("XLMRobertaTokenizer", mask_token="<mask>") | {"special_tokens_map.json": {
        "mask_token": {"content": "<mask>", "single_word": False, "lstrip": False, "rstrip": True, "normalized": False}}}),
    "roberta": ("../roberta-files", config("RobertaTokenizer")),
    "roberta-map": ("../roberta-files", config("RobertaTokenizer") | {"special_tokens_map.json": {
        "mask_token": {"content": "<mask>", "single_word": False, "lstrip": True, "rstrip": False, "normalized": False}}}),
    "roberta-prefix": ("../roberta-files", config("RobertaTokenizer", add_prefix_space=True, unk_token="<unk>")),
    "gpt2": ("gpt2", config("GPT2Tokenizer")),
    "gpt2-prefix": ("gpt2", config("GPT2Tokenizer", add_prefix_space=True)),
    "gpt2-bos": ("gpt2", config("GPT2Tokenizer", add_bos_token=True)),
    "gpt2-added": ("gpt2", config("GPT2Tokenizer", pad_token="<new>") | {"added_tokens.json": {"[NEW]": 601}}),
    "qwen2": ("qwen", config("Qwen2Tokenizer")),
    "qwen2-by-model-type": ("qwen", {"config.json": {"model_type": "qwen2"}}),
    "qwen2-eos": ("qwen", config("Qwen2Tokenizer", add_eos_token=True, add_prefix_space=True)),
    "qwen2-tokens": ("qwen", config("Qwen2Tokenizer", eos_token="<|im_end|>", additional_special_tokens=["<|im_start|>", "<|im_end|>"], add_bos_token=False, added_tokens_decoder={
        str(i): {"content": t, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True} for i, t in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])})),
}


def lay_out(case, folder):
    source, files = case
    shutil.copytree(OUT / source, folder)
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


def expected(case, texts, scratch):
    tokenizer = transformers.AutoTokenizer.from_pretrained(lay_out(case, scratch))
    pairs = [["Hello, World", "a second  text"], ["", "x"]]
    return [tokenizer(text).input_ids for text in texts] + [tokenizer(*pair).input_ids for pair in pairs]


def main():
    texts = list(base.read_texts(sys.argv[1:]))
    if not os.environ.get("KEEP_MODELS"):
        train(texts)
    shown = UGLY + real_texts(sys.argv[1:])
    result = {"texts": shown + [["Hello, World", "a second  text"], ["", "x"]], "cases": {}}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as scratch:
            ids = expected(case, shown, pathlib.Path(scratch) / "model")
        result["cases"][name] = {"model": case[0], "files": case[1], "ids": ids}
    lines = ",\n".join(f'"{name}":' + json.dumps(case, ensure_ascii=False, separators=(",", ":")) for name, case in result["cases"].items())
    texts = json.dumps(result["texts"], ensure_ascii=False)
    (OUT / "cases.json").write_text(f'{{"texts":{texts},\n"cases":{{\n{lines}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
