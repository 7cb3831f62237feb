#!/usr/bin/env python3
"""Trains the small tokenizers of tests/data/tokenizers: one of each kind that embedding models come with.

    python3 tests/tokenizer/make_tokenizers.py TEXTS.jsonl...     # needs: pip install tokenizers==0.23.3 sentencepiece transformers

The texts are any JSON lines with a "text" field, best in several languages. What is written is committed; test_small_models.py
compares on it with the reference, which it asks at test time.
"""
import base64
import json
import pathlib
import sys
import tempfile
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = pathlib.Path(__file__).resolve().parents[1] / "data/tokenizers"
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def read_texts(paths, per_file=150):
    for path in paths:
        for line in list(open(path, encoding="utf-8"))[:per_file]:
            yield json.loads(line)["text"][:400]


def save(name, tokenizer, **config):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")


def template(tokenizer, single, pair):
    names = {piece.split(":")[0] for piece in (single + " " + pair).split() if not piece.startswith("$")}
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(name, tokenizer.token_to_id(name)) for name in sorted(names)])


def train(tokenizer, trainer, texts):
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def byte_level(texts, split, specials, size=700, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False,
                                                initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), texts)


def byte_level_models(texts):
    roberta = byte_level(texts, pre_tokenizers.ByteLevel(add_prefix_space=False), ["<s>", "<pad>", "</s>", "<unk>"])
    roberta.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    roberta.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    save("roberta", roberta)
    # The same as GPT-2's and RoBERTa's own files have it.
    folder = OUT / "roberta-files"
    folder.mkdir(exist_ok=True)
    model = json.loads(roberta.to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"] | {"<mask>": 700}, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in model["merges"]), encoding="utf-8")
    mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "RobertaTokenizer", "mask_token": mask}) + "\n")

    split = lambda pattern: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                                     pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    qwen = byte_level(texts, split(QWEN), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    qwen.normalizer = normalizers.NFC()
    qwen.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template(qwen, "$A <|endoftext|>:0", "$A:0 $B:0 <|endoftext|>:0")])
    save("qwen", qwen)
    llama = byte_level(texts, split(LLAMA), ["<|begin_of_text|>", "<|end_of_text|>"], ignore_merges=True)
    llama.post_processor = template(llama, "<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1")
    save("llama3", llama)


def sentencepiece_model(texts, name, model_type, size, **options):
    """A folder with sentencepiece's own file, and that file parsed."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        rules = pathlib.Path(scratch) / "rules.tsv"
        # A part of NFKC: full and half width, ligatures, circled digits, and composition, where clusters matter.
        sources = [chr(c) for low, high in ((0xFF01, 0xFFA0), (0xFB00, 0xFB07), (0x2460, 0x2474), (0x2000, 0x200B), (0xA0, 0xC0), (0x2026, 0x2027)) for c in range(low, high)]
        sources += [unicodedata.normalize("NFD", chr(c)) for c in range(0xC0, 0x180)] + ["\t", "\n", "\r", "\r\n", "\u200d", "か\u3099"]
        pairs = {s: " " if s in "\t\n\r\r\n\u200d" else unicodedata.normalize("NFKC", s) for s in sources}
        rules.write_text("".join(f"{' '.join(f'{ord(c):X}' for c in s)}\t{' '.join(f'{ord(c):X}' for c in t)}\n" for s, t in pairs.items() if s != t))
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_prefix=f"{scratch}/m", model_type=model_type, vocab_size=size,
                                                 normalization_rule_tsv=str(rules), minloglevel=2, num_threads=1, hard_vocab_limit=False, **options)
        data = pathlib.Path(f"{scratch}/m.model").read_bytes()
    model = proto.ModelProto.FromString(data)
    model.trainer_spec.ClearField("input")
    model.trainer_spec.ClearField("model_prefix")
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    return folder, model


def unigram_models(texts):
    folder, model = sentencepiece_model(texts, "xlmr-files", "unigram", 700, character_coverage=0.99)
    (folder / "sentencepiece.bpe.model").write_bytes(model.SerializeToString())
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMRobertaTokenizer"}\n')
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + [(p.piece, p.score) for p in model.pieces[3:]] + [("<mask>", 0.0)]
    for name, steps in (("xlmr", pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])), ("xlmr-new", pre_tokenizers.Metaspace())):
        tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
        charsmap = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
        tokenizer.normalizer = charsmap
        if name == "xlmr-new":
            tokenizer.normalizer = normalizers.Sequence([charsmap, normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")])
        tokenizer.pre_tokenizer = steps
        tokenizer.decoder = decoders.Metaspace()
        tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)])
        tokenizer.post_processor = template(tokenizer, "<s> $A </s>", "<s> $A </s> </s> $B </s>")
        save(name, tokenizer)
    byte_tokens = [(f"<0x{byte:02X}>", 0.0) for byte in range(256)]
    fallback = Tokenizer(models.Unigram([("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + byte_tokens + pieces[4:300], unk_id=2, byte_fallback=True))
    fallback.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    fallback.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    fallback.add_special_tokens(["<pad>", "</s>", "<unk>"])
    fallback.post_processor = template(fallback, "$A </s>", "$A </s> $B </s>")
    save("t5", fallback)


def sentencepiece_bpe_models(texts):
    folder, model = sentencepiece_model(texts, "llama-files", "bpe", 1100, byte_fallback=True, character_coverage=0.98, split_digits=True)
    (folder / "tokenizer.model").write_bytes(model.SerializeToString())
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer", "legacy": false, "add_bos_token": true, "add_eos_token": true}\n')
    # What transformers, which makes a tokenizer of the file by rules of its own, makes of some texts.
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    cases = [text[:120] for text in texts[::40]] + ["", " ", "a  b\n\tc", "12345", "</s>x <s>", "▁▁a", "Ａé\u0301😀", "<0x41> <unk>"]
    (folder / "expected.json").write_text(json.dumps([{"text": text, "ids": reference(text).input_ids} for text in cases], ensure_ascii=False) + "\n", encoding="utf-8")


def other_models(texts):
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    words.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    save("words", train(words, trainers.WordLevelTrainer(vocab_size=500, special_tokens=["[UNK]", "[PAD]"], show_progress=False), texts))
    # As CLIP has it: characters end words with a suffix.
    suffix = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>", continuing_subword_prefix="##", fuse_unk=True))
    suffix.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    suffix.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    suffix.decoder = decoders.BPEDecoder()
    save("suffix", train(suffix, trainers.BpeTrainer(vocab_size=500, special_tokens=["[UNK]"], end_of_word_suffix="</w>", continuing_subword_prefix="##",
                                                     limit_alphabet=120, show_progress=False), texts))


def main():
    texts = list(read_texts(sys.argv[1:]))
    byte_level_models(texts)
    unigram_models(texts)
    sentencepiece_bpe_models(texts)
    other_models(texts)


if __name__ == "__main__":
    main()
