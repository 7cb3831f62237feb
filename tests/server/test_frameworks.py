"""Frameworks that speak the dialect of OpenAI. They are heavy, so tests/requirements-frameworks.txt holds them; what is absent is skipped."""
import numpy as np
import pytest


def test_langchain(server):
    module = pytest.importorskip("langchain_openai")
    # Otherwise it sends ids of OpenAI's own vocabulary, which mean nothing to another model.
    client = module.OpenAIEmbeddings(model="tiny", base_url=server.url + "/v1", api_key="unused", check_embedding_ctx_length=False)
    wanted = server.embed(["hello world", "the cat"])
    assert np.array_equal(np.float32(client.embed_documents(["hello world", "the cat"])), wanted)
    assert np.array_equal(np.float32(client.embed_query("the cat")), wanted[1])


def test_llama_index(server):
    module = pytest.importorskip("llama_index.embeddings.openai_like")
    client = module.OpenAILikeEmbedding(model_name="tiny", api_base=server.url + "/v1", api_key="unused")
    wanted = server.embed(["hello world", "the cat"])
    assert np.array_equal(np.float32(client.get_text_embedding_batch(["hello world", "the cat"])), wanted)
    assert np.array_equal(np.float32(client.get_query_embedding("the cat")), wanted[1])
