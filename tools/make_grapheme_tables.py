#!/usr/bin/env python3
"""Writes src/tokenizer/grapheme_tables.inc: how characters join into grapheme clusters in `tokenizers`.

Its Precompiled normalizer looks clusters of fewer than 6 bytes up as a whole and drops what follows the part that it replaces.
So with a map that replaces every character by "!" one sees where clusters end, and every code point is put to that test: the
tables cannot differ from the library, whichever version of Unicode it was built with.

    python3 tools/make_grapheme_tables.py        # needs: pip install tokenizers==0.23.3
"""
import base64
import json
import pathlib
import struct

import tokenizers

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/tokenizer/grapheme_tables.inc"
PAGE = 128
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
# In the order of the GraphemeClass enumeration of grapheme.h.
(OTHER, CONTROL, EXTEND, ZWJ, SPACING, PREPEND, PICTOGRAPH, CONSONANT, LINKER, REGIONAL, LEADING, VOWEL, TRAILING, SYLLABLE,
 TRAILING_SYLLABLE) = range(15)
COPYRIGHT, ACUTE, JOINER, KA, VIRAMA = "\u00a9", "\u0301", "\u200d", "\u0915", "\u094d"
PROBES = {ACUTE: EXTEND, JOINER: ZWJ, VIRAMA: LINKER, "\r": CONTROL, "\n": CONTROL}


def charsmap(characters):
    """A map of each character to "!": a double array in which every node's children have 256 units of their own."""
    trie = {}
    for character in characters:
        node = trie
        for byte in character.encode():
            node = node.setdefault(byte, {})
    units = {256: 0x80000000}  # all keys end in this unit: the replacement begins at byte 0
    queue, blocks = [(0, trie, 0)], 2
    while queue:
        place, node, label = queue.pop()
        base = 256
        if node:
            base = blocks * 256
            blocks += 1
        units[place] = ((place ^ base) << 10) | ((not node) << 8) | label
        queue += [(base ^ byte, child, byte) for byte, child in node.items()]
    assert blocks * 256 < 1 << 21
    array = [units.get(place, 0) for place in range(blocks * 256)]
    data = struct.pack(f"<{len(array)}I", *array)
    return struct.pack("<I", len(data)) + data + b"!\0"


def normalizer(characters):
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(characters)).decode()}
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": step, "pre_tokenizer": None,
             "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}
    return tokenizers.Tokenizer.from_str(json.dumps(whole)).normalizer.normalize_str


def hangul(c):
    if 0xAC00 <= c < 0xD7A4:
        return SYLLABLE if (c - 0xAC00) % 28 == 0 else TRAILING_SYLLABLE
    if 0x1100 <= c < 0x1160 or 0xA960 <= c < 0xA97D:
        return LEADING
    if 0x1160 <= c < 0x11A8 or 0xD7B0 <= c < 0xD7C7:
        return VOWEL
    if 0x11A8 <= c < 0x1200 or 0xD7CB <= c < 0xD7FC:
        return TRAILING
    return OTHER


def is_control(char, apply, apply_marks):
    if len(char.encode()) < 4:
        return apply(char + ACUTE) != "!"
    # Six bytes with the mark; but two marks are a cluster of their own where they do not join.
    return apply_marks(char + ACUTE + ACUTE) == "!!"


def classify(c, apply, apply_marks):
    """`apply` replaces `c`, "a", the copyright sign and KA; `apply_marks` replaces acute accents as well."""
    char = chr(c)
    if char in PROBES:
        return PROBES[char]
    if apply("a" + char) == "!":  # it joins the character before
        # Only an Extend character may stand between a pictograph and the joiner, only a linker between consonants.
        if not apply(COPYRIGHT + char + JOINER + COPYRIGHT + ACUTE).endswith(ACUTE):
            return SPACING
        return LINKER if apply(KA + char + KA + ACUTE).endswith(ACUTE) else EXTEND
    if apply(char + "a") == "!":
        return PREPEND
    if is_control(char, apply, apply_marks):
        return CONTROL
    if apply(COPYRIGHT + JOINER + char) != "!!":
        return PICTOGRAPH
    # Where the character has four bytes it makes no difference.
    if len(char.encode()) < 4 and apply(KA + VIRAMA + char + ACUTE).endswith(ACUTE):
        return CONSONANT
    return REGIONAL if 0x1F1E6 <= c <= 0x1F1FF else hangul(c)


def probe():
    classes = {}
    for start in range(0, len(CODES), 32768):
        block = CODES[start:start + 32768]
        keys = sorted((set(map(chr, block)) | {"a", COPYRIGHT, KA}) - set(PROBES) - {"\0"})
        apply, apply_marks = normalizer(keys), normalizer(keys + [ACUTE])
        classes.update((c, classify(c, apply, apply_marks)) for c in block)
    classes[0] = CONTROL
    return classes


def numbers(values, per_line=32):
    return "".join("    " + ", ".join(map(str, values[at:at + per_line])) + ",\n" for at in range(0, len(values), per_line))


def main():
    classes = probe()
    pages, index, data = {}, [], []
    for start in range(0, 0x110000, PAGE):
        page = tuple(classes.get(c, CONTROL) for c in range(start, start + PAGE))
        if page not in pages:
            pages[page] = len(pages)
            data += page
        index.append(pages[page])
    assert len(pages) <= 256, len(pages)
    OUT.write_text("// Made by tools/make_grapheme_tables.py from what tokenizers " + tokenizers.__version__ + " does; not to be edited.\n"
                   "// clang-format off\n\n"
                   f"constexpr uint8_t kGraphemePages[{len(index)}] = {{\n{numbers(index)}}};\n\n"
                   f"constexpr uint8_t kGraphemeData[{len(data)}] = {{\n{numbers(data)}}};\n")
    print({kind: sum(value == kind for value in classes.values()) for kind in range(15)})


if __name__ == "__main__":
    main()
