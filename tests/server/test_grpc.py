"""KServe v2 over gRPC, by Triton's client. Skipped where the program was built without gRPC, or the client lacks it."""
import subprocess
import time

import numpy as np
import pytest

triton = pytest.importorskip("tritonclient.grpc")


@pytest.fixture(scope="module", autouse=True)
def built_with_grpc(inlay_binary, golden):
    done = subprocess.run([inlay_binary, "serve", "--model", golden / "bert-tiny" / "model", "--port", "0", "--grpc-port", "0",
                           "--host", "no such host"], capture_output=True, text=True, timeout=60)
    if "has no gRPC" in done.stderr:
        pytest.skip("built without gRPC")


def text_tensor(texts):
    tensor = triton.InferInput("text", [len(texts)], "BYTES")
    tensor.set_data_from_numpy(np.array([text.encode() for text in texts], dtype=object))
    return tensor


def test_infer_gives_the_vectors_of_http(serve):
    server = serve("bert-tiny", "--dtype", "float32", "--served-model-name", "tiny", "--grpc-port", 0)
    client = triton.InferenceServerClient(f"127.0.0.1:{server.grpc_port}")
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tiny")
    assert not client.is_model_ready("other")
    assert "parameters" in client.get_server_metadata().extensions
    metadata = client.get_model_metadata("tiny")
    assert list(metadata.outputs[0].shape) == [-1, 44] and metadata.inputs[0].datatype == "BYTES"

    texts = ["hello world", "the cat sat on the mat"] * 20
    answer = client.infer("tiny", [text_tensor(texts)], request_id="7")
    assert answer.get_response().id == "7"
    assert np.array_equal(answer.as_numpy("embedding"), server.embed(texts))

    ids = [token["id"] for token in server.post("/tokenize", {"inputs": "hello world"})[2][0]]
    tensor = triton.InferInput("input_ids", [1, len(ids)], "INT64")
    tensor.set_data_from_numpy(np.array([ids], dtype=np.int64))
    assert np.array_equal(client.infer("tiny", [tensor]).as_numpy("embedding"), server.embed("hello world"))

    outputs = [triton.InferRequestedOutput(name) for name in ("embedding_fp16", "embedding")]
    half = client.infer("tiny", [text_tensor(texts)], outputs=outputs)
    assert half.as_numpy("embedding_fp16").dtype == np.float16
    assert np.array_equal(half.as_numpy("embedding_fp16"), half.as_numpy("embedding").astype(np.float16))

    cut = client.infer("tiny", [text_tensor(["hello"])], parameters={"dimensions": 8, "normalize": True}).as_numpy("embedding")
    assert np.array_equal(cut, server.embed("hello", dimensions=8))


def test_errors_have_the_codes_of_the_protocol(serve):
    server = serve("bert-tiny", "--served-model-name", "tiny", "--grpc-port", 0)
    client = triton.InferenceServerClient(f"127.0.0.1:{server.grpc_port}")

    def code_of(name, inputs, **options):
        with pytest.raises(triton.InferenceServerException) as error:
            client.infer(name, inputs, **options)
        return error.value.status()

    assert code_of("other", [text_tensor(["a"])]) == "StatusCode.NOT_FOUND"
    assert code_of("tiny", [text_tensor(["a"])], model_version="2") == "StatusCode.NOT_FOUND"
    assert code_of("tiny", [text_tensor(["a", ""])]) == "StatusCode.INVALID_ARGUMENT"
    assert code_of("tiny", [text_tensor(["a"])], parameters={"dimensions": 1000}) == "StatusCode.INVALID_ARGUMENT"
    assert code_of("tiny", [text_tensor(["hello " * 100])], parameters={"truncate": False}) == "StatusCode.INVALID_ARGUMENT"
    assert client.infer("tiny", [text_tensor(["a"])]).as_numpy("embedding").shape == (1, 44)


def test_keys_close_what_they_close_over_http(serve):
    server = serve("bert-tiny", "--served-model-name", "tiny", "--grpc-port", 0, "--api-key", "the-secret-key")
    client = triton.InferenceServerClient(f"127.0.0.1:{server.grpc_port}")
    assert client.is_server_live()
    with pytest.raises(triton.InferenceServerException, match="API key"):
        client.infer("tiny", [text_tensor(["a"])])
    answer = client.infer("tiny", [text_tensor(["a"])], headers={"authorization": "Bearer the-secret-key"})
    assert answer.as_numpy("embedding").shape == (1, 44)


def test_sigterm_answers_what_has_begun(serve):
    server = serve("bert-long", "--served-model-name", "long", "--grpc-port", 0)
    client = triton.InferenceServerClient(f"127.0.0.1:{server.grpc_port}")
    answers = []
    calls = [client.async_infer("long", [text_tensor(["the cats sat on the mat " * 100] * 20)],
                                callback=lambda result, error: answers.append(error)) for _ in range(4)]
    time.sleep(0.1)
    server.process.terminate()
    assert server.process.wait(timeout=60) == 0
    end = time.monotonic() + 10
    while len(answers) < len(calls) and time.monotonic() < end:
        time.sleep(0.02)
    # Sent before the signal: answered, or never taken.
    assert len(answers) == 4 and sum(error is None for error in answers) >= 1
    assert all(error is None or "UNAVAILABLE" in str(error.status()) for error in answers)
