"""The clients that people have, as PyPI ships them, against a server. Vectors are compared with those that sentence-transformers gave."""
import asyncio
import json

import cohere
import numpy as np
import ollama
import openai
import pytest
import tritonclient.http as triton

TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def reference(golden):
    """Texts that are not blank, with their vectors."""
    folder = golden / "bert-tiny"
    data = json.loads((folder / "golden.json").read_text())
    run = data["runs"][0]
    flat = np.load(folder / "vectors.npy").reshape(-1)
    matrix = flat[run["offset"]:run["offset"] + run["rows"] * run["columns"]].reshape(run["rows"], run["columns"])
    texts = [data["texts"][i] for i in run["texts"]]
    keep = [i for i, text in enumerate(texts) if text.strip()]
    return [texts[i] for i in keep], matrix[keep]


def near(found, wanted):
    found = np.asarray(found, dtype=np.float64)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= TOLERANCE


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="unused", max_retries=0)


def test_openai_asks_for_base64_by_default(client, reference):
    texts, wanted = reference
    answer = client.embeddings.create(model="tiny", input=texts)
    near([item.embedding for item in answer.data], wanted)
    assert [item.index for item in answer.data] == list(range(len(texts)))
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 0


def test_openai_floats_equal_base64_bit_for_bit(client, reference):
    texts, _ = reference
    as_base64 = client.embeddings.create(model="tiny", input=texts)
    as_floats = client.embeddings.create(model="tiny", input=texts, encoding_format="float")
    for a, b in zip(as_base64.data, as_floats.data):
        assert np.array_equal(np.float32(a.embedding), np.float32(b.embedding))


def test_openai_dimensions_are_cut_then_normalised(client, reference):
    texts, wanted = reference
    cut = wanted[:, :10] / np.linalg.norm(wanted[:, :10], axis=1, keepdims=True)
    answer = client.embeddings.create(model="tiny", input=texts, dimensions=10)
    near([item.embedding for item in answer.data], cut)


def test_openai_takes_token_ids(server, client, golden):
    data = json.loads((golden / "bert-tiny" / "golden.json").read_text())
    row = data["texts"].index("hello world")
    ids = data["runs"][0]["ids"][row]
    by_ids = client.embeddings.create(model="tiny", input=[ids, ids]).data
    by_text = client.embeddings.create(model="tiny", input="hello world").data
    assert by_ids[0].embedding == by_ids[1].embedding == by_text[0].embedding


def test_openai_async(server, reference):
    texts, wanted = reference

    async def run():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="unused") as client:
            answers = await asyncio.gather(*(client.embeddings.create(model="tiny", input=text) for text in texts))
            return [answer.data[0].embedding for answer in answers]

    near(asyncio.run(run()), wanted)


def test_openai_errors_are_the_clients_own(client):
    with pytest.raises(openai.NotFoundError) as not_found:
        client.embeddings.create(model="other", input="a")
    assert not_found.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError, match="cannot be empty"):
        client.embeddings.create(model="tiny", input="")


def test_openai_lists_models(client):
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"


def test_cohere(server, reference):
    texts, wanted = reference
    client = cohere.ClientV2(api_key="unused", base_url=server.url)
    answer = client.embed(model="tiny", input_type="search_document", texts=texts, output_dimension=40,
                          embedding_types=["float", "int8", "uint8", "binary", "ubinary"])
    cut = wanted[:, :40] / np.linalg.norm(wanted[:, :40], axis=1, keepdims=True)
    near(answer.embeddings.float_, cut)
    assert np.array_equal(answer.embeddings.ubinary, np.packbits(np.array(answer.embeddings.float_) > 0, axis=1))
    assert np.array_equal(answer.embeddings.binary, np.int64(answer.embeddings.ubinary) - 128)
    eight = np.array(answer.embeddings.int8, dtype=np.float64)
    cosines = (eight * cut).sum(axis=1) / np.linalg.norm(eight, axis=1)
    assert cosines.min() > 0.9999
    assert answer.texts == texts
    with pytest.raises(cohere.errors.BadRequestError, match="re-ranker"):
        client.rerank(model="tiny", query="a", documents=["b"])


def test_ollama(server, reference):
    texts, wanted = reference
    client = ollama.Client(host=server.url)
    near(client.embed(model="tiny", input=texts)["embeddings"], wanted)
    near([client.embeddings(model="tiny", prompt=texts[0])["embedding"]], wanted[:1])
    assert len(client.embed(model="tiny", input="")["embeddings"]) == 0
    with pytest.raises(ollama.ResponseError):
        client.embed(model="other", input="a")


@pytest.mark.parametrize("binary", [False, True])
def test_triton(server, reference, binary):
    texts, wanted = reference
    client = triton.InferenceServerClient(f"127.0.0.1:{server.port}")
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tiny")
    assert client.get_model_metadata("tiny")["outputs"][0]["shape"] == [-1, wanted.shape[1]]
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    tensor = triton.InferInput("text", [len(texts)], "BYTES")
    tensor.set_data_from_numpy(np.array([text.encode() for text in texts], dtype=object), binary_data=binary)
    output = triton.InferRequestedOutput("embedding", binary_data=binary)
    answer = client.infer("tiny", [tensor], outputs=[output], request_id="7")
    near(answer.as_numpy("embedding"), wanted)
    assert answer.get_response()["id"] == "7"
    half = client.infer("tiny", [tensor], outputs=[triton.InferRequestedOutput("embedding_fp16", binary_data=True), output])
    assert half.as_numpy("embedding_fp16").dtype == np.float16
    assert np.array_equal(half.as_numpy("embedding_fp16"), half.as_numpy("embedding").astype(np.float16))
