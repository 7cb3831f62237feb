#!/usr/bin/env bash
# Formats the C++ files of the project; with --check only says which ones differ. Uses the pinned clang-format of .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
options=(-i)
if [ "${1:-}" = --check ]; then options=(--dry-run --Werror); fi
folders=()
for folder in include src tests bench examples lab; do
  if [ -d "$folder" ]; then folders+=("$folder"); fi
done
find "${folders[@]}" \( -name '*.h' -o -name '*.cc' -o -name '*.cu' \) -print0 | xargs -0 .venv/bin/clang-format "${options[@]}"
