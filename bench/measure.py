"""What the scripts that measure share: texts, runs of the program, and how vectors compare."""
import json
import pathlib
import subprocess
import tempfile

import numpy as np

import report

INLAY = report.ROOT / "build" / "release" / "inlay"
DEMO_MODEL = report.ROOT / "models" / "all-MiniLM-L6-v2"


def add_common_flags(parser):
    """--model, --inlay, --threads and --write."""
    parser.add_argument("--model", type=pathlib.Path, default=DEMO_MODEL, help="a model folder")
    parser.add_argument("--inlay", type=pathlib.Path, default=INLAY, help="the program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="put it into docs/performance.md")


def read_rows(path, count=None):
    """The first objects of a JSONL file. Lines end at line feeds only: texts may hold other separators."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for _, line in zip(range(count) if count else iter(int, 1), lines)]


def documents(path, count=None):
    """Texts of the file, each with its query before it where it has one."""
    return [f"{row['query']}. {row['text']}" if "query" in row else row["text"] for row in read_rows(path, count)]


def write_rows(path, field, values):
    path.write_text("".join(json.dumps({field: value}, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")


def run_json(command):
    """Runs the program with --json and gives its line of figures."""
    done = subprocess.run([str(word) for word in command] + ["--json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def embed(inlay, model, inputs, *flags):
    """Vectors of texts, or of lists of token ids, and the program's line of figures."""
    field = "text" if isinstance(inputs[0], str) else "ids"
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "in.jsonl", pathlib.Path(folder) / "out.npy"
        write_rows(source, field, inputs)
        ids = [] if field == "text" else ["--ids-field", field]
        figures = run_json([inlay, "embed", "--model", model, "--input", source, "--output", target, *ids, *flags])
        return np.load(target), figures


def unit(vectors):
    """Rows of length 1, in double precision."""
    vectors = np.asarray(vectors, np.float64)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def cosines(a, b):
    """The cosine of each row of `a` to the same row of `b`."""
    return (unit(a) * unit(b)).sum(axis=-1)


def mib(count):
    return count / 2**20
