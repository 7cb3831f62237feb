#!/usr/bin/env python3
"""Writes src/tokenizer/regex_tables.inc: what the property classes of regular expressions hold in `tokenizers` and not in PCRE2.

PyPI's `tokenizers` searches with Oniguruma, whose Unicode is newer than that of Debian's PCRE2. Every code point goes through
both; the table holds the characters that a class of PCRE2 must be given in addition.

    python3 tools/make_regex_tables.py        # needs: pip install tokenizers==0.23.3, and libpcre2-8
"""
import ctypes
import pathlib

from tokenizers import Regex
from tokenizers import pre_tokenizers as P

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/tokenizer/regex_tables.inc"
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BYTES = [chr(c).encode() for c in CODES]
CATEGORIES = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zs Zl Zp".split()
# (name, pattern of Oniguruma, pattern of PCRE2 without the brackets)
CLASSES = [(name, rf"\p{{{name}}}", rf"\p{{{name}}}") for name in CATEGORIES]
CLASSES += [("Han", r"\p{Han}", r"\p{sc:Han}"), ("Hiragana", r"\p{Hiragana}", r"\p{sc:Hiragana}"), ("Katakana", r"\p{Katakana}", r"\p{sc:Katakana}"),
            ("Hangul", r"\p{Hangul}", r"\p{sc:Hangul}"), ("w", r"\w", r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}")]
UTF_UCP = 0x000A0000
ANCHORED = 0x80000000


class Pcre:
    """The set of characters that a pattern matches."""

    def __init__(self):
        self.library = ctypes.CDLL("libpcre2-8.so.0")
        self.compile, self.search = self.library.pcre2_compile_8, self.library.pcre2_match_8
        self.compile.restype = self.library.pcre2_match_data_create_8.restype = ctypes.c_void_p
        self.compile.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32] + [ctypes.c_void_p] * 3
        self.search.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p]
        self.library.pcre2_match_data_create_8.argtypes = [ctypes.c_uint32, ctypes.c_void_p]
        self.match = self.library.pcre2_match_data_create_8(2, None)

    def matches(self, pattern):
        error, place, data = ctypes.c_int(), ctypes.c_size_t(), pattern.encode()
        code = self.compile(data, len(data), UTF_UCP, ctypes.byref(error), ctypes.byref(place), None)
        assert code, (pattern, error.value)
        return {c for c, text in zip(CODES, BYTES) if self.search(code, text, len(text), 0, ANCHORED, self.match, None) > 0}


def tokenizers_matches(pattern):
    split = P.Split(Regex(pattern), "removed")
    result = set()
    for start in range(0, len(CODES), 4096):
        block = CODES[start:start + 4096]
        result.update(block)
        for _, (begin, end) in split.pre_tokenize_str("".join(map(chr, block))):
            result.difference_update(block[begin:end])
    return result


def ranges(codes):
    result = []
    for c in sorted(codes):
        if result and result[-1][1] == c - 1:
            result[-1][1] = c
        else:
            result.append([c, c])
    return result


def main():
    pcre = Pcre()
    pool, classes = [], []
    for name, theirs, ours in CLASSES:
        wanted, found = tokenizers_matches(theirs), pcre.matches(f"[{ours}]")
        if not found <= wanted:  # characters that changed their category: then the class is not read at all
            print("left out:", name, ranges(found - wanted))
            continue
        start = len(pool)
        pool += ranges(wanted - found)
        classes.append(f'    {{"{name}", R"({ours})", {start}, {len(pool)}}},')
    lines = ["// Made by tools/make_regex_tables.py from what tokenizers 0.23.3 does; not to be edited.", "// clang-format off", "",
             f"constexpr CodeRange kExtraRanges[{len(pool)}] = {{"]
    lines += ["    " + " ".join(f"{{0x{low:X}, 0x{high:X}}}," for low, high in pool[at:at + 6]) for at in range(0, len(pool), 6)]
    lines += ["};", "", f"constexpr PropertyClass kPropertyClasses[{len(classes)}] = {{", *classes, "};", "", "// clang-format on", ""]
    OUT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
