"""Runs the curl commands of docs/guide/serving.md against a server, with the model that they name."""
import json
import re
import shlex
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")


def commands(root):
    """The curl commands of the guide, lines that end in a backslash joined."""
    text = (root / "docs" / "guide" / "serving.md").read_text()
    blocks = re.findall(r"```(?:sh)?\n(.*?)```", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("curl ")]


def test_every_curl_command_of_the_guide_works(serve, demo_model, root):
    server = serve(demo_model, "--served-model-name", "all-MiniLM-L6-v2", "--admin-key", "an-admin-key")
    found = commands(root)
    assert len(found) >= 8
    for command in found:
        words = [word.replace("localhost:8080", f"127.0.0.1:{server.port}") for word in shlex.split(command)]
        done = subprocess.run([*words, "-sS", "--fail-with-body"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        if "/metrics" not in command:
            assert json.loads(done.stdout), command
