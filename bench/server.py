#!/usr/bin/env python3
"""Measures `inlay serve` under load with wrk. Modes:

  curve     queries at 1 to 128 connections, with batching and without (--max-batch-requests 1)
  lists     lists of 32 documents, beside `inlay bench` on the same texts
  mixed     20 queries a second beside an import in lists of 32, and of 1,024
  tenants   two tenants at full speed
  overload  four times what the server can do
  naive     beside a server that calls sentence-transformers text by text (--reference-python)
  soak      every dialect at --rate, random lengths, clients that vanish and malformed bodies, for --seconds, then a SIGTERM under
            full load; fails unless all was answered as it should be and memory stayed
  all       every one of these but soak, each with --seconds

Usage: bench/server.py MODE TEXTS.jsonl [--dtype float32,bfloat16,int8] [--seconds 10] [--write]
TEXTS holds objects with `query` and `text`. wrk is Debian's package wrk.
"""
import argparse
import pathlib
import sys
import time

import measure
import report
import server_load as load
from server_soak import soak

CONNECTIONS = (1, 2, 4, 8, 16, 32, 64, 128)


def curve(options):
    rows = []
    with load.bodies(load.queries(options.texts)) as file:
        for dtype in options.dtypes:
            with load.serving(options, "--dtype", dtype) as batched, \
                    load.serving(options, "--dtype", dtype, "--max-batch-requests", 1) as single:
                load.wrk(batched, file, 8, 1)
                load.wrk(single, file, 8, 1)
                for connections in CONNECTIONS:
                    with_batches, without = load.alternating([batched, single], file, connections, options.seconds)
                    rows.append((dtype, connections, f"{with_batches['rate']:.0f}", f"{with_batches['p50']:.2f}", f"{with_batches['p99']:.2f}",
                                 f"{without['rate']:.0f}", f"{without['p50']:.2f}", f"{with_batches['rate'] / without['rate']:.2f}"))
    return ["precision", "connections", "req/s", "P50 ms", "P99 ms", "req/s without batching", "P50 ms", "gain"], rows


def lists(options):
    rows = []
    inputs = load.lists(options.texts, 32)
    for dtype in options.dtypes:
        with load.bodies(inputs) as file, load.serving(options, "--dtype", dtype) as server:
            load.wrk(server, file, 4, 1)
            result = load.wrk(server, file, 4, options.seconds)
        # The same documents, so that lengths do not differ.
        path = pathlib.Path(file).parent
        path.mkdir(exist_ok=True)
        source = path / "documents.jsonl"
        measure.write_rows(source, "text", [text for texts in inputs for text in texts])
        bench = measure.run_json([options.inlay, "bench", "--model", options.model, "--texts", source, "--dtype", dtype,
                                  "--threads", options.threads])
        source.unlink()
        path.rmdir()
        served = result["rate"] * 32
        rows.append((dtype, f"{served:.1f}", f"{bench['docs_per_s']:.1f}", f"{served / bench['docs_per_s']:.2f}"))
    return ["precision", "docs/s by HTTP", "docs/s of inlay bench", "share"], rows


def mixed(options):
    rows = []
    queries = load.queries(options.texts)
    for dtype in options.dtypes:
        for size in (32, 1024):
            inputs = load.lists(options.texts, size, 64 if size == 32 else 3)
            with load.bodies(inputs) as file, load.serving(options, "--dtype", dtype) as server:
                load.wrk(server, file, 2, 1)
                load.wait_until_idle(server)
                # Tokens are counted where they are computed: a list of 1,024 may take longer than the measurement, and begins with
                # its longest texts.
                idle, busy = [], []
                asked = load.tokens_per_second(server, lambda: idle.extend(load.ask_at_rate(server, queries, 20, options.seconds)))
                with load.background(server, file, 4, options.seconds + 60):
                    time.sleep(1)
                    alone = load.tokens_per_second(server, lambda: time.sleep(options.seconds))
                load.wait_until_idle(server)
                with load.background(server, file, 4, options.seconds + 60):
                    time.sleep(1)
                    both = load.tokens_per_second(server, lambda: busy.extend(load.ask_at_rate(server, queries, 20, options.seconds)))
                    imported = both - asked  # by the same queries as before
            rows.append((dtype, size, f"{load.percentile(idle, .99):.1f}", f"{load.percentile(busy, .99):.1f}",
                         f"{load.percentile(busy, .99) / load.percentile(idle, .99):.2f}",
                         f"{alone:.0f}", f"{imported / alone:.2f}"))
    return ["precision", "texts in a list", "P99 ms idle", "P99 ms beside the import", "ratio", "import alone, tokens/s", "import keeps"], rows


def tenants(options):
    keys = ["--api-key", "one:the-first-key", "--api-key", "two:the-second-key"]
    rows = []
    for dtype in options.dtypes:
        with load.bodies(load.lists(options.texts, 32)) as file, load.serving(options, "--dtype", dtype, *keys) as server:
            with load.background(server, file, 8, options.seconds, KEY="the-first-key") as first:
                with load.background(server, file, 4, options.seconds, KEY="the-second-key") as second:
                    rates = first()["rate"], second()["rate"]
        rows.append((dtype, f"{rates[0] / sum(rates):.1%}", f"{rates[1] / sum(rates):.1%}"))
    return ["precision", "tenant with 8 connections", "tenant with 4 connections"], rows


def overload(options):
    rows = []
    queries = load.queries(options.texts)
    for dtype in options.dtypes:
        # Room for about a quarter of what 512 connections ask for at a time.
        with load.bodies(queries) as file, \
                load.serving(options, "--dtype", dtype, "--max-concurrent-requests", 128) as server:
            normal = load.wrk(server, file, 64, options.seconds)
            before = server.resident_mib()
            with load.background(server, file, 512, options.seconds + 1) as result:
                # wrk does not tell accepted requests from refused ones, so these are counted beside it.
                accepted = load.ask_at_rate(server, queries, 20, options.seconds, quiet=True)
                over = result()
            grown = server.resident_mib() - before
            after = load.wrk(server, file, 64, options.seconds)
            rows.append((dtype, f"{normal['rate']:.0f}", f"{(over['requests'] - over['refused']) / over['requests'] * over['rate']:.0f}",
                         f"{over['refused'] / over['requests']:.0%}", f"{over['broken']:.0f}", f"{load.percentile(accepted, .99):.0f}", f"{grown:.1f}",
                         f"{after['rate'] / normal['rate']:.2f}"))
    return ["precision", "req/s before", "accepted req/s", "refused with 429", "broken", "P99 ms of the accepted", "memory grown, MiB", "speed afterwards"], rows


def naive(options):
    rows = []
    with load.bodies(load.queries(options.texts)) as file:
        with load.naive(options) as server:
            load.wrk(server, file, 8, 2)
            base = {c: load.wrk(server, file, c, options.seconds) for c in (1, 64)}
        for dtype in options.dtypes:
            with load.serving(options, "--dtype", dtype) as server:
                load.wrk(server, file, 8, 1)
                ours = {c: load.wrk(server, file, c, options.seconds) for c in (1, 64)}
            rows.append((dtype, f"{base[64]['rate']:.0f}", f"{ours[64]['rate']:.0f}", f"{ours[64]['rate'] / base[64]['rate']:.1f}",
                         f"{base[1]['p50']:.2f}", f"{ours[1]['p50']:.2f}"))
    return ["precision", "naive req/s at 64", "Inlay req/s at 64", "ratio", "naive P50 ms at 1", "Inlay P50 ms at 1"], rows


MODES = {"curve": curve, "lists": lists, "mixed": mixed, "tenants": tenants, "overload": overload, "naive": naive, "soak": soak}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=[*MODES, "all"])
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--dtype", default="float32,bfloat16,int8", help="precisions, with commas")
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--rate", type=float, default=20, help="requests a second of the soak")
    parser.add_argument("--reference-python", type=pathlib.Path, default=report.ROOT / ".venv-reference" / "bin" / "python",
                        help="an interpreter with sentence-transformers")
    measure.add_common_flags(parser)
    options = parser.parse_args()
    options.dtypes = options.dtype.split(",")
    failed = False
    for mode in [m for m in MODES if m != "soak"] if options.mode == "all" else [options.mode]:
        header, rows = MODES[mode](options)
        failed |= mode == "soak" and any(row[-1] != "held" for row in rows)
        text = report.table(header, rows)
        print(f"{mode}\n{text}\n", flush=True)
        if options.write:
            report.write_section(f"server-{mode}", text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
