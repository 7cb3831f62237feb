#!/usr/bin/env python3
"""Whether `inlay serve` keeps what `inlay tune` promised, and how near its choice comes to the best of a sweep: tune once, serve its
configuration to as many clients as it chose, then serve every size of batches to as many.

Usage: tune_check.py TEXTS.jsonl [--dtype int8] [--slo-p99-ms 20] [--tune-seconds 100] [--seconds 6] [--write]
TEXTS holds objects with `query`. wrk is Debian's package wrk.
"""
import argparse
import pathlib
import tempfile

import measure
import report
import server_load as load

SIZES = (64, 128, 256, 512, 1024)


def tuned(options, folder):
    """What tune chose, and its configuration as a file."""
    texts, config = folder / "queries.txt", folder / "tuned.toml"
    texts.write_text("".join(f"{text}\n" for text in load.queries(options.texts)), encoding="utf-8")
    found = measure.run_json([options.inlay, "tune", "--model", options.model, "--dtype", options.dtype, "--threads", options.threads,
                              "--slo-p99-ms", options.slo_p99_ms, "--texts", texts, "--seconds", options.tune_seconds, "--config", config,
                              "--quiet"])
    return found["choice"], config


def served(options, file, clients, *flags):
    with load.serving(options, *flags) as server:
        load.wrk(server, file, clients, 1)
        rounds = [load.wrk(server, file, clients, options.seconds) for _ in range(2)]
    return max(each["rate"] for each in rounds), min(each["p99"] for each in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--dtype", default="int8")
    parser.add_argument("--slo-p99-ms", type=float, default=20)
    parser.add_argument("--tune-seconds", type=float, default=100)
    parser.add_argument("--seconds", type=int, default=6, help="of each load on a server, of which there are two")
    measure.add_common_flags(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, load.bodies(load.queries(options.texts)) as file:
        choice, config = tuned(options, pathlib.Path(folder))
        clients = choice["max_concurrent_requests"]
        rows = [("promised by tune", f"{choice['requests_per_s']:.0f}", f"{choice['p99_ms']:.2f}")]
        rate, p99 = served(options, file, clients, "--config", config)
        rows.append((f"served, batches of {choice['max_batch_tokens']} tokens", f"{rate:.0f}", f"{p99:.2f}"))
        for size in SIZES:
            other, slowest = served(options, file, clients, "--dtype", options.dtype, "--max-batch-tokens", size)
            rows.append((f"batches of {size} tokens", f"{other:.0f}", f"{slowest:.2f}"))
    text = report.table(["settings", "req/s", "P99 ms"], rows)
    text += f"\n\n{options.dtype}, {clients} clients, objective {options.slo_p99_ms:g} ms."
    print(text)
    if options.write:
        report.write_section("tune-check", text)


if __name__ == "__main__":
    main()
