"""Starts `inlay serve` for the tests of this folder."""
import json
import re
import subprocess
import urllib.error
import urllib.request

import numpy as np
import pytest

STARTUP_SECONDS = 60


class Server:
    """A running server. `post` and `get` give the status, the headers and the body, read as JSON where it is."""

    def __init__(self, process, port, grpc_port):
        self.process = process
        self.port = port
        self.grpc_port = grpc_port
        self.url = f"http://127.0.0.1:{port}"

    def request(self, path, body=None, headers=None, method=None):
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers, self.read(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, self.read(error)

    @staticmethod
    def read(response):
        data = response.read()
        try:
            return json.loads(data)
        except ValueError:
            return data

    def post(self, path, body, **headers):
        return self.request(path, body, headers)

    def get(self, path, **headers):
        return self.request(path, None, headers)

    def embed(self, inputs, **fields):
        status, _, body = self.post("/embed", {"inputs": inputs, **fields})
        assert status == 200, body
        return np.array(body, dtype=np.float32)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    def metric(self, name):
        _, _, text = self.get("/metrics")
        for line in text.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError(f"no metric {name}")


def start(binary, model, *flags):
    command = [str(binary), "serve", "--model", str(model), "--port", "0", "--threads", "2", *map(str, flags)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        found = re.search(r" on https?://[^ ]*:(\d+)", line)
        if found:
            grpc = re.search(r" grpc://[^ ]*:(\d+)", line)
            return Server(process, int(found.group(1)), int(grpc.group(1)) if grpc else None)
    raise AssertionError(f"{' '.join(command)} ended with {process.wait()}")


def stop(server):
    if server.process.poll() is None:
        server.process.terminate()
    server.process.communicate(timeout=60)


@pytest.fixture
def serve(inlay_binary, golden):
    """serve(model, flags...): a server of its own for a test. `model` is a golden folder's name, NAME=PATH or a path."""
    running = []

    def run(model, *flags):
        folder = golden / model / "model" if isinstance(model, str) and "=" not in model else model
        running.append(start(inlay_binary, folder, *flags))
        return running[-1]

    yield run
    for server in running:
        stop(server)


@pytest.fixture(scope="module")
def server(inlay_binary, golden):
    """A server with the model bert-tiny in float32, called tiny."""
    server = start(inlay_binary, golden / "bert-tiny" / "model", "--dtype", "float32", "--served-model-name", "tiny")
    yield server
    stop(server)
