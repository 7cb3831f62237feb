"""`inlay tokenize` prints what the model would be fed."""
import json

import pytest
import tokenizers

TEXTS = ["Hello, world!", "a bridge over cold water", "Grüße aus München", "中文 mixed 😀 x", "word" * 60, "[SEP] spelt out"]


@pytest.fixture(scope="session")
def reference(tiny):
    tokenizer = tokenizers.Tokenizer.from_file(str(tiny / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def test_arguments_files_and_standard_input_agree_with_the_reference(inlay, jsonl, tiny, reference):
    wanted = [{"ids": e.ids, "tokens": e.tokens} for e in map(reference.encode, TEXTS)]
    assert inlay("tokenize", "--model", tiny, "--no-truncation", *TEXTS).rows() == wanted
    source = jsonl([{"text": text} for text in TEXTS])
    assert inlay("tokenize", "--model", tiny, "--no-truncation", "--input", source).rows() == wanted
    assert inlay("tokenize", "--model", tiny, "--no-truncation", stdin="\n".join(TEXTS)).rows() == wanted


def test_no_special_tokens(inlay, tiny, reference):
    wanted = [reference.encode(text, add_special_tokens=False).ids for text in TEXTS]
    rows = inlay("tokenize", "--model", tiny, "--no-truncation", "--no-special-tokens", *TEXTS).rows()
    assert [row["ids"] for row in rows] == wanted


def test_pairs(inlay, tiny, reference):
    rows = inlay("tokenize", "--model", tiny, "--pair", *TEXTS[:4]).rows()
    wanted = [reference.encode(TEXTS[0], TEXTS[1]), reference.encode(TEXTS[2], TEXTS[3])]
    assert rows == [{"ids": e.ids, "tokens": e.tokens, "type_ids": e.type_ids} for e in wanted]


def places(encoding):
    return [None if special else list(place) for special, place in zip(encoding.special_tokens_mask, encoding.offsets)]


def test_offsets_are_in_characters_of_the_text_or_of_each_of_a_pair(inlay, tiny, reference):
    rows = inlay("tokenize", "--model", tiny, "--no-truncation", "--offsets", *TEXTS).rows()
    assert rows == [{"ids": e.ids, "tokens": e.tokens, "offsets": places(e)} for e in map(reference.encode, TEXTS)]
    pair = inlay("tokenize", "--model", tiny, "--pair", "--offsets", *TEXTS[2:4]).rows()[0]
    assert pair["offsets"] == places(reference.encode(*TEXTS[2:4]))


def test_truncation(inlay, tiny, reference):
    text = "water bridge stone " * 100
    whole = reference.encode(text).ids
    assert inlay("tokenize", "--model", tiny, text).rows()[0]["ids"] == whole[:63] + whole[-1:]
    assert inlay("tokenize", "--model", tiny, "--max-length", "7", text).rows()[0]["ids"] == whole[:6] + whole[-1:]
    left = inlay("tokenize", "--model", tiny, "--max-length", "7", "--truncate-side", "left", text).rows()[0]["ids"]
    assert left == whole[:1] + whole[-6:]
    refused = inlay("tokenize", "--model", tiny, "--truncate-side", "none", text)
    assert refused.code == 2 and refused.out == ""


def test_prompts(inlay, golden, tiny):
    folder = golden / "bert-cls-dense" / "model"
    assert json.loads((folder / "config_sentence_transformers.json").read_text())["default_prompt_name"] == "query"
    plain = inlay("tokenize", "--model", folder, "--prompt", "", "cat").rows()
    assert inlay("tokenize", "--model", folder, "cat").rows() == inlay("tokenize", "--model", folder, "--prompt", "", "find: cat").rows()
    assert inlay("tokenize", "--model", folder, "--prompt-name", "passage", "cat").rows() == plain


def test_a_bad_row_is_named(inlay, tiny):
    done = inlay("tokenize", "--model", tiny, stdin='{"text": "a"}\n{"text": 1}\n')
    assert done.code == 2 and "line 2: text: found an integer" in done.err


def test_decode(inlay, tiny, reference):
    ids = reference.encode(TEXTS[1]).ids
    assert inlay("tokenize", "--model", tiny, "--decode", *map(str, ids)).rows() == [{"text": reference.decode(ids, skip_special_tokens=False)}]
