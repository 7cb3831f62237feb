#!/usr/bin/env python3
"""Streams many short lines through `inlay embed` and watches its resident memory, which must not grow with the input.

Usage: stream_memory.py [--lines 1000000] [--model DIR] [--write]
Prints the resident memory each time another tenth of the lines was taken. Exits with 1 where the second half of the input
raised it by more than 5 % above the largest of the first half.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import report

WORDS = "a bridge over cold water holds seven grey stones while nobody counts the boats below it".split()


def line(number):
    """Three to seven words that differ from line to line."""
    count = 3 + number % 5
    return " ".join(WORDS[(number * 7 + i * (1 + number % 11)) % len(WORDS)] for i in range(count)) + f" {number}\n"


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status).group(1)) / 1024


def stream(binary, model, lines):
    """Pairs of lines taken and resident MiB, and the seconds it took."""
    command = [binary, "embed", "--model", model, "--input", "-", "--input-format", "text", "--output", "-", "--quiet"]
    samples = []
    start = time.monotonic()
    with open(os.devnull, "wb") as sink:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sink)
        step = max(1, lines // 10)
        for number in range(lines):
            process.stdin.write(line(number).encode())
            if (number + 1) % step == 0:
                process.stdin.flush()
                samples.append((number + 1, resident_mib(process)))
        process.stdin.close()
        if process.wait() != 0:
            sys.exit(f"inlay embed ended with {process.returncode}")
    return samples, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--model", type=pathlib.Path, default=report.ROOT / "models" / "all-MiniLM-L6-v2")
    parser.add_argument("--inlay", type=pathlib.Path, default=report.ROOT / "build" / "release" / "inlay")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/performance.md")
    options = parser.parse_args()
    samples, seconds = stream(options.inlay, options.model, options.lines)
    text = report.table(["lines taken", "resident MiB"], [(taken, f"{mib:.1f}") for taken, mib in samples])
    text += f"\n\n{options.lines} lines in {seconds:.0f} s."
    print(text)
    print(json.dumps({"lines": options.lines, "seconds": round(seconds, 1), "resident_mib": samples}))
    if options.write:
        report.write_section("memory", text)
    half = len(samples) // 2
    sys.exit(max(mib for _, mib in samples[half:]) > 1.05 * max(mib for _, mib in samples[:half]))


if __name__ == "__main__":
    main()
