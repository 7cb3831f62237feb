"""`inlay embed --output-kind`: what models give besides one vector a text."""
import json

import pytest

FLOAT32 = ("--dtype", "float32")


def items_of(golden, name):
    return json.loads((golden / name / "heads.json").read_text())["items"]


def test_scores_of_a_classifier_by_label(inlay, jsonl, golden):
    model = golden / "heads-roberta" / "model"
    items = [item for item in items_of(golden, "heads-roberta") if item["second"] is None and item["first"]]
    source = jsonl([{"id": index, "text": item["first"]} for index, item in enumerate(items)])
    rows = inlay("embed", "--model", model, "--output-kind", "scores", "--input", source, *FLOAT32).rows()
    assert [row["id"] for row in rows] == list(range(len(items)))
    for row, item in zip(rows, items):
        assert list(row["scores"]) == ["bad", "so so", "good"]
        assert list(row["scores"].values()) == pytest.approx(item["logits"], abs=3e-5)


def test_sparse_and_tokens(inlay, golden, tmp_path):
    model = tmp_path / "splade"
    model.mkdir()
    for file in (golden / "heads-bert" / "model").iterdir():
        (model / file.name).symlink_to(file)
    kinds = ["MLMTransformer", "SpladePooling"]
    modules = [
        {"idx": index, "path": f"1_{kind}" if index else "", "type": f"sentence_transformers.sparse_encoder.models.{kind}"}
        for index, kind in enumerate(kinds)
    ]
    (model / "modules.json").write_text(json.dumps(modules))
    (model / "1_SpladePooling").mkdir()
    (model / "1_SpladePooling" / "config.json").write_text('{"pooling_strategy": "max"}')
    item = next(item for item in items_of(golden, "heads-bert") if item["second"] is None)
    row = inlay("embed", "--model", model, "--output-kind", "sparse", *FLOAT32, stdin=item["first"]).rows()[0]
    assert row["index"] == 0 and row["indices"] == [index for index, _ in item["sparse"]]
    assert row["values"] == pytest.approx([weight for _, weight in item["sparse"]], abs=3e-5)
    row = inlay("embed", "--model", model, "--output-kind", "tokens", *FLOAT32, stdin=item["first"]).rows()[0]
    assert row["ids"] == item["ids"]
    assert sum(row["vectors"], []) == pytest.approx(sum(item["hidden"], []), abs=3e-5)


def test_bad_rows_and_wrong_kinds(inlay, golden):
    model = golden / "heads-roberta" / "model"
    rows = '{"text": "a boat"}\n{"text": 7}\n'
    done = inlay("embed", "--model", model, "--output-kind", "scores", "--on-error", "skip", "--json", stdin=rows)
    assert done.code == 0 and "error" in done.rows()[1] and '"failed":1' in done.err
    assert inlay("embed", "--model", model, "--output-kind", "scores", stdin=rows).code == 2
    done = inlay("embed", "--model", model, "--output-kind", "sparse", stdin="a boat")
    assert done.code == 4 and "the model gives no sparse; it gives: scores, tokens" in done.err
    assert inlay("embed", "--model", model, "--output-kind", "colours", stdin="a boat").code == 2
    assert inlay("embed", "--model", model, "--output-kind", "tokens", "--output", "x.npy", stdin="a boat").code == 2
