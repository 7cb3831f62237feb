"""tools/check_architecture.py finds names that do not exist."""
import subprocess
import sys

import pytest

SOURCE = "namespace inlay {\nResult<Engine> Engine::load(int x) {}\nclass Batch {\n public:\n  int take();\n};\nvoid run_batch() {}\n}\n"
NAMES = [f"`src/engine/engine.cc: {name}`" for name in ("Engine::load", "run_batch", "Batch", "Batch::take", "take")] * 2


def run(tmp_path, root, lines):
    (tmp_path / "src/engine").mkdir(parents=True, exist_ok=True)
    (tmp_path / "src/engine/engine.cc").write_text(SOURCE)
    (tmp_path / "ARCHITECTURE.md").write_text("\n".join(lines))
    command = [sys.executable, root / "tools" / "check_architecture.py", "--root", tmp_path]
    return subprocess.run(command, capture_output=True, text=True)


def test_accepts_names_that_exist(tmp_path, root):
    done = run(tmp_path, root, [*NAMES, "`src/engine/` and `std::span` and `cmake --preset release`"])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "quoted",
    ["src/engine/engine.cc: Engine::save", "src/engine/engine.cc: load_batch", "src/engine/gone.cc: run_batch", "src/server/",
     "src/engine/engine.cc: Lane::take", "src/engine/engine.cc: un_batch"],
)
def test_names_what_is_missing(tmp_path, root, quoted):
    done = run(tmp_path, root, [*NAMES, f"Then `{quoted}`."])
    assert done.returncode == 1
    assert f"ARCHITECTURE.md:{len(NAMES) + 1}: `{quoted}`" in done.stdout


def test_refuses_a_page_without_names(tmp_path, root):
    done = run(tmp_path, root, ["Nothing is named here."])
    assert done.returncode == 1
    assert "names 0 functions" in done.stdout
