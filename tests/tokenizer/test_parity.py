"""Token ids equal those of PyPI's `tokenizers`, on every character, on real texts and on random ones. Zero differences."""
import copy
import itertools
import json
import os
import pathlib

import pytest
import tokenizers

import parity
from parity import ESCAPE, LEFT, PLAIN, TextMaker, added_token, request, small_tokenizer, write_folder

MODEL = pathlib.Path(os.environ.get("INLAY_TEST_MODEL", parity.ROOT / "models/all-MiniLM-L6-v2"))
SEED = int(os.environ.get("INLAY_TEST_SEED", "20240611"))
RANDOM_TEXTS = 100_000


def reference(folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def as_text(data):
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data


def compare(folder, texts, flags=0, max_length=None):
    compare_groups(folder, [(texts, flags, max_length)])


def compare_groups(folder, groups):
    """Holds both sides against one another. A group is (texts, flags, max_length); a text is str, bytes or a pair of them."""
    groups = [([text if isinstance(text, tuple) else (text, None) for text in texts], flags, length) for texts, flags, length in groups]
    ours = iter(parity.encode(folder, [request(first, flags, length or parity.LONG, second)
                                       for pairs, flags, length in groups for first, second in pairs]))
    tokenizer = reference(folder)
    for pairs, flags, length in groups:
        if length is None:
            tokenizer.no_truncation()
        else:
            tokenizer.enable_truncation(length, direction="left" if flags & LEFT else "right")
        tokenizer.encode_special_tokens = bool(flags & ESCAPE)
        inputs = [as_text(first) if second is None else (as_text(first), as_text(second)) for first, second in pairs]
        for text, other in zip(inputs, tokenizer.encode_batch_fast(inputs, add_special_tokens=not flags & PLAIN)):
            expected = (other.ids, other.type_ids, bool(other.overflowing))
            assert next(ours) == expected, f"{text!r} flags {flags} max_length {length} seed {SEED}"


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("tokenizers") / "small", small_tokenizer())


@pytest.fixture(scope="session")
def folders(small_folder):
    return [small_folder] + ([MODEL] if MODEL.is_dir() else [])


FLAGS = list(itertools.product((True, False), (None, True, False), (True, False), (True, False)))


def bert_variant(folder, lowercase, strip_accents, chinese, clean):
    tokenizer = small_tokenizer()
    tokenizer["normalizer"] = {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese,
                               "strip_accents": strip_accents, "lowercase": lowercase}
    return write_folder(folder, tokenizer)


@pytest.mark.parametrize("flags", [(True, None, True, True), (False, None, True, True), (True, False, False, True), (False, True, True, False)])
def test_every_code_point(flags, tmp_path):
    folder = bert_variant(tmp_path, *flags)
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    # Words between spaces do not touch one another, so that many are tested in one text. "e\u0301" shows what comes between a letter
    # and its mark.
    texts = []
    for start in range(0, len(codes), 512):
        characters = [chr(code) for code in codes[start:start + 512]]
        texts += [" ".join(characters), " ".join(f"a{c}b" for c in characters)]
        if start < 0x1F000:
            texts.append(" ".join(f"e{c}\u0301\u0323" for c in characters))
    compare(folder, texts)


def test_every_bmp_character_as_a_whole_text(folders):
    for folder in folders:
        compare(folder, [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000])


@pytest.mark.parametrize("language", parity.LANGUAGES)
def test_real_texts(language, folders):
    rows = parity.read_rows(language)
    if not rows:
        pytest.skip("the shared texts are not at hand")
    for folder in folders:
        compare_groups(folder, [(rows, 0, None), (rows, 0, 64), (list(zip(rows[::2], rows[1::2])), 0, 50)])


def random_groups(maker, count):
    """(texts, flags, max_length) that together hold `count` texts."""
    settings = [(flags, length) for flags in (0, LEFT, PLAIN, LEFT | PLAIN, ESCAPE) for length in (None, 3, 4, 5, 8, 17)]
    each = count // len(settings) + 1
    for flags, length in settings:
        texts = []
        for index in range(each):
            make = maker.spoilt if index % 4 == 0 else maker.text
            texts.append((make(6), maker.text(9)) if index % 5 == 0 else make())
        yield texts, flags, length


def test_random_texts(tmp_path, folders):
    maker = TextMaker(SEED)
    variants = [bert_variant(tmp_path / str(index), *flags) for index, flags in enumerate(FLAGS)]
    everything = list(variants) + folders
    for folder in everything:
        compare_groups(folder, random_groups(maker, RANDOM_TEXTS // len(everything)))


NFKC = {"type": "NFKC"}
LOWER = {"type": "Lowercase"}
NORMALIZERS = [
    None, {"type": "NFC"}, {"type": "NFD"}, NFKC, {"type": "NFKD"}, LOWER, {"type": "Strip", "strip_left": True, "strip_right": False},
    {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, LOWER, {"type": "Strip", "strip_left": True, "strip_right": True}]},
    {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "e"}, "content": "oo"}, {"type": "Prepend", "prepend": "fo"}]},
    {"type": "Sequence", "normalizers": [LOWER, parity.BERT_NORMALIZER | {"lowercase": False, "strip_accents": False}, {"type": "NFC"}]},
]
PRE_TOKENIZERS = [
    None, {"type": "BertPreTokenizer"}, {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True},
    *({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": behavior}, {"type": "Digits", "individual_digits": False}]}
      for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")),
]
TOKEN_FLAGS = [dict(zip(("single_word", "lstrip", "rstrip", "normalized", "special"), flags)) for flags in itertools.product((False, True), repeat=5)]


def odd_tokenizer(maker, normalizer, pre_tokenizer):
    """Adds tokens with random flags, among them ones that overlap, hold spaces or are written with accents."""
    tokenizer = copy.deepcopy(small_tokenizer(normalizer=normalizer, pre_tokenizer=pre_tokenizer))
    for content in ("fox", "foxing", "Café", "hello world", "##", "ox", " quick", "日本", "e\u0301", "newtoken", "[SE", "é", "the ", "7"):
        if maker.random.random() < 0.6:
            tokenizer["added_tokens"].append(added_token(content, 99999, **maker.random.choice(TOKEN_FLAGS)))
    for token in tokenizer["added_tokens"][:5]:
        token.update(maker.random.choice(TOKEN_FLAGS))
    return tokenizer


@pytest.mark.parametrize("index", range(len(NORMALIZERS)))
def test_other_pipelines(index, tmp_path):
    maker = TextMaker(SEED + index)
    for number, pre_tokenizer in enumerate(PRE_TOKENIZERS):
        # Two tokens that normalize alike are an error or a matter of chance in the reference; such a draw is drawn again.
        for _ in range(20):
            tokenizer = odd_tokenizer(maker, NORMALIZERS[index], pre_tokenizer)
            if not has_twins(tokenizer):
                break
        folder = write_folder(tmp_path / str(number), tokenizer)
        texts = [maker.text() for _ in range(80)] + [long_text(maker) for _ in range(4)]
        compare_groups(folder, [(texts, 0, None), (texts, ESCAPE, None), (texts, 0, 11)])


def has_twins(tokenizer):
    normalizer = tokenizers.Tokenizer.from_str(json.dumps(tokenizer | {"added_tokens": []})).normalizer
    tokens = [token["content"] for token in tokenizer["added_tokens"] if token["normalized"]]
    patterns = [normalizer.normalize_str(content) if normalizer else content for content in tokens]
    return len(set(patterns)) < len(patterns) or "" in patterns


def long_text(maker):
    """Longer than a chunk, with the plain words between which chunks are cut."""
    return " ".join(maker.text(6) + " the quick brown fox hello world" for _ in range(200))


def test_long_texts_are_cut_without_a_trace(folders):
    maker = TextMaker(SEED)
    texts = [long_text(maker) for _ in range(20)] + ["日本語" * 5000, "日本 a 語" * 3000, "é" * 9000, "[SEP]" * 4000, "x [SEP] " * 3000, "か\u3099" * 6000]
    for folder in folders:
        compare_groups(folder, [(texts, flags, length) for flags, length in ((0, None), (0, 700), (LEFT, 700), (0, 2500))])
