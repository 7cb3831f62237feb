"""tools/check_types.py finds types that two files define."""
import subprocess
import sys

import pytest


def run(tmp_path, root, files):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([sys.executable, root / "tools" / "check_types.py", "--root", tmp_path], capture_output=True, text=True)


def inside(text, namespace="inlay"):
    return f"namespace {namespace} {{\n{text}\n}}  // namespace {namespace}\n"


@pytest.mark.parametrize("text", ["struct A {", "class A final : public B {", "enum class A : uint8_t { kOne };", "struct A : B {"])
def test_names_both_places(tmp_path, root, text):
    done = run(tmp_path, root, {"src/x/a.h": inside("struct A {};"), "src/y/b.cc": inside(text)})
    assert done.returncode == 1
    assert done.stdout.startswith("src/x/a.h:2, src/y/b.cc:2: inlay::A is defined more than once\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/y/b.cc", "namespace inlay {\nnamespace {\nstruct A {};\n}  // namespace\n}  // namespace inlay\n"),
        ("src/y/b.cc", inside("struct A::Impl {")),
        ("src/y/b.h", inside("class A;")),
        ("src/y/b.h", inside("struct A {};", "inlay::wire")),
        ("src/y/b_test.cc", inside("struct A {};")),
    ],
)
def test_takes_what_is_no_second_definition(tmp_path, root, name, text):
    done = run(tmp_path, root, {"src/x/a.h": inside("struct A {};"), name: text})
    assert done.returncode == 0, done.stdout


def test_refuses_a_tree_without_types(tmp_path, root):
    assert run(tmp_path, root, {"src/x/a.h": "int a;\n"}).returncode == 1
