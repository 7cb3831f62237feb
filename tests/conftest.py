"""Fixtures that the Python tests share. Run through ctest (scripts/test) or by hand: .venv/bin/python -m pytest tests

INLAY_BINARY names the program under test (build/release/inlay unless set). INLAY_SHARED names a folder with more data
(../shared unless set); tests that use it are skipped where it is missing.
"""
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root():
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def inlay_binary():
    """The program under test."""
    path = pathlib.Path(os.environ.get("INLAY_BINARY", ROOT / "build" / "release" / "inlay")).resolve()
    assert os.access(path, os.X_OK), f"{path} is not built; scripts/test builds it"
    return path


@pytest.fixture(scope="session")
def shared():
    """A folder with real texts beside the project, for the tests that can use more than the project holds."""
    path = pathlib.Path(os.environ.get("INLAY_SHARED", ROOT.parent / "shared"))
    if not (path / "data").is_dir():
        pytest.skip(f"no data in {path}")
    return path


@pytest.fixture(scope="session")
def demo_model():
    """The folder of all-MiniLM-L6-v2, which scripts/test fetches."""
    path = ROOT / "models" / "all-MiniLM-L6-v2"
    assert path.is_dir(), f"{path} is missing; scripts/get-demo-model fetches it"
    return path


@pytest.fixture(scope="session")
def golden():
    """The folder of small models with the ids and vectors that the reference library gave."""
    return ROOT / "tests" / "golden"
