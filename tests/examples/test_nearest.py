"""examples/nearest.py ranks by cosine, whatever the lengths of the vectors."""
import json
import subprocess
import sys


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_prints_the_nearest_first_and_leaves_failed_rows_out(tmp_path, root):
    queries = write_rows(tmp_path / "queries.jsonl", [{"index": 0, "embedding": [2.0, 0.0]}])
    documents = write_rows(tmp_path / "documents.jsonl", [
        {"id": "opposite", "embedding": [-1.0, 0.0]},
        {"id": "wrong", "error": "line 2: text is blank"},
        {"id": "long but askew", "embedding": [30.0, 40.0]},
        {"id": "short and near", "embedding": [0.08, 0.06]},
    ])
    texts = write_rows(tmp_path / "texts.jsonl", [{"id": "short and near", "text": "what it says"}])
    command = [sys.executable, root / "examples" / "nearest.py", queries, documents, "--top", "2", "--texts", texts, "--query", "who?"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "Nearest to: who?", "   0.800  short and near what it says", "   0.600  long but askew"]
