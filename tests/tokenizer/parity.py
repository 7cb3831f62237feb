"""What the parity tests share: the program of this project, folders to run it on, and random texts."""
import functools
import json
import os
import pathlib
import random
import struct
import subprocess
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("INLAY_BINARY", ROOT / "build/release/inlay")).parent / "tokenizer_parity"
SHARED = pathlib.Path(os.environ.get("INLAY_SHARED", ROOT.parent / "shared"))
LANGUAGES = "en de fr ru ja zh".split()
PAIR, PLAIN, LEFT, NONE, ESCAPE, ONLY_FIRST, ONLY_SECOND, OFFSETS = 1, 2, 4, 8, 16, 32, 64, 128
LONG = 1 << 30


def request(text, flags=0, max_length=LONG, second=None):
    """Bytes that ask for one encoding; texts are str or bytes."""
    parts = [struct.pack("<Bi", flags | (PAIR if second is not None else 0), max_length)]
    for part in (text, second):
        if part is not None:
            part = part.encode() if isinstance(part, str) else part
            parts += [struct.pack("<I", len(part)), part]
    return b"".join(parts)


def encode(folder, requests):
    """[(ids, types, truncated)], None where encoding failed. Those that were asked for OFFSETS have them behind: pairs, None for unknown ones."""
    run = subprocess.run([PROGRAM, folder], input=b"".join(requests), stdout=subprocess.PIPE, check=True)
    answers, at, out = [], 0, run.stdout
    for asked in requests:
        (count,) = struct.unpack_from("<i", out, at)
        at += 4
        if count < 0:
            answers.append(None)
            continue
        flags = out[at]
        ids = list(struct.unpack_from(f"<{count}i", out, at + 1))
        at += 1 + 4 * count
        types = [0] * count
        if flags & 2:
            types = list(struct.unpack_from(f"<{count}i", out, at))
            at += 4 * count
        answer = (ids, types, bool(flags & 1))
        if asked[0] & OFFSETS:
            ends = struct.unpack_from(f"<{2 * count}i", out, at)
            at += 8 * count
            answer += ([None if begin < 0 else (begin, end) for begin, end in zip(ends[::2], ends[1::2])],)
        answers.append(answer)
    assert at == len(out)
    return answers


def decode(folder, requests):
    """Texts of [(ids, skip special tokens)], None where decoding failed."""
    data = b"".join(struct.pack(f"<BI{len(ids)}i", skip, len(ids), *ids) for ids, skip in requests)
    out = subprocess.run([PROGRAM, folder, "--decode"], input=data, stdout=subprocess.PIPE, check=True).stdout
    texts, at = [], 0
    for _ in requests:
        (size,) = struct.unpack_from("<i", out, at)
        at += 4
        texts.append(None if size < 0 else out[at:at + size].decode())
        at += max(size, 0)
    assert at == len(out)
    return texts


def read_rows(language):
    """All texts of one language, [] where the shared data is not at hand."""
    path = SHARED / f"data/debian-{language}.jsonl"
    if not path.exists():
        return []
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [row[key] for row in rows for key in ("query", "text")]


@functools.lru_cache
def interesting_characters():
    """Every character that some step changes, or that a step makes of another: those whose identity the ids must show."""
    result = set(map(chr, range(0x20, 0x250)))
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or 0xAC00 <= code < 0xD7A4:
            continue
        c = chr(code)
        forms = {unicodedata.normalize(form, c) for form in ("NFD", "NFKD", "NFC")} | {c.lower(), c.upper()}
        if forms != {c} or unicodedata.category(c)[0] in "MPZ":
            result.update(c, *forms)
    result.update(map(chr, range(0x1100, 0x1200)), map(chr, range(0x4E00, 0x4E80)), "가각힣豈日本語")
    return sorted(c for c in result if c not in "\t\n\r")


SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}


def added_token(content, token_id=0, **flags):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True} | flags


def small_tokenizer(**changes):
    """A BERT tokenizer.json whose vocabulary is the interesting characters, alone and continuing, and some words."""
    words = "the quick brown fox ##ing ##ed un ##able hello world foo ##bar bar cafe schon schön".split()
    characters = interesting_characters()
    vocabulary = dict.fromkeys(SPECIALS + words + characters + ["##" + c for c in characters])
    pieces = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    special = {name: {"id": name, "ids": [SPECIALS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added_token(name, index) for index, name in enumerate(SPECIALS)],
        "normalizer": BERT_NORMALIZER, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": pieces, "pair": pieces + second, "special_tokens": special},
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {token: index for index, token in enumerate(vocabulary)}},
    }
    return tokenizer | changes


def write_folder(folder, tokenizer, **config):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


class TextMaker:
    """Ugly texts: scripts, marks, emoji, controls, spellings of special tokens, now and then a long run."""

    RANGES = [(0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x250, 0x370), (0x300, 0x370), (0x370, 0x530), (0x590, 0x7C0), (0x800, 0x1100),
              (0x1100, 0x1200), (0x1A00, 0x1B00), (0x1D00, 0x2000), (0x2000, 0x2100), (0x2100, 0x2C00), (0x3000, 0x3130), (0x4E00, 0xA000),
              (0xA640, 0xAC00), (0xAC00, 0xD7A4), (0xE000, 0xE100), (0xF900, 0xFB00), (0xFB00, 0x10000), (0x10000, 0x12000),
              (0x1D100, 0x1D800), (0x1F000, 0x1FB00), (0x20000, 0x2FA20), (0xE0000, 0xE0200), (0, 0x20), (0, 0xD800), (0xE000, 0x110000)]
    WORDS = ("the quick brown fox ing ed un able hello world foo bar café schön İstanbul ΟΔΟΣ ǅ ﬁ K Å [SEP] [CLS] [MASK] [sep] [PAD] [UNK] "
             "##bar ## # [ ] [[SEP]] [SE P] don't e-mail 3.14 \u200d \ufeff \u00ad 😀 👨\u200d👩\u200d👧 日本語 テスト が か\u3099 한국어 "
             "e\u0301\u0323 ẹ́ \u0344 ≮ \u037e \u0340 Straße ©®™ Ⅳ ½ ٣ १ x\u0300").split(" ")

    def __init__(self, seed):
        self.random = random.Random(seed)

    def character(self):
        low, high = self.random.choice(self.RANGES)
        return chr(self.random.randrange(low, high))

    def word(self):
        kind = self.random.random()
        if kind < 0.45:
            return self.random.choice(self.WORDS)
        if kind < 0.85:
            return "".join(self.character() for _ in range(self.random.randrange(1, 7)))
        if kind < 0.97:
            marks = "".join(chr(self.random.choice((self.random.randrange(0x300, 0x370), self.random.randrange(0x1AB0, 0x1B00),
                                                    self.random.randrange(0x10D24, 0x10D28), 0x8D4, 0xA8C5, 0x345, 0x7FD)))
                            for _ in range(self.random.randrange(1, 6)))
            return self.character() + marks
        return self.random.choice("aéß中х#") * self.random.randrange(90, 110)

    def text(self, words=12):
        separators = [" ", " ", " ", "", "", "  ", "\n", "\t", "\u3000", "\u00a0", "\x0b", "\x85", "\u2028"]
        return "".join(self.word() + self.random.choice(separators) for _ in range(self.random.randrange(words)))

    def spoilt(self, words=12):
        """Bytes that are not UTF-8 any more."""
        data = bytearray(self.text(words).encode())
        for _ in range(self.random.randrange(1, 5)):
            at = self.random.randrange(len(data) + 1)
            change = self.random.random()
            if change < 0.4:
                data[at:at + 1] = b""
            elif change < 0.8:
                data[at:at] = self.random.choice((b"\x80", b"\xc0\xaf", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xff", b"\xf4\x90\x80\x80", b"\xc3"))
            else:
                del data[at:]
        return bytes(data)
