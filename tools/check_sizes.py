#!/usr/bin/env python3
"""Checks the sizes that keep code readable: lines of a function, its parameters, and lines of a file.

Limits: 60 lines a function (120 in src/kernels/ and for `forward` functions of src/model/), 6 parameters, 500 lines a file.
tools/size_exceptions.txt lists what may be larger, one a line: PATH or PATH:FUNCTION, then the reason. An exception that
nothing needs is a fault, too.
"""
import argparse
import pathlib
import sys

import lizard

FOLDERS = ("include", "src", "tests", "tools", "bench", "examples", "lab")
SUFFIXES = {".h", ".cc", ".cu", ".py"}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_KERNEL_LINES = 120
MAX_PARAMETERS = 6


def read_exceptions(path):
    exceptions = {}
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        place, _, reason = line.strip().partition(" ")
        if not reason.strip():
            raise ValueError(f"{path}:{number}: {place} has no reason")
        exceptions[place] = reason.strip()
    return exceptions


def short_name(function):
    return function.name.split("::")[-1].strip()


def max_lines(relative, function):
    is_forward = relative.startswith("src/model/") and short_name(function).startswith("forward")
    return MAX_KERNEL_LINES if relative.startswith("src/kernels/") or is_forward else MAX_FUNCTION_LINES


def faults_in_file(path, relative):
    """Pairs of a place, as the exceptions file spells it, and what is wrong there."""
    text = path.read_text()
    lines = text.count("\n")
    if lines > MAX_FILE_LINES:
        yield relative, f"{lines} lines, at most {MAX_FILE_LINES}"
    for function in lizard.analyze_file.analyze_source_code(str(path), text).function_list:
        place = f"{relative}:{short_name(function)}"
        limit = max_lines(relative, function)
        if function.length > limit:
            yield place, f"line {function.start_line}: {function.length} lines, at most {limit}"
        if function.parameter_count > MAX_PARAMETERS:
            yield place, f"line {function.start_line}: {function.parameter_count} parameters, at most {MAX_PARAMETERS}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    try:
        exceptions = read_exceptions(root / "tools" / "size_exceptions.txt")
    except ValueError as error:
        sys.exit(str(error))
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in SUFFIXES]
    found = [fault for path in files for fault in faults_in_file(path, path.relative_to(root).as_posix())]
    faults = [f"{place}: {what}" for place, what in found if place not in exceptions]
    unused = set(exceptions) - {place for place, _ in found}
    faults += [f"tools/size_exceptions.txt: {place} needs no exception" for place in sorted(unused)]
    print("\n".join(faults + [f"{len(files)} files, {len(faults)} faults, {len(exceptions)} exceptions"]))
    sys.exit(1 if faults or not files else 0)


if __name__ == "__main__":
    main()
