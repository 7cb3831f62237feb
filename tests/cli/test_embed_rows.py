"""Rows that are no texts: named by line, and never a shift of the others."""
import json

import numpy
import pytest


def embed(inlay, tiny, stdin, *flags):
    return inlay("embed", "--model", tiny, "--quiet", *flags, stdin=stdin)


@pytest.mark.parametrize(
    "bad, why",
    [
        ("{", "line 3: not valid JSON"),
        ("[1]", "line 3: wanted a JSON object"),
        ('{"id": 3}', "line 3: text is missing"),
        ('{"text": null}', "line 3: text is missing"),
        ('{"text": 5}', "line 3: text: found an integer, wanted a string"),
        ('{"text": ""}', "line 3: the text is blank"),
        ('{"text": " \\u3000\\n"}', "line 3: the text is blank"),
        ('{"id": 1.5, "text": "x"}', "line 3: id: wanted a string or an integer"),
        ('{"text": ' + "[" * 5000 + "]" * 5000 + "}", "line 3: not valid JSON"),
    ],
)
def test_a_bad_row_is_named_by_its_line(inlay, tiny, bad, why):
    rows = f'{{"id": "a", "text": "cat"}}\n\n{bad}\n{{"id": "b", "text": "dog"}}\n'
    failed = embed(inlay, tiny, rows)
    assert failed.code == 2
    assert why in failed.err
    skipped = embed(inlay, tiny, rows, "--on-error", "skip")
    assert skipped.code == 0
    assert why in skipped.err
    first, second, third = skipped.rows()
    assert first["id"] == "a" and third["id"] == "b" and why in second["error"]


def test_text_too_long_where_nothing_may_be_cut(inlay, tiny):
    done = embed(inlay, tiny, "cat\n" + "water " * 100 + "\n", "--truncate-side", "none")
    assert done.code == 2 and "line 2: " in done.err and "64" in done.err
    done = embed(inlay, tiny, "cat\n" + "water " * 100 + "\n", "--truncate-side", "none", "--on-error", "skip")
    assert done.code == 0 and "embedding" in done.rows()[0] and "error" in done.rows()[1]


def test_case_h37_every_row_keeps_its_key(inlay, jsonl, tiny, tmp_path):
    texts = ["cat", "", "dog", "  ", "water " * 300, "bird"]
    source = jsonl([{"id": index + 1, "text": text} for index, text in enumerate(texts)])
    flags = ["--on-error", "skip", "--truncate-side", "none", "--quiet", "--json"]
    done = inlay("embed", "--model", tiny, "--input", source, "--output", tmp_path / "a.jsonl", *flags)
    assert done.code == 0 and json.loads(done.out)["failed"] == 3
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert ["embedding" in row for row in rows] == [True, False, True, False, False, True]
    for row in (0, 2, 5):
        alone = inlay("embed", "--model", tiny, stdin=texts[row] + "\n").rows()[0]["embedding"]
        assert rows[row]["embedding"] == alone

    done = inlay("embed", "--model", tiny, "--input", source, "--output", tmp_path / "a.npy", *flags)
    assert done.code == 0
    array = numpy.load(tmp_path / "a.npy")
    assert array.shape == (6, 44) and not array[[1, 3, 4]].any() and array[[0, 2, 5]].any(axis=1).all()
    listed = [json.loads(line) for line in (tmp_path / "a.npy.errors.jsonl").read_text().splitlines()]
    assert [(row["row"], row["line"], row["id"]) for row in listed] == [(1, 2, 2), (3, 4, 4), (4, 5, 5)]


def test_a_failed_job_leaves_the_output_as_it_was(inlay, jsonl, tiny, tmp_path):
    source = jsonl([{"text": "cat"}, {"text": ""}])
    out = tmp_path / "a.npy"
    out.write_text("before")
    assert inlay("embed", "--model", tiny, "--input", source, "--output", out).code == 2
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "in.jsonl"]


def test_the_first_bad_row_is_named_whatever_the_threads(inlay, jsonl, tiny):
    rows = [{"text": "cat " * (1 + index % 50)} for index in range(9000)]
    rows[4500] = {"text": ""}
    rows[4600] = {"text": 1}
    done = inlay("embed", "--model", tiny, "--input", jsonl(rows), "--quiet", "--threads", "2")
    assert done.code == 2 and done.err == "inlay: line 4501: the text is blank\n"
    assert all(row["index"] == index for index, row in enumerate(done.rows()))


def test_ids_keep_their_type(inlay, tiny):
    rows = '{"id": "7", "text": "a"}\n{"id": 7, "text": "a"}\n{"id": 18446744073709551615, "text": "a"}\n{"id": "\\u00e9\\n", "text": "a"}\n{"text": "a"}\n'
    done = embed(inlay, tiny, rows)
    assert [row.get("id") for row in done.rows()] == ["7", 7, 18446744073709551615, "é\n", None]
    assert done.rows()[4]["index"] == 4


def test_case_h34_byte_order_mark(inlay, tiny):
    rows = b'\xef\xbb\xbf{"id":1,"text":"a"}\r\n\r\n{"id":2,"text":"b"}  \r\n   \n{"id":3,"text":"c"}'
    assert [row["id"] for row in embed(inlay, tiny, rows).rows()] == [1, 2, 3]
    only_mark = embed(inlay, tiny, b"\xef\xbb\xbf")
    assert only_mark.code == 0 and only_mark.rows() == []
    wide = embed(inlay, tiny, '{"text":"a"}\n'.encode("utf-16"))
    assert wide.code == 2 and "UTF-16" in wide.err


def test_case_h35_words_that_look_like_missing_values(inlay, tiny):
    texts = ["NA", "N/A", "NULL", "None", "nan", "true", "007", "1e5", "null"]
    rows = embed(inlay, tiny, "".join(json.dumps({"text": text}) + "\n" for text in texts)).rows()
    assert len(rows) == len(texts) and all("embedding" in row for row in rows)
    plain = embed(inlay, tiny, "\n".join(texts)).rows()
    assert [row["embedding"] for row in plain] == [row["embedding"] for row in rows]


def test_in_plain_text_a_line_is_a_row(inlay, tiny):
    done = embed(inlay, tiny, "cat\r\n\n{\"text\": 1}\ndog", "--input-format", "text", "--on-error", "skip")
    assert ["error" in row for row in done.rows()] == [False, True, False, False]
    assert "line 2: the text is blank" in done.err


def test_fields_have_names(inlay, tiny):
    done = embed(inlay, tiny, '{"key": 5, "body": "cat", "text": 1}\n', "--text-field", "body", "--id-field", "key")
    assert done.rows()[0]["id"] == 5
