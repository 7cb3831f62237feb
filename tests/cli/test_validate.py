"""`inlay validate`: its figures against NumPy, its rule, and what it refuses to compare."""
import json
import re
import shutil

import numpy as np
import pytest
import safetensors.numpy

WORDS = "bridge river stone water cold light tower garden music paper window morning winter field engine song".split()
EXIT_NOT_SUITED = 10


def sentences(count, seed):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, size=random.integers(1, 24))) for _ in range(count)]


@pytest.fixture
def texts(jsonl):
    return jsonl([{"text": text, "id": index} for index, text in enumerate(sentences(150, 1))], "texts.jsonl")


@pytest.fixture
def pairs(jsonl):
    """Pairs whose queries are some of the words of their texts; one text answers two queries."""
    random = np.random.default_rng(2)
    documents = sentences(60, 3)
    documents[7] = documents[8]
    rows = [{"query": " ".join(random.permutation(text.split())[:3]), "text": text, "language": "en" if index % 3 else "de"} for index, text in enumerate(documents)]
    return jsonl(rows, "pairs.jsonl")


@pytest.fixture
def copy(tiny, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(tiny, folder)
    return folder


def validate(inlay, *arguments):
    return inlay("validate", *arguments, "--quiet")


def report_of(inlay, *arguments):
    done = validate(inlay, *arguments, "--json", "--no-store")
    assert done.code in (0, EXIT_NOT_SUITED), done.err
    return json.loads(done.out)


def vectors(inlay, model, texts, dtype, jsonl):
    source = jsonl([{"text": text} for text in texts], f"vectors-{dtype}.jsonl")
    done = inlay("embed", "--model", model, "--input", source, "--dtype", dtype, "--quiet")
    assert done.code == 0, done.err
    return np.array([row["embedding"] for row in done.rows()], dtype=np.float64)


def unit(matrix):
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def test_distances_are_those_of_numpy(inlay, tiny, texts, jsonl):
    report = report_of(inlay, tiny, tiny, "--dtype", "int8", "--texts", texts)
    rows = [json.loads(line)["text"] for line in texts.read_text().splitlines()]
    reference, candidate = (unit(vectors(inlay, tiny, rows, dtype, jsonl)) for dtype in ("float32", "int8"))
    distance = 1 - (reference * candidate).sum(axis=1)
    found = report["distance"]
    assert found["texts"] == len(rows) == sum(report["histogram"]["counts"])
    expected = {"mean": distance.mean(), "max": distance.max(), **{f"p{q}": np.percentile(distance, q) for q in (50, 95, 99)}}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name
    worst = report["worst"][0]
    assert worst["id"] == int(distance.argmax()) and worst["line"] == worst["id"] + 1 and rows[worst["id"]].startswith(worst["text"][:20])
    assert report["reference"]["dtype"] == "float32" and report["candidate"]["dtype"] == "int8"
    assert report["candidate"]["weight_bytes"] < report["reference"]["weight_bytes"]
    assert report["bit_identity"] == {"texts": 48, "different": 0}
    assert sum(group["texts"] for group in report["lengths"].values()) == len(rows) and list(report["languages"]) == ["Latin"]


def expected_retrieval(queries, documents, answers):
    scores = unit(queries) @ unit(documents).T
    own = scores[np.arange(len(answers)), answers]
    place = (scores >= own[:, None] - 1e-12).sum(axis=1)
    nearest = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    return {"recall_1": np.mean(place <= 1), "recall_5": np.mean(place <= 5), "mrr": np.mean(1 / place),
            "ndcg_10": np.mean(np.where(place <= 10, 1 / np.log2(1 + place), 0))}, nearest


def test_retrieval_is_that_of_numpy(inlay, tiny, pairs, jsonl):
    report = report_of(inlay, tiny, tiny, "--dtype", "int8", "--pairs", pairs)
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    documents = list(dict.fromkeys(row["text"] for row in rows))
    answers = np.array([documents.index(row["text"]) for row in rows])
    assert len(documents) < len(rows) and report["distance"]["texts"] == len(rows) + len(documents)
    nearest = {}
    for name, dtype in (("reference", "float32"), ("candidate", "int8")):
        embedded = vectors(inlay, tiny, [row["query"] for row in rows] + documents, dtype, jsonl)
        expected, nearest[name] = expected_retrieval(embedded[:len(rows)], embedded[len(rows):], answers)
        for figure, value in expected.items():
            assert report["retrieval"]["all"][name][figure] == pytest.approx(value, abs=1e-9), (name, figure)
    overlap = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(nearest["reference"], nearest["candidate"])])
    assert report["retrieval"]["all"]["overlap_10"] == pytest.approx(overlap, abs=1e-9)
    queries = {name: report["retrieval"][name]["reference"]["queries"] for name in ("all", "de", "en")}
    assert queries == {"all": 60, "de": 20, "en": 40}


def test_a_model_is_as_good_as_itself(inlay, tiny, texts, pairs):
    done = validate(inlay, tiny, tiny, "--dtype", "float32", "--texts", texts, "--pairs", pairs, "--no-store")
    assert done.code == 0 and "verdict        suited" in done.out, done.out + done.err
    assert "48 of 48 vectors are the same" in done.out and "0.00 %" in done.out


def break_a_layer(folder):
    """What a wrong scale in a quantised file does."""
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    name = next(name for name in tensors if name.endswith("layer.1.intermediate.dense.weight"))
    tensors[name] = tensors[name] * 7
    safetensors.numpy.save_file(tensors, path)


def test_a_broken_layer_is_not_suited(inlay, tiny, copy, texts, pairs):
    break_a_layer(copy)
    done = validate(inlay, tiny, copy, "--dtype", "float32", "--texts", texts, "--pairs", pairs, "--fallback", "--json")
    assert done.code == EXIT_NOT_SUITED, done.out + done.err
    report = json.loads(done.out)
    assert not report["verdict"]["passed"] and any("P99" in reason for reason in report["verdict"]["reasons"])
    assert report["fallbacks"][-1]["verdict"]["passed"] and report["fallbacks"][-1]["dtype"] in ("bfloat16", "float16")
    table = validate(inlay, tiny, copy, "--dtype", "float32", "--texts", texts)
    assert table.code == EXIT_NOT_SUITED and "not suited" in table.out and "--fallback" in table.out
    kept = json.loads((copy / "inlay-validation.json").read_text())["reports"]["float32"]
    assert kept["verdict"] == {"passed": False, "reasons": kept["verdict"]["reasons"]}


def test_reports_of_each_dtype_are_kept_and_shown(inlay, copy, texts):
    for dtype in ("int8", "bfloat16"):
        assert validate(inlay, copy, "--dtype", dtype, "--texts", texts, "--max-p99", "2").code == 0
    kept = json.loads((copy / "inlay-validation.json").read_text())["reports"]
    assert set(kept) == {"int8", "bfloat16"} and kept["int8"]["distance"]["texts"] == 150
    shown = inlay("inspect", copy).out
    assert "int8: suited" in shown and "other weights" not in shown
    assert {row["dtype"] for row in json.loads(inlay("inspect", copy, "--json").out)["validations"]} == {"int8", "bfloat16"}
    break_a_layer(copy)
    assert "made of other weights" in inlay("inspect", copy).out


def test_models_that_differ_are_an_error(inlay, golden, tiny, copy, texts):
    other = validate(inlay, tiny, golden / "bert-cls-dense" / "model", "--texts", texts)
    assert other.code == 2 and "cannot be compared" in other.err and not other.out
    config = json.loads((copy / "config.json").read_text())
    tokenizer = json.loads((copy / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    first, second = [word for word in ("cold", "water", "river", "a", "b") if word in vocabulary][:2]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    sample = texts.parent / "words.txt"
    sample.write_text(f"{first}\n{second}\n")
    swapped = validate(inlay, tiny, copy, "--texts", sample)
    assert swapped.code == 2 and "vocabularies" in swapped.err
    config["vocab_size"] += 1
    (copy / "config.json").write_text(json.dumps(config))
    larger = validate(inlay, tiny, copy, "--texts", texts)
    assert larger.code == 2 and "vocabulary size: the reference has 265, the candidate 266" in larger.err


def test_samples_are_spread_and_seeded(inlay, tiny, texts):
    def worst(*flags):
        return [row["line"] for row in report_of(inlay, tiny, tiny, "--dtype", "int8", "--texts", texts, "--max-texts", "10", "--worst", "10", *flags)["worst"]]

    first = sorted(worst())
    assert len(first) == 10 and first == sorted(worst()) and first != sorted(worst("--seed", "2"))
    assert first[0] <= 45 and first[-1] > 105


def test_languages_come_from_the_flag_the_field_or_the_script(inlay, tiny, jsonl):
    mixed = jsonl([{"text": "a cold river", "language": "en"}, {"text": "холодная река"}, {"text": "   "}, {"text": 3}], "mixed.jsonl")
    german = jsonl([{"text": "ein kalter fluss"}], "german.jsonl")
    report = report_of(inlay, tiny, tiny, "--dtype", "bfloat16", "--texts", mixed, "--texts", f"de={german}")
    assert set(report["languages"]) == {"en", "Cyrillic", "de"} and report["unusable_rows"] == 2


def test_what_is_missing_is_said(inlay, tiny, jsonl, tmp_path):
    empty = jsonl([{"text": "no query here"}])
    assert "no row has a query" in validate(inlay, tiny, tiny, "--pairs", empty).err
    assert validate(inlay, tiny, tiny).code == 2
    assert validate(inlay, tiny, tmp_path / "nothing", "--texts", empty).code == 3


def test_the_page_needs_nothing_else(inlay, tiny, texts, pairs, tmp_path):
    page = tmp_path / "report.html"
    hostile = tmp_path / "hostile.jsonl"
    hostile.write_text(texts.read_text() + json.dumps({"text": "<script>alert(1)</script> & 'quotes'"}) + "\n")
    done = validate(inlay, tiny, tiny, "--dtype", "int8", "--texts", hostile, "--pairs", pairs, "--report", page, "--no-store", "--worst", "1000", "--max-p99", "2", "--max-recall-loss", "1")
    assert done.code == 0, done.out + done.err
    html = page.read_text()
    assert html.count("<svg") == html.count("</svg>") >= 4 and "<script" not in html and "&lt;script&gt;" in html
    assert not re.search(r"https?://|src=|href=|@import|nan|inf\b", html)
