"""The part of a text that each token stands for equals what PyPI's `tokenizers` says. Zero differences; where Inlay says that it does not know, it
is counted, and only pipelines that no model has may make it say so."""
import itertools
import json
import os
import pathlib

import pytest

import parity
from parity import ESCAPE, LEFT, OFFSETS, PLAIN, TextMaker, added_token, request, small_tokenizer, write_folder
from test_small_models import DATA, NORMALIZERS, ODD, SCHEMES, SMALL, SPLITS, STRATEGIES, METASPACE, as_text, cluster_text, reference

MODEL = pathlib.Path(os.environ.get("INLAY_TEST_MODEL", parity.ROOT / "models/all-MiniLM-L6-v2"))
SEED = int(os.environ.get("INLAY_TEST_SEED", "20240613"))
# What changes length, moves, disappears, or is put there.
UGLY = ["İstanbul ΣΑΣ ǅ ß", "ﬁne ½ Ⅳ ㌔ ①", "e\u0301\u0323 \u0301x \u0344 ạ\u0302", "日本 語。テスト 中", "한국어 각", "\ufeffzero\u200bwidth\u00ad\u0000", "a" * 120 + " b", "  two  spaces  ", "x\n\n y\r\n",
        "[CLS] a [MASK]b [SEP]", "<s> a <mask>b </s>", "👩\u200d👧 😀", "\u0085\u00a0 a", "\u0915\u094d\u0924 \u0e33", "\u200d", "\u0301", "▁▁a ▁b", "café", "cafe\u0301 Ａ１ｶﾞ", "<0x0A>\n"]


def compare(folder, texts, flags=0, max_length=None, strategy="longest_first"):
    """How many tokens of the texts, which may be pairs, have no known place; all others are held against the reference."""
    tokenizer = reference(folder)
    if max_length:
        tokenizer.enable_truncation(max_length, strategy=strategy, direction="left" if flags & LEFT else "right")
    tokenizer.encode_special_tokens = bool(flags & ESCAPE)
    pairs = [text if isinstance(text, tuple) else (text, None) for text in texts]
    ours = parity.encode(folder, [request(first, flags | OFFSETS, max_length or parity.LONG, second) for first, second in pairs])
    inputs = [as_text(first) if second is None else (as_text(first), as_text(second)) for first, second in pairs]
    unknown = 0
    for text, mine, other in zip(inputs, ours, tokenizer.encode_batch(inputs, add_special_tokens=not flags & PLAIN)):
        assert mine[0] == other.ids
        expected = [None if special else place for special, place in zip(other.special_tokens_mask, other.offsets)]
        places = [theirs if place is None else place for place, theirs in zip(mine[3], expected)]
        unknown += sum(place is None and theirs is not None for place, theirs in zip(mine[3], expected))
        assert places == expected, f"{text!r} in {folder} flags {flags} max_length {max_length} seed {SEED}"
    return unknown


def random_texts(maker, count):
    return [maker.text() for _ in range(count)] + [maker.spoilt() for _ in range(count // 4)] + [cluster_text(maker) for _ in range(count // 4)]


FOLDERS = {name: DATA / name for name in SMALL} | {"golden": parity.ROOT / "tests/golden/bert-tiny/model"} | ({"MiniLM": MODEL} if MODEL.is_dir() else {})


@pytest.mark.parametrize("name", FOLDERS)
def test_random_texts(name):
    texts = ODD + UGLY + random_texts(TextMaker(SEED), 800)
    assert compare(FOLDERS[name], texts) == 0
    assert compare(FOLDERS[name], texts[::5], ESCAPE | PLAIN) == 0


@pytest.mark.parametrize("name", FOLDERS)
def test_every_code_point(name):
    characters = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    blocks = [characters[start:start + 256] for start in range(0, len(characters), 256)]
    assert compare(FOLDERS[name], [" a".join(block) for block in blocks] + ["e\u0301".join(block) for block in blocks]) == 0


@pytest.mark.parametrize("name", FOLDERS)
def test_real_texts(name):
    rows = [row for language in parity.LANGUAGES for row in parity.read_rows(language)[::20]]
    if not rows:
        pytest.skip("the shared texts are not at hand")
    assert compare(FOLDERS[name], rows) == 0


@pytest.mark.parametrize("name", FOLDERS)
def test_texts_and_pairs_that_are_cut(name):
    maker = TextMaker(SEED)
    texts = ODD + [maker.text() for _ in range(100)]
    pairs = [(maker.text(5), maker.text(5)) for _ in range(60)] + [("", "a"), ("a", "")]
    for flags, length in itertools.product((0, LEFT, PLAIN), (5, 8, 13, 24, None)):
        assert compare(FOLDERS[name], texts, flags, length) == 0
        assert compare(FOLDERS[name], pairs, flags, length) == 0


@pytest.mark.parametrize("flags", list(itertools.product((True, False), (None, True, False), (True, False), (True, False))))
def test_bert_normalizers(flags, tmp_path):
    names = ("lowercase", "strip_accents", "handle_chinese_chars", "clean_text")
    folder = write_folder(tmp_path, small_tokenizer(normalizer={"type": "BertNormalizer"} | dict(zip(names, flags))))
    assert compare(folder, UGLY + random_texts(TextMaker(SEED), 200)) == 0


TOKENS = [added_token(content, lstrip=lstrip, rstrip=rstrip, normalized=normalized, special=False)
          for content, lstrip, rstrip, normalized in (("fox", True, False, False), ("Café", False, True, True), (" quick", False, False, True), ("[new]", True, True, False), ("é", True, True, True))]


@pytest.mark.parametrize("post_processor", [{"type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2], "trim_offsets": True, "add_prefix_space": prefix} for prefix in (True, False)] + [None])
def test_added_tokens_take_their_white_space(post_processor, tmp_path):
    tokenizer = small_tokenizer()
    size = len(tokenizer["model"]["vocab"])
    tokens = [token | {"id": tokenizer["model"]["vocab"].get(token["content"], size + index)} for index, token in enumerate(TOKENS)]
    folder = write_folder(tmp_path, tokenizer | {"added_tokens": tokenizer["added_tokens"] + tokens, "post_processor": post_processor})
    maker = TextMaker(SEED)
    texts = [" ".join(maker.random.choice(["a", " fox ", "Café", "[new]\n", "é", "x quick", " ", maker.word()]) for _ in range(8)) for _ in range(300)]
    assert compare(folder, ["  fox  Café  [new]  ", "\u3000[new]\u00a0a", *texts]) == 0


PROCESSORS = [{"type": "ByteLevel", "trim_offsets": trim, "add_prefix_space": prefix, "use_regex": True} for trim in (True, False) for prefix in (True, False)]


@pytest.mark.parametrize("prefix, processor", list(itertools.product((True, False), PROCESSORS + [{"type": "Sequence", "processors": PROCESSORS[:2]}])))
def test_white_space_is_trimmed_as_the_post_processor_says(prefix, processor, tmp_path):
    tokenizer = json.loads((DATA / "roberta/tokenizer.json").read_text(encoding="utf-8"))
    tokenizer |= {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True}, "post_processor": processor}
    folder = write_folder(tmp_path, tokenizer)
    texts = [" a", "  a", "a  b ", "\n a", "", " ", "<mask> a  <mask>", *UGLY, *random_texts(TextMaker(SEED), 100)]
    assert compare(folder, texts) == 0
    assert compare(folder, texts, LEFT, 5) == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_metaspace(scheme, tmp_path):
    tokenizer = json.loads((DATA / "xlmr/tokenizer.json").read_text(encoding="utf-8"))
    steps = METASPACE | SCHEMES[scheme]
    for number, split in enumerate((steps, {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, steps]}, {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Isolated"}, steps]})):
        folder = write_folder(tmp_path / str(number), tokenizer | {"pre_tokenizer": split})
        assert compare(folder, ["Hello world", "</s>hello", "  hi  you", "a ▁b▁▁c ", *ODD, *UGLY, *random_texts(TextMaker(SEED), 100)]) == 0


FORMS = [{"type": form} for form in ("NFC", "NFD", "NFKC", "NFKD")]
TWICE = [{"type": "Sequence", "normalizers": list(two)} for two in itertools.product(FORMS + [{"type": "Lowercase"}, {"type": "StripAccents"}], repeat=2)]


@pytest.mark.parametrize("name", ["xlmr", "roberta", "words", "suffix"])
def test_normalizers_one_after_the_other(name, tmp_path):
    tokenizer = json.loads((DATA / name / "tokenizer.json").read_text(encoding="utf-8"))
    maker = TextMaker(SEED)
    for number, normalizer in enumerate(FORMS + TWICE):
        folder = write_folder(tmp_path / str(number), tokenizer | {"normalizer": normalizer})
        assert compare(folder, UGLY + random_texts(maker, 40)) == 0


# In the engine of the reference, \w in a class is not the \w outside.
PLAIN_SPLITS = [split for split in SPLITS if "[^\\\\w" not in json.dumps(split)]


@pytest.mark.parametrize("name", ["t5", "roberta"])
def test_steps_in_many_combinations(name, tmp_path):
    tokenizer = json.loads((DATA / name / "tokenizer.json").read_text(encoding="utf-8"))
    maker = TextMaker(SEED)
    for number, (split, normalizer) in enumerate(itertools.zip_longest(PLAIN_SPLITS, NORMALIZERS)):
        folder = write_folder(tmp_path / str(number), tokenizer | {"pre_tokenizer": split, "normalizer": normalizer or maker.random.choice(NORMALIZERS)})
        compare(folder, [*ODD, *UGLY, *random_texts(maker, 80)])


def test_unknown_text_and_bytes(tmp_path):
    """Tokens of bytes, unknown tokens that are fused or not, and characters that are dropped: each model has its own way."""
    maker = TextMaker(SEED)
    texts = UGLY + random_texts(maker, 150)
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    letters = list("abcdefghilnorstu ▁")
    for number, (fuse, fallback, unknown) in enumerate(itertools.product((True, False), (True, False), ("<unk>", None))):
        vocabulary = dict.fromkeys(["<unk>", *letters, "th", "the", *(byte_tokens if fallback else [])])
        model = {"type": "BPE", "unk_token": unknown, "fuse_unk": fuse, "byte_fallback": fallback, "merges": [["t", "h"], ["th", "e"]],
                 "vocab": {token: index for index, token in enumerate(vocabulary)}}
        folder = write_folder(tmp_path / f"bpe{number}", {"version": "1.0", "added_tokens": [], "model": model, "normalizer": None, "pre_tokenizer": None, "post_processor": None})
        compare(folder, texts)
    for fallback in (True, False):
        vocabulary = [["<unk>", 0], *([letter, -2] for letter in letters), ["the", -3], *([token, 0] for token in byte_tokens)]
        model = {"type": "Unigram", "unk_id": 0, "byte_fallback": fallback, "vocab": vocabulary}
        folder = write_folder(tmp_path / f"unigram{fallback}", {"version": "1.0", "added_tokens": [], "model": model, "normalizer": None, "pre_tokenizer": None, "post_processor": None})
        assert compare(folder, texts) == 0
