"""Folders without a tokenizer.json give the ids that transformers gives for them (tests/tokenizer/make_file_tokenizers.py)."""
import json
import shutil

import pytest

import parity

FILES = parity.ROOT / "tests/data/tokenizers/files"
GOLDEN = json.loads((FILES / "cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_ids_of_transformers(name, tmp_path):
    case = GOLDEN["cases"][name]
    folder = tmp_path / "model"
    shutil.copytree(FILES / case["model"], folder)
    for file, value in case["files"].items():
        (folder / file).write_text(json.dumps(value), encoding="utf-8")
    texts = [text if isinstance(text, list) else [text, None] for text in GOLDEN["texts"]]
    ours = parity.encode(folder, [parity.request(first, second=second) for first, second in texts])
    wrong = [(text, mine and mine[0], ids) for text, mine, ids in zip(texts, ours, case["ids"]) if mine is None or mine[0] != ids]
    assert not wrong, f"{len(wrong)} of {len(texts)}: {wrong[:3]}"
