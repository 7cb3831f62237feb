#!/usr/bin/env bash
# Runs the pinned clang-tidy over the C++ sources that differ from a commit, with what .clang-tidy asks for.
# Usage: tidy.sh BUILD_FOLDER [COMMIT|all]   (HEAD unless said: what is not committed yet)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
build=${1:?usage: tidy.sh BUILD_FOLDER [COMMIT|all]}
base=${2:-HEAD}

venv_install .venv-tidy tools/requirements-tidy.txt
if [ "$base" = all ]; then
  files=$(git ls-files 'src/*.cc')
else
  files=$(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc'; git ls-files --others --exclude-standard 'src/*.cc')
fi
if [ -z "$files" ]; then
  echo "no source differs from $base"
  exit 0
fi
printf '%s\n' "$files" | xargs -P "$(nproc)" -n 4 .venv-tidy/bin/clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations
