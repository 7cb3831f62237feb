#!/usr/bin/env python3
"""Checks that every #include under src/ and include/ goes the way that src/LAYERS allows.

A folder is a layer. Beside the directions: a quoted include names its folder and exists, only base/json.h includes the JSON
library, and the folders of src/kernels/ include nothing but intrinsics, plain C headers and kernels/ headers.
"""
import argparse
import pathlib
import re
import sys

SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ISA_HEADERS = {
    "immintrin.h", "x86intrin.h", "arm_neon.h", "arm_bf16.h", "arm_sve.h",  # intrinsics
    "stdint.h", "stddef.h", "string.h", "math.h", "float.h", "type_traits",  # no inline functions that a linker could share
}


def read_layers(path):
    """Maps each layer to what it may include; raises ValueError where a line points downwards."""
    layers = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        name, colon, allowed = text.partition(":")
        if not colon:
            raise ValueError(f"{path}:{number}: found '{text}', wanted 'layer: layers it may include'")
        for other in allowed.split():
            if other not in layers:
                raise ValueError(f"{path}:{number}: {name} names {other}, which no line above defines")
        layers[name] = set(allowed.split())
    return layers


def isa_folder(relative):
    """The folder of src/kernels/ that a file belongs to, if any."""
    parts = relative.parts
    return parts[2] if parts[:2] == ("src", "kernels") and len(parts) > 3 else None


def fault_in_system_include(relative, header):
    if header.startswith("simdjson") and relative.as_posix() != "src/base/json.h":
        return f"<{header}> may be included by src/base/json.h only"
    isa = isa_folder(relative)
    if isa and header not in ISA_HEADERS and not relative.name.endswith("_test.cc"):
        return f"<{header}> in src/kernels/{isa}/: only {', '.join(sorted(ISA_HEADERS))}"
    return None


def fault_in_project_include(root, layers, relative, header):
    layer = "inlay" if relative.parts[0] == "include" else relative.parts[1]
    target = header.split("/")[0]
    if "/" not in header:
        return f'"{header}": a quoted include starts with its folder'
    if target not in layers:
        return f'"{header}": src/LAYERS has no layer {target}'
    if target != layer and target not in layers[layer]:
        return f'"{header}": {layer} may include {", ".join(sorted(layers[layer])) or "nothing else"}'
    if not any((root / base / header).is_file() for base in ("src", "include")):
        return f'"{header}": no such file under src/ or include/'
    isa = isa_folder(relative)
    if isa and target != "kernels" and not relative.name.endswith("_test.cc"):
        return f'"{header}" in src/kernels/{isa}/: only kernels/ headers'
    return None


def faults_in_file(root, layers, relative):
    in_source = relative.parts[0] == "src"
    if in_source and (len(relative.parts) < 3 or relative.parts[1] not in layers):
        yield f"{relative}: src/LAYERS has no line for this folder"
        return
    for number, line in enumerate((root / relative).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        is_ours = quote == '"' or header.split("/")[0] in layers and "/" in header
        fault = fault_in_project_include(root, layers, relative, header) if is_ours else fault_in_system_include(relative, header)
        if fault:
            yield f"{relative}:{number}: {fault}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    try:
        layers = read_layers(root / "src" / "LAYERS")
    except ValueError as error:
        sys.exit(str(error))
    files = [path.relative_to(root) for base in ("include", "src") for path in sorted((root / base).rglob("*"))
             if path.suffix in SUFFIXES]
    faults = [fault for relative in files for fault in faults_in_file(root, layers, relative)]
    print("\n".join(faults + [f"{len(files)} files, {len(faults)} faults"]))
    sys.exit(1 if faults or not files else 0)


if __name__ == "__main__":
    main()
