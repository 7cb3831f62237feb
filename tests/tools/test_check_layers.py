"""tools/check_layers.py finds each kind of wrong include."""
import subprocess
import sys

import pytest

LAYERS = "inlay:\nbase: inlay\nkernels: base\nengine: base kernels\n"


def run(tmp_path, root, files, layers=LAYERS):
    files = {"src/LAYERS": layers, "src/base/json.h": "#include <simdjson.h>\n", **files}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [sys.executable, root / "tools" / "check_layers.py", "--root", tmp_path]
    return subprocess.run(command, capture_output=True, text=True)


def test_allows_includes_that_point_down(tmp_path, root):
    files = {"src/engine/engine.cc": '#include "base/json.h"\n#include <vector>\n', "include/inlay/error.h": "#include <string>\n"}
    done = run(tmp_path, root, files)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("3 files, 0 faults\n")


@pytest.mark.parametrize(
    ("name", "line", "wanted"),
    [
        ("src/kernels/a.cc", '#include "engine/engine.h"', "kernels may include base"),
        ("src/base/a.cc", "  #  include \"kernels/k.h\"", "base may include inlay"),
        ("src/utils/a.cc", "#include <vector>", "no line for this folder"),
        ("src/a.cc", "#include <vector>", "no line for this folder"),
        ("src/engine/a.cc", "#include <simdjson.h>", "by src/base/json.h only"),
        ("src/engine/a_test.cc", '#include "tests/helper.h"', "has no layer tests"),
        ("src/engine/a.cc", '#include "bench/timer.h"', "has no layer bench"),
        ("src/engine/a.cc", '#include "engine.h"', "starts with its folder"),
        ("src/engine/a.cc", '#include "base/missing.h"', "no such file"),
        ("src/kernels/avx2/a.cc", "#include <vector>", "only arm_bf16.h"),
        ("src/kernels/avx2/a.cc", '#include "base/json.h"', "only kernels/ headers"),
        ("include/inlay/a.h", '#include "base/json.h"', "inlay may include nothing else"),
    ],
)
def test_names_the_line_of_a_wrong_include(tmp_path, root, name, line, wanted):
    done = run(tmp_path, root, {"src/engine/engine.h": "", "src/kernels/k.h": "", name: line + "\n"})
    assert done.returncode == 1
    assert wanted in done.stdout
    assert done.stdout.startswith(name)


def test_refuses_a_layer_that_points_to_one_below(tmp_path, root):
    done = run(tmp_path, root, {}, layers="base: kernels\nkernels:\n")
    assert done.returncode == 1
    assert "which no line above defines" in done.stderr
