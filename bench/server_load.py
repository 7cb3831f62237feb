"""What the measurements of the server share: servers as processes, bodies, and load by wrk."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import measure
import report

LUA = report.ROOT / "bench" / "load.lua"


class Server:
    def __init__(self, process, port):
        self.process = process
        self.port = port

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        return self.process.returncode


@contextlib.contextmanager
def serving(options, *flags):
    """`inlay serve`, ready to answer; ended afterwards."""
    command = [options.inlay, "serve", "--model", options.model, "--port", "0", "--threads", options.threads, *flags]
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True)
    port = None
    for line in process.stderr:
        if found := re.search(r" on https?://[^ ]*:(\d+)", line):
            port = int(found.group(1))
            break
    if port is None:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.wait()}")
    threading.Thread(target=process.stderr.read, daemon=True).start()
    server = Server(process, port)
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def naive(options):
    """The server that calls sentence-transformers text by text, under the interpreter that has that library."""
    command = [options.reference_python, report.ROOT / "bench" / "naive_server.py", "--model", options.model, "--threads", options.threads]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    port = int(process.stdout.readline())
    try:
        yield Server(process, port)
    finally:
        process.terminate()
        process.wait(timeout=60)


def queries(path, count=1000):
    """Short texts: the field `query`, or the first words of the text."""
    return [row.get("query") or " ".join(row["text"].split()[:8]) for row in measure.read_rows(path, count)]


def lists(path, size, count=64):
    documents = measure.documents(path, size * count)
    return [documents[i:i + size] for i in range(0, len(documents) - size + 1, size)]


@contextlib.contextmanager
def bodies(inputs):
    """A file with a body for each input."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bodies.txt"
        path.write_text("".join(json.dumps({"input": value}) + "\n" for value in inputs), encoding="utf-8")
        yield path


def wrk_command(connections, seconds, port):
    return ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", str(LUA), f"http://127.0.0.1:{port}"]


def wrk_environment(file, **more):
    return {**os.environ, "BODIES": str(file), "UPATH": "/v1/embeddings", **more}


def figures(output):
    """The numbers of load.lua's last line."""
    found = re.search(r"^RESULT (.*)$", output, re.MULTILINE)
    if not found:
        raise SystemExit(f"wrk said:\n{output}")
    return {key: float(value) for key, value in (pair.split("=") for pair in found.group(1).split())}


def wrk(server, file, connections, seconds, **environment):
    done = subprocess.run(wrk_command(connections, seconds, server.port), env=wrk_environment(file, **environment),
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"wrk ended with {done.returncode}: {done.stderr}")
    return figures(done.stdout)


def alternating(servers, file, connections, seconds):
    """wrk on each of the servers by turns, so that a machine whose speed drifts favours none: for each the median of its
    rounds' figures."""
    rounds = max(1, min(5, seconds // 2))
    found = [[] for _ in servers]
    for i in range(rounds):
        turns = list(zip(servers, found))
        for server, figures_of in turns if i % 2 == 0 else reversed(turns):
            figures_of.append(wrk(server, file, connections, seconds // rounds))
    return [{key: statistics.median(figures_of[key] for figures_of in each) for key in each[0]} for each in found]


def metrics(server):
    """The figures of /metrics, by name with labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=60) as response:
        lines = response.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}


def total(found, name, **labels):
    """The sum of a metric over all labels but those that are given."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    return sum(value for key, value in found.items()
               if key.split("{")[0] == name and all(label in key for label in wanted))


def tokens_per_second(server, work):
    """Tokens of the batches that the server began, a second, while `work` was done."""
    before, begin = total(metrics(server), "inlay_batch_tokens_sum"), time.monotonic()
    work()
    after, end = total(metrics(server), "inlay_batch_tokens_sum"), time.monotonic()
    return (after - before) / (end - begin)


def wait_until_idle(server, seconds=60):
    """Until nothing waits: what clients left behind is dropped or finished."""
    end = time.monotonic() + seconds
    while total(metrics(server), "inlay_queue_requests") > 0 and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(0.5)  # the batches that run


@contextlib.contextmanager
def background(server, file, connections, seconds, **environment):
    """wrk beside the block; `result()` waits for its figures."""
    process = subprocess.Popen(wrk_command(connections, seconds, server.port), env=wrk_environment(file, **environment),
                               stdout=subprocess.PIPE, text=True)
    try:
        yield lambda: figures(process.communicate()[0])
    finally:
        process.kill()
        process.wait()


def ask_at_rate(server, texts, rate, seconds, quiet=False):
    """Queries at fixed times on connections of their own, whether or not earlier ones were answered. Sorted milliseconds from
    the time at which each was due, so that waiting for a turn counts; of those that were accepted."""
    times, lock, failed = [], threading.Lock(), []
    begin = time.monotonic()
    count = int(rate * seconds)
    workers = min(32, count)

    def run(worker):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for i in range(worker, count, workers):
            due = begin + i / rate
            time.sleep(max(0, due - time.monotonic()))
            connection.request("POST", "/v1/embeddings", json.dumps({"input": texts[i % len(texts)]}))
            response = connection.getresponse()
            response.read()
            with lock:
                (times if response.status == 200 else failed).append((time.monotonic() - due) * 1e3)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed and not quiet:
        print(f"{len(failed)} queries were refused", file=sys.stderr)
    return sorted(times)


def percentile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")
