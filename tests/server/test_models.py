"""Several models in one process, and models that come and go."""
import concurrent.futures
import json
import re
import time

import numpy as np

KEY = {"Authorization": "Bearer the-admin-key"}


def test_models_answer_by_name(serve, golden, server):
    both = serve(f"a={golden / 'bert-tiny' / 'model'}", "--model", f"b={golden / 'bert-cls-dense' / 'model'}", "--dtype", "float32",
                 "--model-weight", "b=2")
    assert {model["id"] for model in both.get("/v1/models")[2]["data"]} == {"a", "b"}
    wanted = server.embed("hello world")
    by_name = {name: both.post("/v1/embeddings", {"model": name, "input": "hello world"})[2]["data"][0]["embedding"] for name in "ab"}
    assert np.array_equal(np.float32(by_name["a"]), wanted[0])
    assert len(by_name["b"]) != len(by_name["a"])
    assert both.embed("hello world").shape == wanted.shape  # No name: the first.
    assert both.post("/v1/embeddings", {"model": "c", "input": "hello"})[0] == 404
    text = both.get("/metrics")[2].decode()
    assert 'inlay_batch_tokens_count{model="a"}' in text and 'inlay_batch_tokens_count{model="b"}' in text
    # Lines of one metric stand together.
    names = [re.sub(r"_(bucket|sum|count)$", "", line.split("{")[0]) for line in text.splitlines() if line and line[0] != "#" and "{" in line]
    seen = [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]
    assert len(seen) == len(set(seen))


def test_models_come_and_go_under_load(serve, golden, server):
    busy = serve("bert-tiny", "--dtype", "float32", "--admin-key", "the-admin-key", "--served-model-name", "first")
    folder = str(golden / "bert-tiny" / "model")
    wanted = server.embed("hello world")[0]
    statuses = set()
    stop = time.monotonic() + 3

    def ask(name):
        while time.monotonic() < stop:
            status, _, body = busy.post("/v1/embeddings", {"model": name, "input": ["hello world"] * 3})
            statuses.add((name, status))
            if status == 200:
                assert np.array_equal(np.float32(body["data"][2]["embedding"]), wanted)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(ask, name) for name in ["first", "second"] * 3]
        while time.monotonic() < stop:
            assert busy.post("/admin/models/second/load", {"model": folder}, **KEY)[0] == 200
            time.sleep(0.05)
            assert busy.post("/v2/repository/models/second/unload", {}, **KEY)[0] == 200
        for future in futures:
            future.result()
    assert {("first", 200), ("second", 200)} <= statuses <= {("first", 200), ("second", 200), ("second", 404)}
    assert busy.post("/admin/models/third/load", {"model": "/no/such/folder"}, **KEY)[0] == 400
    assert busy.post("/admin/models/first/unload", {}, **KEY)[0] == 200
    assert busy.post("/admin/models/first/load", {}, **KEY)[0] == 200  # It is known where it came from.
    assert busy.embed("hello world").shape == (1, 44)
    assert busy.post("/admin/models/first/unload", {})[0] == 401


def test_logs_as_json_carry_the_trace(serve, golden, inlay_binary):
    server = serve("bert-tiny", "--log-level", "info", "--log-requests", "--log-json")
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    server.post("/embed", {"inputs": "a secret text"}, traceparent=trace)
    server.process.terminate()
    lines = [json.loads(line) for line in server.process.stderr if line.startswith("{")]
    request = next(line for line in lines if line["message"] == "request")
    assert request["trace_id"] == trace.split("-")[1] and request["path"] == "/embed" and request["status"] == 200
    assert "secret" not in json.dumps(lines)
