"""Vectors of `inlay embed`: equal to the reference library's, in the order of the input, the same bits however they are run."""
import json
import random

import numpy
import pytest

WORDS = "a bridge over cold water holds seven grey stones while nobody counts the boats below it".split()


def mixed_texts(count, seed):
    """Texts of very different lengths, with duplicates."""
    choose = random.Random(seed)
    texts = [" ".join(choose.choices(WORDS, k=choose.choice([1, 2, 3, 5, 8, 20, 60, 90]))) for _ in range(count)]
    return texts + texts[: count // 10]


@pytest.mark.parametrize("name", ["bert-tiny", "bert-cls-dense", "bert-sharded", "bert-long"])
def test_equal_to_the_reference(inlay, jsonl, golden, tmp_path, name):
    data = json.loads((golden / name / "golden.json").read_text())
    run = data["runs"][0]
    numbers = numpy.load(golden / name / "vectors.npy")
    wanted = numbers.reshape(-1)[run["offset"] : run["offset"] + run["rows"] * run["columns"]].reshape(run["rows"], run["columns"])
    texts = [data["texts"][index] for index in run["texts"]]
    source = jsonl([{"text": text} for text in texts])
    out = tmp_path / "out.npy"
    done = inlay("embed", "--model", golden / name / "model", "--input", source, "--output", out, "--dtype", "float32", "--on-error", "skip", "--json")
    assert done.code == 0, done.err
    got = numpy.load(out)
    assert got.dtype == numpy.float32 and got.shape == wanted.shape
    usable = [row for row, text in enumerate(texts) if text.strip()]
    assert len(usable) > 20
    assert numpy.abs(got[usable] - wanted[usable]).max() <= 2e-5 * run["scale"]
    summary = json.loads(done.out)
    assert summary["texts"] == len(texts) and summary["failed"] == len(texts) - len(usable)
    assert summary["tokens"] == sum(len(run["ids"][row]) for row in usable)


def test_order_holds_over_lengths_duplicates_and_windows(inlay, jsonl, tiny, tmp_path):
    texts = mixed_texts(5000, seed=11)  # more than one window of 4096
    source = jsonl([{"id": f"row {index}", "text": text} for index, text in enumerate(texts)])
    vectors = {}
    for threads in ("1", "2"):
        out = tmp_path / f"{threads}.npy"
        assert inlay("embed", "--model", tiny, "--input", source, "--output", out, "--threads", threads).code == 0
        vectors[threads] = numpy.load(out)
    assert vectors["1"].tobytes() == vectors["2"].tobytes()
    first = {}
    for row, text in enumerate(texts):
        assert vectors["1"][row].tobytes() == vectors["1"][first.setdefault(text, row)].tobytes(), f"row {row}, seed 11"
    alone = jsonl([{"text": texts[4999]}], "alone.jsonl")
    assert inlay("embed", "--model", tiny, "--input", alone, "--output", tmp_path / "alone.npy").code == 0
    assert numpy.load(tmp_path / "alone.npy")[0].tobytes() == vectors["1"][4999].tobytes()


def test_jsonl_and_npy_hold_the_same_floats(inlay, jsonl, tiny, tmp_path):
    source = jsonl([{"id": index, "text": text} for index, text in enumerate(mixed_texts(100, seed=3))])
    assert inlay("embed", "--model", tiny, "--input", source, "--output", tmp_path / "a.npy").code == 0
    assert inlay("embed", "--model", tiny, "--input", source, "--output", tmp_path / "a.jsonl").code == 0
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == list(range(110))
    assert numpy.array([row["embedding"] for row in rows], numpy.float32).tobytes() == numpy.load(tmp_path / "a.npy").tobytes()


def test_npy_is_version_1_and_aligned(inlay, jsonl, tiny, tmp_path):
    source = jsonl([{"text": "cat"}] * 7)
    assert inlay("embed", "--model", tiny, "--input", source, "--output", tmp_path / "a.npy").code == 0
    data = (tmp_path / "a.npy").read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00" and (10 + int.from_bytes(data[8:10], "little")) % 64 == 0
    assert len(data) == 10 + int.from_bytes(data[8:10], "little") + 7 * 44 * 4


def test_an_empty_input_gives_an_array_of_no_rows(inlay, tiny, tmp_path):
    assert inlay("embed", "--model", tiny, "--output", tmp_path / "a.npy").code == 0
    assert numpy.load(tmp_path / "a.npy").shape == (0, 44)


def test_length_of_vectors_follows_the_flags(inlay, tiny):
    def vector(*flags):
        done = inlay("embed", "--model", tiny, "--dtype", "float32", *flags, stdin="some words here\n")
        assert done.code == 0, done.err
        return numpy.array(done.rows()[0]["embedding"])

    assert abs(numpy.linalg.norm(vector()) - 1) < 1e-5
    raw = vector("--normalize", "off")
    assert abs(numpy.linalg.norm(raw) - 1) > 1e-3
    assert numpy.abs(raw / numpy.linalg.norm(raw) - vector()).max() < 1e-5
    assert len(vector("--dimensions", "10")) == 10
    assert numpy.abs(vector("--pooling", "cls") - vector()).max() > 1e-3
    assert (vector("--prompt", "find ") == numpy.array(inlay("embed", "--model", tiny, "--dtype", "float32", stdin="find some words here\n").rows()[0]["embedding"])).all()


def test_batch_tokens_do_not_change_a_bit(inlay, jsonl, tiny):
    source = jsonl([{"text": text} for text in mixed_texts(200, seed=5)])
    outputs = {inlay("embed", "--model", tiny, "--input", source, "--max-batch-tokens", size).out for size in (1, 65, 256, 3000)}
    assert len(outputs) == 1 and len(outputs.pop()) > 1000


def test_case_h27_tokens_are_those_fed_to_the_model(inlay, tiny):
    def summary(stdin, *flags):
        return json.loads(inlay("embed", "--model", tiny, "--json", *flags, stdin=stdin).err.splitlines()[-1])

    long = "water " * 300
    assert summary("hello\n")["tokens"] == 3
    both = summary(f"hello\n{long}\n")
    assert (both["tokens"], both["truncated"]) == (3 + 64, 1)
    assert summary(f"{long}\n", "--max-length", "20")["tokens"] == 20
