#!/usr/bin/env bash
# Installs a build into a fresh prefix, then builds and runs examples/ as an outside project that finds it there.
# Usage: run.sh BUILD_FOLDER
set -euo pipefail
build=${1:?usage: run.sh BUILD_FOLDER}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix"
"$work/prefix/bin/inlay" --version
cmake -S "$root/examples" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"
cmake --build "$work/build"
"$work/build/embed" "$root/models/all-MiniLM-L6-v2" "a cat" "a kitten" "tax law" | tee "$work/likeness"

# A text is as like itself as can be, and a cat is more like a kitten than like tax law.
awk 'NR == 1 && $1 != "1.0000" {exit 1}  NR == 2 {kitten = $1}  NR == 3 && $1 >= kitten {exit 1}  END {exit NR != 3}' "$work/likeness"
