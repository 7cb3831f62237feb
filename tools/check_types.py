#!/usr/bin/env python3
"""Checks that a type of a named namespace is defined in one file under src/ and include/.

All layers share the namespace inlay and end up in one program. Two types of one name in it are no error of the compiler or the
linker: of functions that both have, such as a destructor, the linker takes one for both. Types in anonymous namespaces, nested
ones and those of tests are free.
"""
import argparse
import collections
import pathlib
import re
import sys

SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
NAMESPACE = re.compile(r"^(?:inline )?namespace\s*([\w:]*)\s*\{")
END = re.compile(r"^\}\s*//\s*namespace")
TYPE = re.compile(r"^(?:class|struct|union|enum class|enum)\s+(\w+)\s*(?:final\s*)?(?::(?!:)[^;]*)?\{")


def types_in(text):
    """Qualified names with their lines. Types stand unindented, as the formatter leaves them."""
    namespaces = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := NAMESPACE.match(line):
            namespaces.append(match.group(1))
        elif END.match(line) and namespaces:
            namespaces.pop()
        elif (match := TYPE.match(line)) and "" not in namespaces:
            yield "::".join([*namespaces, match.group(1)]), number


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    places = collections.defaultdict(list)
    for path in [path for base in ("include", "src") for path in sorted((root / base).rglob("*"))]:
        if path.suffix in SUFFIXES and not path.name.endswith("_test.cc"):
            for name, line in types_in(path.read_text()):
                places[name].append(f"{path.relative_to(root)}:{line}")
    faults = [f"{', '.join(found)}: {name} is defined more than once" for name, found in sorted(places.items()) if len(found) > 1]
    print("\n".join(faults + [f"{len(places)} types, {len(faults)} faults"]))
    sys.exit(1 if faults or not places else 0)


if __name__ == "__main__":
    main()
