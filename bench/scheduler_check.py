#!/usr/bin/env python3
"""Compares bench/scheduler_sim with a live server: sends queries at random times beside lists, writes down when each was sent and
how many tokens it has, and lets the simulator run the same arrivals with the costs that the server itself has learnt.

Usage: bench/scheduler_check.py TEXTS.jsonl [--dtype float32] [--rate 60] [--list-rate 1] [--seconds 20] [--write]
TEXTS holds objects with `query` and `text`; build/release/scheduler_sim is built with -DINLAY_BENCH=ON.
"""
import argparse
import http.client
import json
import pathlib
import random
import re
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request

import measure
import report
import server_load as load

LIST_TEXTS = 8


def token_counts(options, texts):
    done = subprocess.run([options.inlay, "tokenize", "--model", options.model, "--input", "-"],
                          input="".join(json.dumps({"text": text}) + "\n" for text in texts), capture_output=True, text=True, check=True)
    return [min(options.limit, len(json.loads(line)["ids"])) for line in done.stdout.splitlines()]


def schedule(options):
    """Requests as (time, texts), by time: queries, and short lists beside them, each at random times."""
    rng = random.Random(options.seed)
    queries, documents = load.queries(options.texts), measure.documents(options.texts, 500)
    requests = []
    for rate, make in ((options.rate, lambda: [rng.choice(queries)]), (options.list_rate, lambda: rng.sample(documents, LIST_TEXTS))):
        at = rng.expovariate(rate) if rate > 0 else options.seconds
        while at < options.seconds:
            requests.append((at, make()))
            at += rng.expovariate(rate)
    return sorted(requests, key=lambda request: request[0])


def run_live(server, requests, workers=32):
    """(seconds since the start when it was sent, texts, seconds until it was answered) of each request."""
    begin, lock, done = time.monotonic() + 0.2, threading.Lock(), []
    waiting = iter(requests)

    def run():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        while True:
            with lock:
                request = next(waiting, None)
            if request is None:
                return
            at, texts = request
            body = json.dumps({"input": texts[0] if len(texts) == 1 else texts})
            time.sleep(max(0, begin + at - time.monotonic()))
            sent = time.monotonic()
            connection.request("POST", "/v1/embeddings", body)
            response = connection.getresponse()
            response.read()
            answered = time.monotonic()
            if response.status != 200:
                raise SystemExit(f"a request was answered with {response.status}")
            with lock:
                done.append((sent - begin, texts, answered - sent))

    threads = [threading.Thread(target=run) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(done, key=lambda one: one[0])


def costs(server):
    found = load.metrics(server)
    return [load.total(found, "inlay_batch_cost_seconds", part=part) for part in ("batch", "token", "pair", "few")]


def stages(server):
    """Seconds that requests have waited and computed so far, and how many there were."""
    found = load.metrics(server)
    return [load.total(found, f"inlay_{name}") for name in ("queue_seconds_sum", "compute_seconds_sum", "compute_seconds_count")]


def team_efficiency(server, options):
    """What a further lane adds to the speed of the first, from queries that meet nobody and so are shared by all lanes."""
    if options.threads == 1:
        return 0
    queries = load.queries(options.texts, 200)
    tokens = token_counts(options, queries)
    before = stages(server)
    run_live(server, [(0, [query]) for query in queries], workers=1)
    after, cost = stages(server), costs(server)
    computed = (after[1] - before[1]) / (after[2] - before[2])
    on_one_lane = statistics.mean(cost[0] + cost[1] * count + cost[2] * count**2 + cost[3] * max(0, 1 - count / 24) for count in tokens)
    return min(1, max(0, (on_one_lane / computed - 1) / (options.threads - 1)))


def simulate(options, live, cost, extra):
    texts = sorted({text for _, texts, _ in live for text in texts})
    tokens = dict(zip(texts, token_counts(options, texts)))
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.jsonl"
        trace.write_text("".join(json.dumps({"at": max(0, at), "tokens": [tokens[text] for text in texts],
                                             "priority": "interactive" if len(texts) == 1 else "standard"}) + "\n" for at, texts, _ in live))
        overhead, efficiency = extra
        command = [options.sim, "--trace", trace, "--policy", "inlay", "--lanes", options.threads, "--cost-batch", cost[0],
                   "--cost-token", cost[1], "--cost-pair", cost[2], "--cost-few", cost[3], "--request-overhead", overhead, "--team-efficiency", efficiency]
        said = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    result = {}
    for name, mean, p50, p99, rate in re.findall(
            r"^ +(\w+) +\d+ requests +mean +(\S+) ms +P50 +(\S+) ms +P99 +(\S+) ms +(\S+) texts/s", said, re.MULTILINE):
        result[name] = [float(mean), float(p50), float(p99), float(rate)]
    return result


def figures(live, is_list):
    times = sorted(1e3 * seconds for _, texts, seconds in live if (len(texts) > 1) == is_list)
    texts = sum(len(texts) for _, texts, _ in live if (len(texts) > 1) == is_list)
    end = max(at + seconds for at, _, seconds in live)
    return [statistics.mean(times), load.percentile(times, .5), load.percentile(times, .99), texts / end]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--rate", type=float, default=60, help="queries a second")
    parser.add_argument("--list-rate", type=float, default=1, help=f"lists of {LIST_TEXTS} documents a second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sim", type=pathlib.Path, default=report.ROOT / "build" / "release" / "scheduler_sim")
    measure.add_common_flags(parser)
    options = parser.parse_args()
    with load.serving(options, "--dtype", options.dtype) as server:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/info", timeout=60) as response:
            options.limit = json.load(response)["max_input_length"]
        requests = schedule(options)
        run_live(server, [(at / 4, texts) for at, texts in requests[:len(requests) // 4]])  # so that the costs are learnt
        efficiency = team_efficiency(server, options)
        before = stages(server)
        live = run_live(server, requests)
        after, cost = stages(server), costs(server)
    # What the simulator knows nothing of: reading, tokenising and writing, and the client's side.
    scheduled = after[0] - before[0] + after[1] - before[1]
    overhead = max(0, (sum(seconds for _, _, seconds in live) - scheduled) / len(live))
    found = simulate(options, live, cost, (overhead, efficiency))
    rows = []
    for name, is_list in (("interactive", False), ("standard", True)):
        if name not in found:
            continue
        for figure, real, simulated in zip(("mean, ms", "P50, ms", "P99, ms", "texts/s"), figures(live, is_list), found[name]):
            rows.append((name, figure, f"{real:.2f}", f"{simulated:.2f}", f"{simulated / real:.2f}"))
    text = report.table(["class", "figure", "server", "simulator", "ratio"], rows)
    text += (f"\n\n{options.dtype}, {options.rate:g} queries and {options.list_rate:g} lists of {LIST_TEXTS} documents a second for {options.seconds:g} s; "
             f"costs learnt by the server: {1e3 * cost[0]:.3f} ms a batch, {1e6 * cost[1]:.1f} µs a token, {1e9 * cost[2]:.0f} ns a pair, {1e3 * cost[3]:.3f} ms for few tokens; "
             f"{1e3 * overhead:.2f} ms a request beside the scheduler.")
    print(text)
    if options.write:
        report.write_section("scheduler-check", text)


if __name__ == "__main__":
    main()
