"""tools/check_isa_symbols.sh finds symbols that could leak out of a folder compiled for other instructions."""
import json
import subprocess

import pytest

GOOD = "namespace { int add(int a) { return a + 1; } } namespace inlay { void fill_avx2(int (**table)(int)) { *table = add; } }"
WEAK = GOOD + "namespace inlay { inline int leak(int a) { return a * 3; } static int (*volatile used)(int) = leak; }"
SECOND = GOOD + "namespace inlay { int sum(int a) { return a; } }"
MISNAMED = GOOD.replace("fill_avx2", "fill_table")


def run(tmp_path, root, source, name="src/kernels/avx2/table.cc"):
    for folder in ("src/kernels/avx2", "src/kernels/generic", "src/base", "build"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / name).write_text(source)
    compile_source = f"g++ -std=c++20 -O1 -o table.cc.o -c {tmp_path / name}"
    subprocess.run(compile_source.split(), check=True, cwd=tmp_path / "build")
    commands = [{"directory": str(tmp_path / "build"), "command": compile_source, "file": str(tmp_path / name)}]
    (tmp_path / "build/compile_commands.json").write_text(json.dumps(commands, indent=0))
    command = [root / "tools" / "check_isa_symbols.sh", tmp_path / "build", tmp_path]
    return subprocess.run(command, capture_output=True, text=True)


def test_accepts_a_folder_that_exports_its_table(tmp_path, root):
    done = run(tmp_path, root, GOOD)
    assert done.returncode == 0, done.stdout
    assert done.stdout == "1 objects, 0 faults\n"


@pytest.mark.parametrize(("source", "wanted"), [(WEAK, "weak symbol: W inlay::leak"), (SECOND, "T inlay::sum"),
                                                (MISNAMED, "T inlay::fill_table"), ("static int a;", "none")])
def test_names_the_folder_and_the_symbol(tmp_path, root, source, wanted):
    done = run(tmp_path, root, source)
    assert done.returncode == 1
    assert done.stdout.startswith("avx2: ")
    assert wanted in done.stdout


def test_refuses_a_build_without_such_objects(tmp_path, root):
    done = run(tmp_path, root, GOOD, name="src/base/table.cc")
    assert done.returncode == 1
    assert done.stdout == "0 objects, 0 faults\n"
