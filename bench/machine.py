#!/usr/bin/env python3
"""Tells what machine and versions figures were measured with. Usage: machine.py [--write]  (into docs/performance.md)"""
import argparse
import datetime
import os
import pathlib
import subprocess

import report

# What the kernels look at.
FLAGS = ("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=report.ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cache_sizes():
    folder = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")
    sizes = {}
    for index in sorted(folder.glob("index*")):
        kind = (index / "type").read_text().strip()
        if kind != "Instruction":
            sizes["L" + (index / "level").read_text().strip()] = (index / "size").read_text().strip()
    return ", ".join(f"{level} {size}" for level, size in sizes.items()) or "unknown"


def commit():
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no", "--", "src", "include", "cmake", "CMakeLists.txt")
    return output_of("git", "rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def rows():
    flags = set((report.first_match(r"^(?:flags|Features)\s*:(.*)$", "/proc/cpuinfo") or "").split())
    memory_kb = int(report.first_match(r"^MemTotal:\s*(\d+)", "/proc/meminfo") or 0)
    return [
        ("CPU", report.cpu()),
        ("instruction sets", " ".join(flag for flag in FLAGS if flag in flags)),
        ("cores to use", len(os.sched_getaffinity(0))),
        ("CPU limit of the cgroup", report.first_match(r"^(.*)$", "/sys/fs/cgroup/cpu.max") or "none"),
        ("caches", cache_sizes()),
        ("memory", f"{memory_kb / 2**20:.1f} GiB"),
        ("system", (report.first_match(r'^PRETTY_NAME="(.*)"$', "/etc/os-release") or "unknown") + ", Linux " + os.uname().release),
        ("compiler", output_of("c++", "--version").splitlines()[0]),
        ("Inlay", f"{output_of('build/release/inlay', '--version').splitlines()[0]}, commit {commit()}"),
        ("date", datetime.date.today().isoformat()),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into docs/performance.md")
    options = parser.parse_args()
    text = report.table(["", ""], rows())
    print(text)
    if options.write:
        report.write_section("machine", text)


if __name__ == "__main__":
    main()
