"""The server as a process: cases from public trackers, limits, keys, TLS and the way it ends."""
import concurrent.futures
import http.client
import json
import random
import signal
import socket
import ssl
import subprocess
import threading
import time

import numpy as np
import pytest
import tokenizers


def test_case_h17_order_of_a_list(server):
    random.seed(17)
    words = ["cat", "dog", "mat", "hello", "world"]
    texts = [" ".join(random.choices(words, k=random.randint(1, 60))) for _ in range(60)] + ["hello"] * 4
    single = np.vstack([server.embed(text) for text in texts])

    def check(_):
        assert np.array_equal(server.embed(texts), single)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(check, range(16)))
    assert np.array_equal(single[-1], single[-2])


def test_case_h18_many_tiny_texts(server):
    for text in ["a", ".", "7"]:
        vectors = server.embed([text] * 300)
        assert np.isfinite(vectors).all() and (vectors == vectors[0]).all()


def test_case_h19_limit_of_the_model_not_of_the_tokenizer_file(server):
    a = "hello " * 40
    b = a + "cat cat"
    assert not np.array_equal(server.embed(a), server.embed(b))
    status, _, body = server.post("/v1/embeddings", {"input": ["hello", a]})
    assert status == 200 and body["usage"]["prompt_tokens"] == 3 + 42


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_case_h20_one_word_always_gives_the_same_vector(serve, dtype):
    server = serve("bert-tiny", "--dtype", dtype)
    wanted = server.embed("hello")
    long_text = "the cats sat on the mat " * 20

    def ask(i):
        if i % 4 == 0:
            server.embed(long_text)
        return server.embed("hello")

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for vector in pool.map(ask, range(400)):
            assert np.array_equal(vector, wanted)


@pytest.mark.parametrize("path, key, wrong", [("/v1/embeddings", "input", 400), ("/embed", "inputs", 422)])
def test_case_h21_empty_and_blank(server, path, key, wrong):
    for body, status in [({}, wrong), ({key: None}, wrong), ({key: ""}, wrong), ({key: "   "}, 200), ({key: []}, wrong),
                         ({key: [[]]}, wrong), ({key: "\u200b"}, 200), ({key: ["a", "", "d"]}, wrong)]:
        start = time.monotonic()
        assert server.post(path, body)[0] == status, body
        assert time.monotonic() - start < 1
    assert server.get("/health")[0] == 200


def test_case_h22_ids_out_of_range(server):
    for ids in [[-1], [265], [4294967294], [10**30], [5] * 65]:
        status, _, body = server.post("/v1/embeddings", {"input": ids})
        assert status == 400 and body["error"]["message"], ids
    assert server.get("/health")[0] == 200


def test_case_h25_too_long_names_limit_and_count(server):
    status, _, body = server.post("/embed", {"inputs": "hello " * 100, "truncate": False})
    assert status == 422 and body["error"] == "`inputs` must have less than 65 tokens. Given: 102"
    assert server.embed(["hello " * 100]).shape == (1, 44)


def test_case_h39_a_list_of_fifty_thousand(serve):
    server = serve("bert-tiny", "--dtype", "float32")
    words = ["cat", "dog", "mat", "hello", "world"]
    texts = [words[i % 5] for i in range(50_000)]
    wanted = server.embed(words)
    status, _, body = server.post("/v1/embeddings", {"input": texts, "dimensions": 4})
    assert status == 200
    assert [item["index"] for item in body["data"]] == list(range(50_000))
    cut = wanted[:, :4] / np.linalg.norm(wanted[:, :4], axis=1, keepdims=True)
    found = np.array([item["embedding"] for item in body["data"]])
    assert np.abs(found - cut[np.arange(50_000) % 5]).max() < 1e-6
    status, _, _ = serve("bert-tiny", "--max-queue-tokens", "1000").post("/v1/embeddings", {"input": texts})
    assert status == 413


def test_case_h39_body_over_the_limit(serve):
    server = serve("bert-tiny", "--max-body-bytes", 5000)
    status, _, body = server.post("/v1/embeddings", {"input": "a" * 6000})
    assert status == 413 and "too large" in body["error"]["message"]


def test_case_h41_overload_is_429_or_200_and_nothing_is_lost(serve):
    server = serve("bert-long", "--max-concurrent-requests", 2)
    text = "the cats sat on the mat " * 100
    statuses = []
    lock = threading.Lock()

    def run(i):
        for _ in range(6):
            status, headers, _ = server.post("/embed", {"inputs": text if i % 2 else [text]})
            with lock:
                statuses.append(status)
            assert status in (200, 429)
            if status == 429:
                assert 1 <= int(headers["Retry-After"]) <= 60 and int(headers["retry-after-ms"]) >= 1

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(run, range(16)))
    assert len(statuses) == 96 and statuses.count(200) > 0 and statuses.count(429) > 0
    assert server.post("/embed", {"inputs": "hello"})[0] == 200


def test_tokens_have_the_places_of_the_reference(server, golden):
    tokenizer = tokenizers.Tokenizer.from_file(str(golden / "bert-tiny" / "model" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = ["Grüße aus München", "中文 mixed 😀 x", "[SEP] spelt out"]
    for text, tokens in zip(texts, server.post("/tokenize", {"inputs": texts})[2]):
        wanted = tokenizer.encode(text)
        assert [token["id"] for token in tokens] == wanted.ids
        for token, special, name, (begin, end) in zip(tokens, wanted.special_tokens_mask, wanted.tokens, wanted.offsets):
            place = tuple(len(text[:at].encode()) for at in (begin, end))
            assert (token["start"], token["stop"]) == ((None, None) if special else place)
            assert token["text"] == (name if special else text[begin:end])


def test_case_h42_truncation_settings_do_not_mix(server):
    long_text = "hello world cat " * 30
    asks = [("/embed", {"inputs": long_text, "truncation_direction": "Left", "truncate": True}),
            ("/embed", {"inputs": long_text}),
            ("/embed", {"inputs": long_text, "truncate": False}),
            ("/tokenize", {"inputs": long_text}),
            ("/v1/embeddings", {"input": long_text, "truncate_prompt_tokens": 16})]
    wanted = [server.post(path, body)[2] for path, body in asks]

    def run(i):
        path, body = asks[i % len(asks)]
        assert server.post(path, body)[2] == wanted[i % len(asks)]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(run, range(400)))


@pytest.mark.parametrize("text", ["-" * 32_768, "_" * 50_000, "a" * 200_000, "中" * 100_000, "e" + "\u0301" * 100_000])
def test_case_h45_texts_that_stall_others(server, text):
    start = time.monotonic()
    assert server.post("/v1/embeddings", {"input": text})[0] == 200
    assert time.monotonic() - start < 2


def test_case_h45_deep_nesting(server):
    for depth, status in [(100, 200), (3_000, 400), (100_000, 400)]:
        body = b'{"x":' + b"[" * depth + b"]" * depth + b',"input":"hi"}'
        assert server.post("/v1/embeddings", body)[0] == status


def test_case_h26_keys(serve, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# keys\nteam-a:secret-of-a\n\nteam-b:secret-of-b\n")
    server = serve("bert-tiny", "--api-key-file", keys)
    assert server.get("/health")[0] == server.get("/ready")[0] == 200
    for path in ["/metrics", "/info", "/v1/models"]:
        assert server.get(path)[0] == 401
    status, _, body = server.post("/v1/embeddings", {"input": "a"})
    assert status == 401 and body["error"]["code"] == "invalid_api_key"
    for key in ["secret-of-a", "secret-of-b"]:
        assert server.post("/embed", {"inputs": "a"}, Authorization=f"bearer {key}")[0] == 200
    assert server.post("/embed", {"inputs": "a"}, Authorization="Bearer secret-of-c")[0] == 401


def test_tls(serve, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    server = serve("bert-tiny", "--tls-cert", cert, "--tls-key", key)
    context = ssl.create_default_context(cafile=str(cert))
    context.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=20)
    for _ in range(2):  # The connection is kept.
        connection.request("POST", "/embed", json.dumps({"inputs": "hello"}))
        response = connection.getresponse()
        assert response.status == 200 and len(json.loads(response.read())[0]) == 44
    connection.close()


def test_a_vanished_client_and_malformed_bodies_leave_no_mark(server):
    random.seed(5)
    for i in range(50):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            body = json.dumps({"inputs": ["hello world"] * 50}).encode()
            client.sendall(b"POST /embed HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:len(body) - (i % 3) * 7])
        server.post("/embed", bytes(random.randrange(256) for _ in range(60)))
    assert server.post("/embed", {"inputs": "hello"})[0] == 200
    for _ in range(100):
        if server.metric("inlay_connections") <= 1:
            break
        time.sleep(0.05)
    assert server.metric("inlay_connections") <= 1


def test_sigterm_under_load_loses_no_accepted_request(serve):
    server = serve("bert-long", "--drain-timeout", 20)
    text = "the cats sat on the mat " * 60
    answers, lost = [], []

    def run():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        while True:
            try:
                connection.connect() if connection.sock is None else None
            except ConnectionRefusedError:
                return  # Not accepted, so not lost.
            try:
                connection.request("POST", "/embed", json.dumps({"inputs": [text, text]}))
                response = connection.getresponse()
                response.read()
                answers.append(response.status)
                if response.will_close:
                    return
            except (ConnectionError, http.client.HTTPException) as error:
                lost.append(error)
                return

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    while len(answers) < 16:
        time.sleep(0.02)
    server.process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join(timeout=60)
    assert server.process.wait(timeout=60) == 0
    assert not lost and set(answers) == {200}


def test_readiness_ends_before_the_process(serve):
    server = serve("bert-tiny")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/ready")
    assert connection.getresponse().read() == b'{"status":"ready"}'
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    connection.request("GET", "/ready")
    response = connection.getresponse()
    assert (response.status, response.read()) == (503, b'{"status":"draining"}')
    assert server.process.wait(timeout=20) == 0


def test_memory_does_not_grow_with_requests(server):
    texts = ["hello world " * n for n in range(1, 40)]
    for _ in range(20):
        server.embed(texts)
    before = server.resident_bytes()
    for _ in range(200):
        server.embed(texts)
    assert server.resident_bytes() - before < 4 << 20


def test_bad_flags_end_with_2(inlay_binary, golden):
    model = golden / "bert-tiny" / "model"
    for flags in [["--tls-cert", "x"], ["--host", "no such host"], ["--api-key", "short"], ["--port", "99999"]]:
        done = subprocess.run([inlay_binary, "serve", "--model", model, *flags], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stderr.startswith(("inlay: ", "--")), done.stderr


def test_help_has_an_example(inlay_binary):
    done = subprocess.run([inlay_binary, "serve", "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "inlay serve --model" in done.stdout
