"""The soak of bench/server.py: clients that are polite, malformed and rude at a fixed rate, for as long as wanted, and then a
SIGTERM while they go on."""
import http.client
import json
import random
import socket
import statistics
import threading
import time

import server_load as load

WARM_UP = 0.1  # of the time: until caches and arenas have their size
MOST_GROWTH = 0.05
CONNECTIONS = 8
TAIL_SECONDS = 3  # of load before the SIGTERM, at full speed


class Tally:
    """What the clients saw; any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.statuses = {}
        self.faults = []
        self.stopping = None  # when SIGTERM was sent
        self.lost = 0

    def add(self, status, wanted, what):
        with self.lock:
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status not in wanted:
                self.faults.append(f"status {status} for {what}")

    def broken(self, sent_at, what):
        """A request without an answer: lost, unless the server had been told to stop before it was sent."""
        with self.lock:
            if self.stopping is None or (sent_at is not None and sent_at < self.stopping):
                self.lost += 1
                self.faults.append(f"no answer to {what}")


def body_for(rng, words):
    """A path, its body as text, and the statuses that are right."""
    def text():
        return " ".join(rng.choices(words, k=rng.randrange(1, 400)))
    texts = text() if rng.random() < 0.5 else [text() for _ in range(rng.randrange(1, 20))]
    path, body = rng.choice([
        ("/v1/embeddings", {"input": texts, "encoding_format": rng.choice(["float", "base64"])}),
        ("/embed", {"inputs": texts}),
        ("/api/embed", {"model": "", "input": texts}),
        ("/v2/embed", {"model": "", "input_type": "search_query", "texts": [text()], "embedding_types": ["int8"]}),
        ("/similarity", {"inputs": {"source_sentence": text(), "sentences": [text(), text()]}}),
        ("/tokenize", {"inputs": texts}),
    ])
    encoded = json.dumps(body)
    kind = rng.random()
    if kind < 0.1:
        return path, encoded[:rng.randrange(1, len(encoded))], {400, 422}
    if kind < 0.15:
        return path, json.dumps({key: {"x": 1} for key in body}), {400, 422, 404}
    return path, encoded, {200}


def polite_client(port, tally, rng, words, due_times):
    """Requests at their times on one connection, which is made anew when the server has closed it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for due in due_times:
        time.sleep(max(0.0, due - time.monotonic()))
        path, body, wanted = body_for(rng, words)
        sent_at = None
        try:
            connection.request("POST", path, body)
            sent_at = time.monotonic()
            response = connection.getresponse()
            response.read()
            tally.add(response.status, wanted, f"{path} {body[:60]}")
        except (OSError, http.client.HTTPException) as error:
            tally.broken(sent_at, f"{path}: {error!r}")
            connection.close()
            if tally.stopping:
                return


def rude_client(port, rng):
    """Sends something that is cut off or no request at all, and leaves."""
    body = json.dumps({"input": ["hello world " * rng.randrange(1, 200)] * rng.randrange(1, 50)}).encode()
    request = b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    if rng.random() < 0.3:
        request = bytes(rng.randrange(256) for _ in range(200))
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(request[:rng.randrange(1, len(request))] if rng.random() < 0.7 else request)
    except OSError:
        pass  # The server may hang up first.


def run_clients(port, tally, words, rate, begin, seconds):
    """Starts them; each has its share of the times. One more is rude, a quarter as often."""
    count = int(rate * seconds)
    times = [begin + i / rate for i in range(count)]
    threads = [threading.Thread(target=polite_client, daemon=True,
                                args=(port, tally, random.Random(i), words, times[i::CONNECTIONS])) for i in range(CONNECTIONS)]

    def be_rude():
        rng = random.Random(99)
        for due in times[::4]:
            time.sleep(max(0.0, due - time.monotonic()))
            if tally.stopping:
                return
            rude_client(port, rng)
    threads.append(threading.Thread(target=be_rude, daemon=True))
    for thread in threads:
        thread.start()
    return threads


def levels_until(server, begin, seconds):
    """Resident MiB once a second, after the warm-up."""
    levels = []
    while (passed := time.monotonic() - begin) < seconds:
        if passed > WARM_UP * seconds:
            levels.append(server.resident_mib())
        time.sleep(1)
    return levels


def soak_one(options, dtype, words):
    tally = Tally()
    with load.serving(options, "--dtype", dtype) as server:
        begin = time.monotonic()
        steady = run_clients(server.port, tally, words, options.rate, begin, options.seconds)
        levels = levels_until(server, begin, options.seconds)
        for thread in steady:
            thread.join()
        # All connections busy, so that some requests are in every stage when the signal comes.
        last = run_clients(server.port, tally, words, 1000, time.monotonic(), 2 * TAIL_SECONDS)
        time.sleep(TAIL_SECONDS)
        tally.stopping = time.monotonic()
        code = server.stop()
        for thread in last:
            thread.join()
    half = len(levels) // 2
    first, second = statistics.mean(levels[:half]), statistics.mean(levels[half:])
    growth = second / first - 1
    failures = sum(n for status, n in tally.statuses.items() if status >= 500)
    faults = tally.faults[:3]
    if growth > MOST_GROWTH:
        faults.append(f"memory grew by {growth:.1%}")
    if code != 0:
        faults.append(f"it ended with {code}")
    return (dtype, options.seconds, f"{options.rate:g}", sum(tally.statuses.values()), failures, f"{first:.1f}", f"{second:.1f}",
            f"{growth:+.1%}", tally.lost, "; ".join(faults) or "held")


def soak(options):
    """The last cell of a row is "held", or what was wrong."""
    words = " ".join(load.queries(options.texts, 200)).split()
    rows = [soak_one(options, dtype, words) for dtype in options.dtypes]
    return ["precision", "seconds", "req/s", "requests", "5xx", "MiB, first half", "MiB, second half", "growth", "lost at SIGTERM", "verdict"], rows
