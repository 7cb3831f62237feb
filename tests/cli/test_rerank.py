"""`inlay rerank`: scores of sentence-transformers' CrossEncoder, best first."""
import json

import pytest

FLOAT32 = ("--dtype", "float32")


def pairs_of(golden, name):
    """Query, texts and CrossEncoder scores of the pairs that share the query of the first."""
    items = json.loads((golden / name / "heads.json").read_text())["items"]
    query = items[0]["first"]
    chosen = [item for item in items if item["first"] == query and item["second"]]
    return query, [item["second"] for item in chosen], [item["scores"][0] for item in chosen], [item["logits"][0] for item in chosen]


@pytest.mark.parametrize("name", ["heads-bert", "heads-xlm-roberta", "heads-electra"])
def test_scores_and_order_equal_the_cross_encoder(inlay, jsonl, golden, name):
    model = golden / name / "model"
    query, texts, scores, logits = pairs_of(golden, name)
    order = sorted(range(len(texts)), key=lambda index: -scores[index])
    rows = inlay("rerank", "--model", model, "--query", query, "--json", *FLOAT32, *texts).rows()
    assert [row["index"] for row in rows] == order
    assert [row["text"] for row in rows] == [texts[index] for index in order]
    assert [row["score"] for row in rows] == pytest.approx([scores[index] for index in order], abs=2e-5)
    source = jsonl([{"id": f"row {index}", "text": text} for index, text in enumerate(texts)])
    raw = inlay("rerank", "--model", model, "--query", query, "--input", source, "--scores", "raw", "--json", *FLOAT32).rows()
    assert [row["score"] for row in raw] == pytest.approx([logits[index] for index in order], abs=2e-5)
    assert [row["id"] for row in raw] == [f"row {index}" for index in order]


def test_top_k_and_plain_lines(inlay, golden):
    model = golden / "heads-xlm-roberta" / "model"
    query, texts, scores, _ = pairs_of(golden, "heads-xlm-roberta")
    done = inlay("rerank", "--model", model, "--query", query, "--top-k", "1", *FLOAT32, stdin="\n".join(texts))
    best = max(range(len(texts)), key=lambda index: scores[index])
    lines = done.out.splitlines()
    assert len(lines) == 1 and lines[0].endswith(texts[best])
    assert float(lines[0].split()[0]) == pytest.approx(scores[best], abs=2e-5)


def test_a_bad_row_ends_the_job_or_is_named(inlay, golden):
    model = golden / "heads-bert" / "model"
    rows = '{"text": "a boat"}\n{"text": 7}\n'
    done = inlay("rerank", "--model", model, "--query", "river", stdin=rows)
    assert done.code == 2 and "line 2: text: found an integer" in done.err and done.out == ""
    done = inlay("rerank", "--model", model, "--query", "river", "--on-error", "skip", "--json", stdin=rows)
    assert done.code == 0 and [row["index"] for row in done.rows()] == [0] and "line 2" in done.err


def test_models_that_rank_nothing_are_refused(inlay, golden):
    for name, why in (("bert-tiny", "no cross-encoder"), ("heads-albert", "5 labels")):
        done = inlay("rerank", "--model", golden / name / "model", "--query", "river", "a boat")
        assert done.code == 4 and why in done.err
    done = inlay("embed", "--model", golden / "heads-bert" / "model", stdin="a boat")
    assert done.code == 4 and "the model gives no vector; it gives: scores, tokens" in done.err
    assert inlay("rerank", "--model", golden / "heads-bert" / "model", "a boat").code == 2


def test_late_interaction_ranks_a_text_by_its_tokens(inlay, golden):
    model = golden / "heads-colbert" / "model"
    items = json.loads((golden / "heads-colbert" / "heads.json").read_text())["items"]
    query = items[0]["query"]

    def score(document):
        return sum(max(sum(a * b for a, b in zip(q, d)) for d in document) for q in query)

    wanted = {item["first"]: score(item["document"]) for item in items if item["first"]}
    rows = inlay("rerank", "--model", model, "--query", items[0]["first"], "--json", *FLOAT32, *wanted).rows()
    assert {row["text"]: row["score"] for row in rows} == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("name", ["heads-stanford", "heads-filled"])
def test_queries_that_are_filled_up_score_as_in_the_reference(inlay, golden, name):
    model = golden / name / "model"
    items = json.loads((golden / name / "heads.json").read_text())["items"]
    wanted = {item["first"]: item["score"] for item in items if item["first"]}
    rows = inlay("rerank", "--model", model, "--query", items[0]["first"], "--json", *FLOAT32, *wanted).rows()
    assert {row["text"]: row["score"] for row in rows} == pytest.approx(wanted, abs=1e-4)
    said = inlay("inspect", model).out
    assert "filled up to" in said and "not attended to" in said
