#!/usr/bin/env python3
"""The scheduler's share of the server's CPU time at full load: Debian's perf samples the server under wrk, and the samples in
functions of the scheduler, the batcher, the cost model and the inbox are counted against all. Needs the right to run perf.

Usage: bench/scheduler_share.py TEXTS.jsonl [--dtype float32,int8] [--connections 64] [--seconds 10] [--write]
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

import measure
import report
import server_load as load

# Waiting for the scheduler's lock counts as well; what a lane computes, tokenises or writes for a request does not.
SCHEDULER = re.compile(r"inlay::(SchedulerCore|Scheduler|Batcher|CostModel|TeamPolicy|Inbox|IntrusiveList|QueuedRequest|Lane|CoreShare)\b"
                       r"|pthread_cond|pthread_mutex|lll_lock")


def sampled_share(server, data, seconds, work):
    recording = subprocess.Popen(["perf", "record", "-F", "1999", "-o", str(data), "-p", str(server.process.pid), "--", "sleep", str(seconds)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    work()
    recording.wait()
    said = subprocess.run(["perf", "report", "-i", str(data), "--stdio", "--sort", "symbol", "-g", "none"],
                          capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^ *(\d+\.\d+)% +\[.\] (.*)$|^ *(\d+\.\d+)% +(.*)$", said, re.MULTILINE)
    shares = [(float(a or c), (b or d).strip()) for a, b, c, d in lines]
    return sum(share for share, symbol in shares if SCHEDULER.search(symbol)) / 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--dtype", default="float32,int8")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=10)
    measure.add_common_flags(parser)
    options = parser.parse_args()
    rows = []
    for dtype in options.dtype.split(","):
        with tempfile.TemporaryDirectory() as folder, load.bodies(load.queries(options.texts)) as file, \
                load.serving(options, "--dtype", dtype) as server:
            load.wrk(server, file, options.connections, 1)
            before = load.metrics(server)
            rates = []
            share = sampled_share(server, pathlib.Path(folder) / "perf.data", options.seconds,
                                  lambda: rates.append(load.wrk(server, file, options.connections, options.seconds)["rate"]))
            after = load.metrics(server)
        spent = {name: load.total(after, name) - load.total(before, name)
                 for name in ("inlay_scheduling_seconds_total", "inlay_lane_busy_seconds_total")}
        rows.append((dtype, f"{rates[0]:.0f}", f"{share:.2%}",
                     f"{spent['inlay_scheduling_seconds_total'] / spent['inlay_lane_busy_seconds_total']:.2%}"))
    text = report.table(["precision", "req/s", "samples in the scheduler", "time that lanes choose batches"], rows)
    print(text)
    if options.write:
        report.write_section("scheduler-share", text)


if __name__ == "__main__":
    main()
