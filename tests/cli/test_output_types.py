"""`inlay embed --output-type`: the stored numbers are those that NumPy makes of the float vectors."""
import json

import numpy as np
import pytest

WORDS = "bridge river stone water cold light tower garden music paper window morning".split()


@pytest.fixture
def source(jsonl):
    random = np.random.default_rng(4)
    return jsonl([{"text": " ".join(random.choice(WORDS, size=random.integers(1, 20)))} for _ in range(60)])


@pytest.fixture
def embed(inlay, tiny, source, tmp_path):
    def run(output_type, suffix=".npy", *flags):
        target = tmp_path / f"{output_type}{suffix}"
        done = inlay("embed", "--model", tiny, "--input", source, "--output", target, "--dtype", "float32", "--output-type", output_type, "--quiet", *flags)
        assert done.code == 0, done.err
        return np.load(target) if suffix == ".npy" else np.array([json.loads(line)["embedding"] for line in target.read_text().splitlines()])

    return run


def quantised(vectors, low, high):
    """As quantize_embeddings of sentence-transformers does it, in float32."""
    steps = (high - low) / np.float32(255)
    return np.clip(np.floor((vectors - low) / np.where(steps == 0, np.float32(1), steps)), 0, 255)


def test_integers_spread_over_the_ranges_of_the_input(embed):
    vectors = embed("float")
    expected = quantised(vectors, vectors.min(axis=0), vectors.max(axis=0))
    stored = embed("uint8")
    assert stored.dtype == np.uint8 and (stored == expected).all()
    signed = embed("int8")
    assert signed.dtype == np.int8 and (signed == expected - 128).all()
    assert (embed("int8", ".jsonl") == signed).all()


def test_bits_are_those_of_packbits(embed):
    vectors = embed("float")
    bits = np.packbits(vectors > 0, axis=1)
    assert vectors.shape[1] % 8 == 4 and (embed("ubinary") == bits).all()
    stored = embed("binary")
    assert stored.dtype == np.int8 and (stored == bits.astype(np.int16) - 128).all()


def test_halves_are_rounded_as_numpy_rounds(embed):
    vectors = embed("float")
    stored = embed("fp16")
    assert stored.dtype == np.float16 and (stored == vectors.astype(np.float16)).all()
    assert (embed("fp16", ".jsonl").astype(np.float32) == stored).all()


def test_ranges_are_kept_and_used_again(inlay, tiny, embed, jsonl, tmp_path):
    ranges = tmp_path / "ranges.json"
    first = embed("int8", ".npy", "--save-ranges", ranges)
    kept = json.loads(ranges.read_text())
    vectors = embed("float")
    assert (np.array(kept["low"], np.float32) == vectors.min(axis=0)).all() and (np.array(kept["high"], np.float32) == vectors.max(axis=0)).all()
    assert (embed("int8", ".npy", "--ranges", ranges) == first).all()
    other = jsonl([{"text": "bridge"}, {"text": "cold water"}], "other.jsonl")
    wider = embed("int8", ".npy", "--calibration-texts", other)
    assert (wider != first).any()
    piped = inlay("embed", "--model", tiny, "--output-type", "int8", "--ranges", ranges, "--quiet", stdin="cold water\n")
    assert piped.code == 0 and all(-128 <= code <= 127 and isinstance(code, int) for code in piped.rows()[0]["embedding"])


def test_what_cannot_be_is_said(inlay, tiny, source, tmp_path):
    def error(*flags, stdin=""):
        done = inlay("embed", "--model", tiny, "--quiet", *flags, stdin=stdin)
        assert done.code == 2 and not done.out
        return done.err

    assert "wanted float, fp16, int8" in error("--output-type", "int7")
    assert "cannot be read twice" in error("--output-type", "int8", stdin="a\n")
    assert "has no ranges" in error("--output-type", "binary", "--save-ranges", tmp_path / "r.json")
    assert "not both" in error("--output-type", "int8", "--ranges", "a", "--calibration-texts", "b", "--input", source)
    (tmp_path / "short.json").write_text('{"low":[0],"high":[1]}')
    assert "1 numbers, the model's vectors have 44" in error("--output-type", "int8", "--ranges", tmp_path / "short.json")


def test_a_failed_row_is_a_row_of_zeros(inlay, tiny, jsonl, tmp_path):
    rows = jsonl([{"text": "cold"}, {"text": ""}, {"text": "water"}], "rows.jsonl")
    for output_type, columns in (("int8", 44), ("ubinary", 6), ("fp16", 44)):
        target = tmp_path / f"{output_type}.npy"
        done = inlay("embed", "--model", tiny, "--input", rows, "--output", target, "--output-type", output_type, "--on-error", "skip", "--quiet")
        assert done.code == 0, done.err
        stored = np.load(target)
        assert stored.shape == (3, columns) and not stored[1].any() and stored[2].any()


def test_validate_shows_what_a_type_loses(inlay, tiny, jsonl):
    random = np.random.default_rng(5)
    texts = [" ".join(random.choice(WORDS, size=12)) for _ in range(80)]
    pairs = jsonl([{"query": " ".join(text.split()[:5]), "text": text} for text in texts], "pairs.jsonl")
    flags = [word for name in ("float", "int8", "ubinary") for word in ("--output-type", name)]
    done = inlay("validate", tiny, "--dtype", "float32", "--pairs", pairs, "--json", "--no-store", "--quiet", *flags)
    assert done.code == 0, done.err
    report = json.loads(done.out)
    outputs = {row["output_type"]: row for row in report["outputs"]}
    assert {name: row["vector_bytes"] for name, row in outputs.items()} == {"float": 176, "int8": 44, "ubinary": 6}
    assert outputs["float"]["plain"] == report["retrieval"]["all"]["candidate"]
    for figure in ("recall_1", "recall_5", "ndcg_10"):
        assert outputs["float"]["rescored"][figure] == outputs["float"]["plain"][figure]
    assert outputs["int8"]["rescored"]["recall_5"] >= outputs["ubinary"]["plain"]["recall_5"]
    texts_only = jsonl([{"text": text} for text in texts], "texts.jsonl")
    refused = inlay("validate", tiny, "--texts", texts_only, "--output-type", "int8", "--quiet")
    assert refused.code == 2 and "give pairs" in refused.err
