"""`inlay embed --ids-field` takes token ids as they are given."""
import json

import numpy
import pytest


def embed(inlay, model, stdin, *flags):
    return inlay("embed", "--model", model, "--quiet", *flags, stdin=stdin)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_ids_give_the_bits_of_their_texts(inlay, tiny):
    texts = ["cat", "a bridge over cold water", "water " * 200, "d\u00f6g, BIRD!"]
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    tokens = inlay("tokenize", "--model", tiny, stdin=lines(rows)).rows()
    wanted = embed(inlay, tiny, lines(rows)).rows()
    got = embed(inlay, tiny, lines({"id": row["id"], "ids": token["ids"]} for row, token in zip(rows, tokens)), "--ids-field", "ids")
    assert got.code == 0, got.err
    assert got.rows() == wanted


def test_a_model_without_a_tokenizer_takes_ids(inlay, tiny, tmp_path):
    for name in ("config.json", "model.safetensors", "modules.json", "1_Pooling", "sentence_bert_config.json"):
        (tmp_path / name).symlink_to(tiny / name)
    assert embed(inlay, tmp_path, "cat").code != 0
    row = '{"ids": [2, 5, 7, 3]}'
    alone = embed(inlay, tmp_path, row, "--ids-field", "ids")
    assert alone.code == 0, alone.err
    assert alone.rows() == embed(inlay, tiny, row, "--ids-field", "ids").rows()


@pytest.mark.parametrize(
    "bad, why",
    [
        ('{"text": "cat"}', "line 2: ids is missing"),
        ('{"ids": []}', "line 2: the text has no tokens"),
        ('{"ids": [2, -1]}', "line 2: token id -1 at position 1"),
        ('{"ids": [2, 1000000]}', "line 2: token id 1000000 at position 1"),
        ('{"ids": [2, 1.5]}', "line 2: ids[1]: wanted an integer"),
        (json.dumps({"ids": [2] * 65}), "line 2: 65 tokens, at most 64 are taken"),
    ],
)
def test_bad_ids_are_named_by_their_line(inlay, tiny, bad, why, tmp_path):
    rows = f'{{"ids": [2, 3]}}\n{bad}\n{{"ids": [2, 4]}}\n'
    failed = embed(inlay, tiny, rows, "--ids-field", "ids")
    assert failed.code == 2 and why in failed.err
    skipped = embed(inlay, tiny, rows, "--ids-field", "ids", "--on-error", "skip", "--output", tmp_path / "out.npy")
    assert skipped.code == 0 and why in skipped.err
    assert (numpy.abs(numpy.load(tmp_path / "out.npy")).sum(axis=1) > 0).tolist() == [True, False, True]


def test_a_prompt_has_no_place_before_ids(inlay, tiny):
    done = embed(inlay, tiny, '{"ids": [2, 3]}', "--ids-field", "ids", "--prompt", "find: ")
    assert done.code == 2 and "prompt" in done.err


def test_plain_text_holds_no_ids(inlay, tiny):
    done = embed(inlay, tiny, "101 102\n", "--ids-field", "ids")
    assert done.code == 2 and "JSON lines" in done.err
