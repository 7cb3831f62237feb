#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.inc, the character classes and mappings of the tokenizer.

The ground truth is PyPI's `tokenizers` itself: every code point goes through its BertNormalizer, NFD, NFKD, Lowercase,
StripAccents and its pre-tokenizers, and what comes out is what the tables say. So they cannot differ from the library on
single characters, whatever mixture of Unicode versions it was built from (8.0 for the BERT classes, about 13 for the
normalisation forms, newer ones for case and words). tests/tokenizer/test_parity.py holds the result against the library.

    python3 tools/make_unicode_tables.py        # needs: pip install tokenizers==0.23.3
"""
import itertools
import pathlib

import tokenizers
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/tokenizer/unicode_tables.inc"
LIMIT = 0x110000
PAGE = 128
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic, not by tables
CODES = [c for c in range(LIMIT) if not 0xD800 <= c < 0xE000]

# Bits of CharClass::flags, in the order of the CharFlag enumeration of unicode.h.
OTHER, WHITE, PUNCTUATION, CJK, BERT_MARK, COMBINING, WORD, NUMERIC = (1 << i for i in range(8))
HAS_NFD, HAS_NFKD, HAS_LOWER, NFC_UNSTABLE = (1 << i for i in range(8, 12))


def blocks():
    for start in range(0, len(CODES), 4096):
        yield CODES[start:start + 4096]


def map_each(normalizer):
    """What the normalizer makes of each code point, between two bars."""
    result = {}
    for block in blocks():
        parts = normalizer.normalize_str("|" + "|".join(map(chr, block)) + "|")[1:-1].split("|")
        if len(parts) != len(block):  # a block that holds a bar, or something that becomes one
            parts = [normalizer.normalize_str(chr(c)) for c in block]
        result.update(zip(block, parts))
    return result


def pieces_each(pre_tokenizer):
    """How the middle of "a?b" is cut: 'gone', 'own' (a piece of its own) or 'inside'."""
    result = {}
    for block in blocks():
        owner = {}
        for _, (start, end) in pre_tokenizer.pre_tokenize_str("".join(f"a{chr(c)}b" for c in block)):
            owner.update((at, (start, end)) for at in range(start, end))
        for index, c in enumerate(block):
            at = 3 * index + 1
            span = owner.get(at)
            result[c] = "gone" if span is None else "own" if span == (at, at + 1) else "inside"
    return result


def combining_classes(nfd):
    """Finds canonical combining classes by watching which marks NFD lets pass one another."""
    order = N.NFD().normalize_str
    # U+0345 has class 240, the highest: a mark moves before it exactly if its own class lies between 1 and 239.
    moving = [c for c in CODES if nfd[c] == chr(c) and order("a\u0345" + chr(c)) == "a" + chr(c) + "\u0345"]
    passes = lambda first, second: order("a" + first + second) != "a" + first + second

    groups = []  # one list of marks per class, ascending
    for c in moving:
        mark = chr(c)
        low, high = 0, len(groups)
        while low < high:
            middle = (low + high) // 2
            representative = groups[middle][0]
            if passes(representative, mark):
                high = middle
            elif passes(mark, representative):
                low = middle + 1
            else:
                groups[middle].append(mark)
                break
        else:
            groups.insert(low, [mark])
    groups.append(["\u0345"])
    # Only the order of the classes matters, so they are numbered 1, 2, 3 ...
    return {ord(mark): rank for rank, group in enumerate(groups, 1) for mark in group}


def probe():
    nfd, nfkd = map_each(N.NFD()), map_each(N.NFKD())
    nfc = map_each(N.NFC())
    lower = map_each(N.Lowercase())
    flags = dict.fromkeys(range(LIMIT), 0)

    def mark(flag, codes):
        for c in codes:
            flags[c] |= flag

    bert = lambda **on: N.BertNormalizer(**({"clean_text": False, "handle_chinese_chars": False, "strip_accents": False,
                                             "lowercase": False} | on))
    cleaned = map_each(bert(clean_text=True))
    mark(OTHER, (c for c in CODES if cleaned[c] == ""))
    white = {c for c, kind in pieces_each(P.WhitespaceSplit()).items() if kind == "gone"}
    mark(WHITE, white)
    for c in CODES:
        assert cleaned[c] in ("", chr(c), " ")
        assert cleaned[c] == "" or (cleaned[c] == " ") == (c in white), hex(c)
    cut = pieces_each(P.Punctuation())
    mark(PUNCTUATION, (c for c in CODES if cut[c] == "own"))
    for c, kind in pieces_each(P.BertPreTokenizer()).items():
        assert kind == ("gone" if c in white else cut[c]), hex(c)
    spaced = map_each(bert(handle_chinese_chars=True))
    mark(CJK, (c for c in CODES if spaced[c] == f" {chr(c)} "))
    stripped = map_each(bert(strip_accents=True))
    mark(BERT_MARK, (c for c in CODES if nfd[c] == chr(c) and stripped[c] == ""))
    for c in CODES:  # BERT's strip_accents is NFD without the marks
        assert stripped[c] == "".join(d for d in nfd[c] if not flags[ord(d)] & BERT_MARK), hex(c)
    unmarked = map_each(N.StripAccents())
    mark(COMBINING, (c for c in CODES if unmarked[c] == ""))
    words = pieces_each(P.Whitespace())
    mark(WORD, (c for c in CODES if words[c] == "inside"))
    mark(NUMERIC, (c for c, kind in pieces_each(P.Digits(True)).items() if kind == "own"))

    mark(HAS_NFD, (c for c in CODES if nfd[c] != chr(c) and c not in HANGUL))
    mark(HAS_NFKD, (c for c in CODES if nfkd[c] != nfd[c]))
    mark(HAS_LOWER, (c for c in CODES if lower[c] != chr(c)))
    mark(NFC_UNSTABLE, (c for c in CODES if nfc[c] != chr(c)))
    return flags, nfd, nfkd, nfc, lower


def compositions(nfd, nfc):
    """(first, second) -> composed, for every pair that NFC joins. Hangul is left to arithmetic."""
    compose = N.NFC().normalize_str
    pairs = {}
    for c in CODES:
        if c in HANGUL or nfd[c] == chr(c) or nfc[c] != chr(c):
            continue
        # The last character is the second half; what stands before it composes to the first half.
        first, second = compose(nfd[c][:-1]), nfd[c][-1]
        assert len(first) == 1 and compose(first + second) == chr(c), hex(c)
        pairs[ord(first), ord(second)] = c
    return sorted((a, b, c) for (a, b), c in pairs.items())


def numbers(values, per_line=24):
    values = [str(v) if v < 1024 else hex(v) for v in values]
    return "".join("    " + ", ".join(values[i:i + per_line]) + ",\n" for i in range(0, len(values), per_line))


def array(kind, name, values):
    values = list(values)
    return f"constexpr {kind} {name}[{len(values)}] = {{\n{numbers(values)}}};\n\n"


def mapping(name, pairs):
    """A sorted list of keys, and where the text of each starts in one pool."""
    keys, starts, pool = [], [0], []
    for key, text in sorted(pairs):
        keys.append(key)
        pool += map(ord, text)
        starts.append(len(pool))
    assert len(pool) < 65536
    return (array("uint32_t", f"k{name}Keys", keys) + array("uint16_t", f"k{name}Starts", starts) +
            array("uint32_t", f"k{name}Pool", pool))


def class_tables(flags, classes):
    kinds, pages = {}, {}
    index, data = [], []
    for start in range(0, LIMIT, PAGE):
        page = tuple(kinds.setdefault((flags[c], classes.get(c, 0)), len(kinds)) for c in range(start, start + PAGE))
        if page not in pages:
            pages[page] = len(pages)
            data += page
        index.append(pages[page])
    assert len(kinds) <= 256 and len(pages) <= 256, (len(kinds), len(pages))
    records = "".join(f"    {{{flag}, {rank}}},\n" for flag, rank in kinds)
    return (f"constexpr CharClass kClasses[{len(kinds)}] = {{\n{records}}};\n\n" + array("uint8_t", "kClassPages", index) +
            array("uint8_t", "kClassData", data))


def main():
    flags, nfd, nfkd, nfc, lower = probe()
    classes = combining_classes(nfd)
    pairs = compositions(nfd, nfc)
    table = lambda flag, source: ((c, source[c]) for c in CODES if flags[c] & flag and c not in HANGUL)
    text = (f"// Made by tools/make_unicode_tables.py from what tokenizers {tokenizers.__version__} does; not to be edited.\n"
            "// clang-format off\n\n")
    text += class_tables(flags, classes)
    text += mapping("Nfd", table(HAS_NFD, nfd)) + mapping("Nfkd", table(HAS_NFKD, nfkd)) + mapping("Lower", table(HAS_LOWER, lower))
    for name, values in zip(("First", "Second", "Composed"), itertools.zip_longest(*pairs)):
        text += array("uint32_t", f"k{name}", values)
    OUT.write_text(text.rstrip() + "\n")
    print(f"{OUT}: {len(text)} bytes")


main()
