"""tools/check_sizes.py finds what is too large, and exceptions that nothing needs."""
import subprocess
import sys


def function(name, lines, parameters=1):
    arguments = ", ".join(f"int p{i}" for i in range(parameters))
    return f"int {name}({arguments}) {{\n" + "  p0 += 1;\n" * (lines - 3) + "  return p0;\n}\n"


def run(tmp_path, root, files):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [sys.executable, root / "tools" / "check_sizes.py", "--root", tmp_path]
    return subprocess.run(command, capture_output=True, text=True)


def test_allows_what_is_just_at_the_limits(tmp_path, root):
    files = {
        "src/base/a.cc": function("f", 60, 6),
        "src/kernels/b.cc": function("gemm", 120),
        "src/model/c.cc": function("forward_layer", 120),
        "src/base/d.cc": "// a line\n" * 500,
    }
    done = run(tmp_path, root, files)
    assert done.returncode == 0, done.stdout


def test_finds_each_kind_of_excess(tmp_path, root):
    files = {
        "src/base/a.cc": function("long_one", 61) + function("wide_one", 5, parameters=7),
        "src/kernels/b.cc": function("gemm", 121),
        "src/model/c.cc": function("build", 61),
        "src/base/d.cc": "// a line\n" * 501,
        "tools/e.py": "def f():\n" + "    print()\n" * 60,
    }
    done = run(tmp_path, root, files)
    assert done.returncode == 1
    for wanted in ("a.cc:long_one: line 1: 61 lines", "a.cc:wide_one: line 62: 7 parameters", "b.cc:gemm", "c.cc:build",
                   "src/base/d.cc: 501 lines", "tools/e.py:f: line 1: 61 lines"):
        assert wanted in done.stdout


def test_exceptions_need_a_reason_and_a_use(tmp_path, root):
    files = {"src/base/a.cc": function("long_one", 61), "tools/size_exceptions.txt": "src/base/a.cc:long_one a table of names\n"}
    assert run(tmp_path, root, files).returncode == 0
    files["tools/size_exceptions.txt"] = "src/base/a.cc:long_one\n"
    assert "has no reason" in run(tmp_path, root, files).stderr
    files["tools/size_exceptions.txt"] = "src/base/a.cc:long_one table\nsrc/base/b.cc:gone table\n"
    assert "src/base/b.cc:gone needs no exception" in run(tmp_path, root, files).stdout
