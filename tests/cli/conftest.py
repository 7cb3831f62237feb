"""Fixtures for tests of the program: run it, read what it wrote."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("INLAY_BINARY", ROOT / "build" / "release" / "inlay")).resolve()


class Done:
    """What a finished run left behind."""

    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()

    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(scope="session")
def program():
    assert os.access(BINARY, os.X_OK), f"{BINARY} is not built"
    return BINARY


@pytest.fixture(scope="session")
def inlay(program):
    """Runs the program with these arguments; `stdin` is text or bytes, `env` adds variables."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("INLAY_")}

    def run(*arguments, stdin=b"", env=None):
        data = stdin.encode() if isinstance(stdin, str) else stdin
        command = [str(program), *map(str, arguments)]
        return Done(subprocess.run(command, input=data, capture_output=True, env={**clean, **(env or {})}, timeout=120))

    return run


@pytest.fixture(scope="session")
def tiny():
    """A small model: 44 numbers a vector, lower-cased words, 64 tokens at most."""
    return ROOT / "tests" / "golden" / "bert-tiny" / "model"


@pytest.fixture(scope="session")
def golden():
    return ROOT / "tests" / "golden"


@pytest.fixture
def jsonl(tmp_path):
    """Writes rows (or raw bytes) to a file and gives its path."""

    def write(rows, name="in.jsonl"):
        path = tmp_path / name
        data = rows if isinstance(rows, bytes) else "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(data)
        return path

    return write
