# What the scripts share; sourced from the root of the project.

# Debian's Python where there is one: others may stand before it in PATH and lack the venv module.
system_python=/usr/bin/python3
[ -x "$system_python" ] || system_python=python3

# make_venv FOLDER: a virtual environment there, unless a working one is there already.
make_venv() {
  "$1/bin/python" -m pip --version >/dev/null 2>&1 || "$system_python" -m venv --clear "$1"
}

# venv_install FOLDER REQUIREMENTS: brings the environment to these requirements; asks no registry when it was done before.
venv_install() {
  local stamp
  stamp=$1/.installed-$(basename "$2")
  cmp -s "$2" "$stamp" && "$1/bin/python" -c '' 2>/dev/null && return
  make_venv "$1"
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$2" >&2
  cp "$2" "$stamp"
}

# configure PRESET [-DNAME=VALUE...]: runs CMake unless the build folder has a build file and these settings already.
configure() {
  local preset=$1 settings="${*:2}"
  local stamp=build/$preset/.settings
  if [ -f "build/$preset/build.ninja" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$settings" ]; then return; fi
  local tools=()
  if command -v ccache >/dev/null; then tools=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  if command -v mold >/dev/null; then tools+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold); fi
  cmake --preset "$preset" "${tools[@]}" "${@:2}" >&2
  echo "$settings" >"$stamp"
}
