"""Rerankers, classifiers and vectors of tokens, against what the reference library gave."""
import json
import math

import cohere
import numpy as np
import pytest

TOLERANCE = 2e-5


def items(golden, name):
    """Pairs with their logits. Texts that are blank or cut differ in how routes take them, so they are left out."""
    found = json.loads((golden / name / "heads.json").read_text())["items"]
    return [item for item in found if item["second"] is not None and item["first"].strip() and item["second"].strip()]


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def test_rerank_in_every_dialect(serve, golden):
    server = serve("heads-bert", "--dtype", "float32", "--served-model-name", "ranker")
    pairs = items(golden, "heads-bert")
    query = pairs[0]["first"]
    pairs = [item for item in pairs if item["first"] == query]
    assert len(pairs) >= 2
    documents = [item["second"] for item in pairs]
    logits = [item["logits"][0] for item in pairs]
    order = sorted(range(len(pairs)), key=lambda i: -logits[i])

    status, headers, body = server.post("/rerank", {"query": query, "texts": documents, "raw_scores": True, "return_text": True})
    assert status == 200 and headers["x-compute-tokens"]
    assert [rank["index"] for rank in body] == order
    assert all(abs(rank["score"] - logits[rank["index"]]) < TOLERANCE and rank["text"] == documents[rank["index"]] for rank in body)

    for path in ["/v1/rerank", "/rerank", "/v2/rerank"]:
        status, _, body = server.post(path, {"model": "ranker", "query": query, "documents": documents, "top_n": 2})
        assert status == 200 and [rank["index"] for rank in body["results"]] == order[:2], path
        assert all(abs(rank["relevance_score"] - sigmoid(logits[rank["index"]])) < TOLERANCE for rank in body["results"])

    scores = server.post("/score", {"text_1": query, "text_2": documents})[2]["data"]
    assert all(abs(item["score"] - sigmoid(logits[item["index"]])) < TOLERANCE for item in scores)

    answer = cohere.ClientV2(api_key="unused", base_url=server.url).rerank(model="ranker", query=query, documents=documents)
    assert [rank.index for rank in answer.results] == order
    assert server.post("/embed", {"inputs": "a"})[0] == 424
    assert server.get("/info")[2]["model_type"]["reranker"]["id2label"] == {"0": "LABEL_0"}


def test_a_list_of_documents_gives_the_bits_of_single_ones(serve, golden):
    server = serve("heads-bert", "--dtype", "float32")
    pairs = items(golden, "heads-bert")
    documents = [item["second"] for item in pairs]
    together = {rank["index"]: rank["score"] for rank in server.post("/rerank", {"query": "q", "texts": documents, "raw_scores": True})[2]}
    for i, document in enumerate(documents):
        assert server.post("/rerank", {"query": "q", "texts": [document], "raw_scores": True})[2][0]["score"] == together[i]


@pytest.mark.parametrize("name", ["heads-roberta", "heads-distilbert", "heads-electra"])
def test_predict_gives_the_classes(serve, golden, name):
    server = serve(name, "--dtype", "float32")
    pairs = items(golden, name)
    body = {"inputs": [[item["first"], item["second"]] for item in pairs], "raw_scores": True}
    answers = server.post("/predict", body)[2]
    for item, classes in zip(pairs, answers, strict=True):
        found = [entry["score"] for entry in classes]
        assert found == sorted(found, reverse=True)
        assert np.abs(np.array(found) - sorted(item["logits"], reverse=True)).max() < TOLERANCE
    single = server.post("/predict", {"inputs": [pairs[0]["first"], pairs[0]["second"]], "raw_scores": True})[2]
    assert single == answers[0]
    if len(single) > 1:
        probabilities = [entry["score"] for entry in server.post("/predict", {"inputs": "hello"})[2]]
        assert all(0 <= p <= 1 for p in probabilities)


def test_the_mean_of_the_tokens_is_the_vector(server):
    for text in ["hello", "the cat sat on the mat"]:
        tokens = np.array(server.post("/embed_all", {"inputs": text})[2][0])
        mean = tokens.mean(axis=0)
        assert len(tokens) == len(server.post("/tokenize", {"inputs": text})[2][0])
        assert np.abs(mean / np.linalg.norm(mean) - server.embed(text)[0]).max() < TOLERANCE
    assert server.post("/embed_sparse", {"inputs": "hello"})[0] == 424


@pytest.mark.parametrize("name", ["heads-stanford", "heads-filled"])
def test_queries_of_late_interaction_are_filled_up(serve, golden, name):
    server = serve(name, "--dtype", "float32")
    found = json.loads((golden / name / "heads.json").read_text())["items"]
    for item in found:
        for kind in ["query", "document"]:
            if kind not in item or not item["first"].strip():
                continue
            vectors = np.array(server.post("/embed_all", {"inputs": item["first"], "input_type": kind, "truncate": True})[2][0])
            assert vectors.shape == np.shape(item[kind]), (kind, item["first"])
            assert np.abs(vectors - item[kind]).max() < TOLERANCE, (kind, item["first"])


@pytest.mark.parametrize("name", ["heads-stanford", "heads-filled"])
def test_late_interaction_reranks_as_in_the_reference(serve, golden, name):
    server = serve(name, "--dtype", "float32")
    found = [item for item in json.loads((golden / name / "heads.json").read_text())["items"] if item["first"].strip()]
    query, documents = found[0]["first"], [item["first"] for item in found]
    ranks = server.post("/rerank", {"query": query, "texts": documents, "truncate": True})[2]
    assert {rank["index"]: rank["score"] for rank in ranks} == pytest.approx({i: item["score"] for i, item in enumerate(found)}, abs=1e-4)
    assert [rank["score"] for rank in ranks] == sorted((rank["score"] for rank in ranks), reverse=True)
    assert server.post("/predict", {"inputs": [query, query]})[0] == 424
