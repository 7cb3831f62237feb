#!/usr/bin/env bash
# Checks the objects of src/kernels/<isa>/ in a build folder. Those files are compiled for instructions that the machine may
# not have, so nothing else may end up running their code: they define no weak symbol (an inline function that the linker
# could pick for the whole program), and what they export lies in the namespace named after the folder.
# Usage: check_isa_symbols.sh BUILD_FOLDER [SOURCE_FOLDER]
set -euo pipefail
build=${1:?usage: check_isa_symbols.sh BUILD_FOLDER [SOURCE_FOLDER]}
root=${2:-$(cd "$(dirname "$0")/.." && pwd)}

# DW.ref.__gxx_personality_v0 is data that names the exception handler, the same whatever the instruction set.
weak_symbols() { nm --demangle --defined-only "$1" | awk '$2 ~ /^[WwVvu]$/ && $3 !~ /^DW\.ref\./'; }
foreign_symbols() { nm --demangle --defined-only --extern-only "$1" | awk -v space="inlay::$2::" '$2 ~ /^[A-Z]$/ && $2 !~ /[WV]/ && index($0, space) == 0'; }

objects=0
faults=0
complain() {
  [ -z "$3" ] && return
  printf '%s: %s\n%s\n' "$1" "$2" "$3"
  faults=$((faults + 1))
}
for folder in "$root"/src/kernels/*/; do
  isa=$(basename "$folder")
  while IFS= read -r object; do
    objects=$((objects + 1))
    complain "$object" "weak symbols" "$(weak_symbols "$object")"
    complain "$object" "exports outside of inlay::$isa" "$(foreign_symbols "$object" "$isa")"
  done < <(find "$build" -name '*.o' -path '*/kernels/*' -path "*/$isa/*" ! -name '*_test.cc.o' | sort)
done
echo "$objects objects, $faults faults"
[ "$objects" -gt 0 ] && [ "$faults" -eq 0 ]
