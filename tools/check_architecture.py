#!/usr/bin/env python3
"""Checks that what ARCHITECTURE.md and the other documents name exists.

`path: name` in backquotes must be a file that declares or defines that function or type; `path` alone, where it starts with
a folder of the project, must be a file or a folder.
"""
import argparse
import pathlib
import re
import sys

TOP_FOLDERS = ("src", "include", "tools", "scripts", "tests", "docs", "bench", "examples", "cmake")
QUOTED = re.compile(r"`([^`\n]+)`")
NAMED = re.compile(r"^([\w./-]+\.\w+): ([\w:~]+)$")
PATH = re.compile(rf"^(?:{'|'.join(TOP_FOLDERS)})/[\w./-]*$")
MIN_NAMES = 10


def has_name(text, name):
    """Whether C++ source declares or defines `name`, which may be Class::member."""
    owner, _, member = name.rpartition("::")
    is_function = re.search(rf"\b{re.escape(member)}\s*\(", text) is not None
    is_type = re.search(rf"\b(?:class|struct|enum class|concept)\s+{re.escape(member)}\b", text) is not None
    if not owner:
        return is_function or is_type
    if re.search(rf"\b{re.escape(name)}\s*\(", text):
        return True
    return (is_function or is_type) and re.search(rf"\b(?:class|struct)\s+{re.escape(owner.split('::')[-1])}\b", text) is not None


def fault_in_quote(root, quoted):
    named = NAMED.match(quoted)
    path = named.group(1) if named else quoted
    if not named and not PATH.match(quoted):
        return None
    if not (root / path).exists():
        return f"`{quoted}`: no such file or folder"
    if named and not has_name((root / path).read_text(), named.group(2)):
        return f"`{quoted}`: {path} has no {named.group(2)}"
    return None


def check_document(root, path):
    """The faults of one document, and how many functions it names."""
    faults = []
    names = 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for quoted in QUOTED.findall(line):
            names += NAMED.match(quoted) is not None
            fault = fault_in_quote(root, quoted)
            if fault:
                faults.append(f"{path.relative_to(root)}:{number}: {fault}")
    return faults, names


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    faults, names = check_document(root, root / "ARCHITECTURE.md")
    if names < MIN_NAMES:
        faults.append(f"ARCHITECTURE.md: names {names} functions as `path: name`, at least {MIN_NAMES} are wanted")
    others = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")), root / "bench" / "README.md"]
    for path in others:
        if path.is_file():
            faults += check_document(root, path)[0]
    print("\n".join(faults + [f"ARCHITECTURE.md names {names} functions, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
