"""tools/check_isa_symbols.sh finds symbols that could leak out of a folder compiled for other instructions."""
import subprocess

import pytest

GOOD = "namespace { int add(int a) { return a + 1; } } namespace inlay { void fill_avx2(int (**table)(int)) { *table = add; } }"
WEAK = GOOD + "namespace inlay { inline int leak(int a) { return a * 3; } static int (*volatile used)(int) = leak; }"
SECOND = GOOD + "namespace inlay { int sum(int a) { return a; } }"
MISNAMED = GOOD.replace("fill_avx2", "fill_table")


def run(tmp_path, root, source, objects="build/src/kernels/CMakeFiles/inlay_kernels.dir/avx2"):
    (tmp_path / "src/kernels/avx2").mkdir(parents=True)
    (tmp_path / "src/kernels/generic").mkdir(parents=True)
    folder = tmp_path / objects
    folder.mkdir(parents=True)
    (tmp_path / "a.cc").write_text(source)
    subprocess.run(["g++", "-std=c++20", "-O1", "-c", tmp_path / "a.cc", "-o", folder / "a.cc.o"], check=True)
    command = [root / "tools" / "check_isa_symbols.sh", tmp_path / "build", tmp_path]
    return subprocess.run(command, capture_output=True, text=True)


def test_accepts_a_folder_that_exports_its_table(tmp_path, root):
    done = run(tmp_path, root, GOOD)
    assert done.returncode == 0, done.stdout
    assert done.stdout == "1 objects, 0 faults\n"


@pytest.mark.parametrize(("source", "wanted"), [(WEAK, "weak symbol: W inlay::leak"), (SECOND, "T inlay::sum"),
                                                (MISNAMED, "T inlay::fill_table"), ("static int a;", "none")])
@pytest.mark.parametrize("objects", ["build/src/kernels/CMakeFiles/k.dir/avx2", "build/src/kernels/avx2/CMakeFiles/k.dir"])
def test_names_the_folder_and_the_symbol(tmp_path, root, source, wanted, objects):
    done = run(tmp_path, root, source, objects)
    assert done.returncode == 1
    assert done.stdout.startswith("avx2: ")
    assert wanted in done.stdout


def test_refuses_a_build_without_objects(tmp_path, root):
    done = run(tmp_path, root, GOOD, objects="build/src/base")
    assert done.returncode == 1
    assert done.stdout == "0 objects, 0 faults\n"
