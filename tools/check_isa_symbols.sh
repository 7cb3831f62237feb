#!/usr/bin/env bash
# Checks the objects of src/kernels/<isa>/ in a build folder. Those files are compiled for instructions that the machine may
# not have, so nothing else may end up running their code: they define no weak symbol (an inline function that the linker
# could pick for the whole program), and a folder exports one symbol, which fills or is its table and is named after it.
# Usage: check_isa_symbols.sh BUILD_FOLDER [SOURCE_FOLDER]
set -euo pipefail
build=${1:?usage: check_isa_symbols.sh BUILD_FOLDER [SOURCE_FOLDER]}
root=${2:-$(cd "$(dirname "$0")/.." && pwd)}

# Symbols that the objects define, as "letter name". DW.ref.__gxx_personality_v0 is data that names the exception handler, the
# same for every instruction set.
defined() { nm --demangle --defined-only --no-sort --quiet "$@" | sed -nE 's/^[0-9a-f]+ ([A-Za-z]) (.*)$/\1 \2/p' | grep -v ' DW\.ref\.' || true; }

# Objects of a folder as compile_commands.json names them: the build folder may hold others, of targets that are gone.
objects_of() {
  sed -nE 's/^ *"command": ".* -o ([^ ]+) -c ([^ ]+)".*/\1 \2/p' "$build/compile_commands.json" | sort -u |
    awk -v folder="$root/src/kernels/$1/" -v build="$build" 'index($2, folder) == 1 {print ($1 ~ /^\// ? $1 : build "/" $1)}'
}

faults=0
complain() {
  printf '%s: %s\n' "$1" "$2"
  faults=$((faults + 1))
}
count=0
for folder in "$root"/src/kernels/*/; do
  isa=$(basename "$folder")
  mapfile -t objects < <(objects_of "$isa")
  [ ${#objects[@]} -eq 0 ] && continue
  count=$((count + ${#objects[@]}))
  symbols=$(defined "${objects[@]}")
  while IFS= read -r symbol; do complain "$isa" "weak symbol: $symbol"; done < <(grep -E '^[WwVvu] ' <<<"$symbols")
  exports=$(grep -E '^[ABCDGRST] ' <<<"$symbols" || true)
  if [ "$(grep -c . <<<"$exports")" -ne 1 ] || [[ $exports != *$isa* ]]; then
    complain "$isa" "exports, wanted one symbol named after the folder: ${exports:-none}"
  fi
done
echo "$count objects, $faults faults"
[ "$count" -gt 0 ] && [ "$faults" -eq 0 ]
