"""scripts/quickstart finds the right document, and is quick when everything is there."""
import subprocess
import time


def run(root, *arguments):
    done = subprocess.run([root / "scripts" / "quickstart", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  ")]


def test_finds_the_document_that_answers(root, inlay_binary, demo_model):
    assert run(root)[0] == "bees"
    start = time.monotonic()
    assert run(root, "my tyre is flat")[0] == "puncture"
    assert time.monotonic() - start < 5
