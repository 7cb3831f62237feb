"""What the program ends with, and that it says why."""
import os

import pytest


@pytest.mark.parametrize("arguments", [["--help"], ["embed", "--help"], ["tokenize", "--help"], ["inspect", "--help"], ["bench", "--help"]])
def test_help(inlay, arguments):
    done = inlay(*arguments)
    assert done.code == 0 and "Usage: inlay" in done.out
    if len(arguments) > 1:
        assert "Example" in done.out


def test_version(inlay):
    assert inlay("--version").out.startswith("inlay 0.")
    assert inlay("embed", "--version").out.startswith("inlay 0.")


@pytest.mark.parametrize(
    "arguments, why",
    [
        ([], "subcommand"),
        (["frobnicate"], "'frobnicate' is no command"),
        (["embed", "--modle", "x"], "--modle"),
        (["embed"], "--model is missing"),
        (["embed", "--model", "{tiny}", "--dtype", "float8"], "float8"),
        (["embed", "--model", "{tiny}", "--device", "tpu"], "tpu"),
        (["embed", "--model", "{tiny}", "--pooling", "median"], "median"),
        (["embed", "--model", "{tiny}", "--normalize", "maybe"], "maybe"),
        (["embed", "--model", "{tiny}", "--truncate-side", "middle"], "middle"),
        (["embed", "--model", "{tiny}", "--on-error", "ignore"], "ignore"),
        (["embed", "--model", "{tiny}", "--input-format", "xml"], "xml"),
        (["embed", "--model", "{tiny}", "--output-format", "csv"], "csv"),
        (["embed", "--model", "{tiny}", "--threads", "0"], "--threads"),
        (["embed", "--model", "{tiny}", "--threads", "two"], "--threads"),
        (["embed", "--model", "{tiny}", "--max-length", "1"], "max_length is 1"),
        (["embed", "--model", "{tiny}", "--max-length", "100000"], "max_length is 100000"),
        (["embed", "--model", "{tiny}", "--dimensions", "45"], "45"),
        (["embed", "--model", "{tiny}", "--prompt", "a", "--prompt-name", "b"], "--prompt"),
        (["embed", "--model", "{tiny}", "--prompt-name", "b"], "'b'"),
        (["embed", "--model", "{tiny}", "--output", "out.bin"], "out.bin"),
        (["embed", "--model", "{tiny}", "--output", "/", "--output-format", "npy"], "found a folder"),
        (["embed", "--model", "{tiny}", "--output-format", "npy"], "regular file"),
        (["embed", "--model", "{tiny}", "--input", "x.parquet"], "Parquet isn't read"),
        (["embed", "--model", "{tiny}", "--input", "/"], "found a folder"),
        (["embed", "--model", "{tiny}", "--log-level", "loud"], "loud"),
        (["tokenize", "--model", "{tiny}", "--pair", "one"], "odd"),
        (["bench", "--model", "{tiny}"], "no texts"),
    ],
)
def test_2_bad_usage(inlay, tiny, arguments, why):
    done = inlay(*[argument.replace("{tiny}", str(tiny)) for argument in arguments])
    assert done.code == 2
    assert why in done.err and done.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["embed", "--model", "/nonexistent"],
        ["inspect", "/nonexistent"],
        ["tokenize", "--model", "/nonexistent", "a"],
        ["embed", "--model", "{tiny}", "--input", "/nonexistent.jsonl"],
        ["embed", "--model", "{tiny}", "--output", "/nonexistent/out.npy"],
    ],
)
def test_3_not_found(inlay, tiny, arguments):
    done = inlay(*[argument.replace("{tiny}", str(tiny)) for argument in arguments])
    assert done.code == 3 and "/nonexistent" in done.err


def test_4_unsupported(inlay, tiny):
    done = inlay("embed", "--model", tiny, "--device", "cuda:0")
    assert done.code == 4 and "CUDA" in done.err


def copy_of(folder, target):
    target.mkdir()
    for path in folder.rglob("*"):
        if path.is_dir():
            (target / path.relative_to(folder)).mkdir()
        else:
            (target / path.relative_to(folder)).write_bytes(path.read_bytes())
    return target


def test_4_unsupported_architecture(inlay, tiny, tmp_path):
    model = copy_of(tiny, tmp_path / "model")
    config = (model / "config.json").read_text().replace('"bert"', '"mamba"').replace("BertModel", "MambaModel")
    (model / "config.json").write_text(config)
    done = inlay("embed", "--model", model)
    assert done.code == 4 and "mamba" in done.err


def test_7_corrupt_weights(inlay, tiny, tmp_path):
    model = copy_of(tiny, tmp_path / "model")
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    for command in (["embed", "--model", model], ["inspect", model]):
        done = inlay(*command)
        assert done.code == 7 and "model.safetensors" in done.err


def test_1_a_full_disk(inlay, tiny):
    done = inlay("embed", "--model", tiny, "--output", "/dev/full", "--output-format", "jsonl", stdin="cat\n")
    assert done.code == 1 and "No space left on device" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_2_a_folder_that_may_not_be_written(inlay, tiny, tmp_path):
    tmp_path.chmod(0o500)
    done = inlay("embed", "--model", tiny, "--output", tmp_path / "a.npy", stdin="cat\n")
    assert done.code == 2 and "a.npy" in done.err


def test_flags_read_the_environment_and_the_command_line_wins(inlay, tiny):
    environment = {"INLAY_MODEL": str(tiny), "INLAY_MAX_LENGTH": "5"}
    text = "water water water water water water"
    assert len(inlay("tokenize", text, env=environment).rows()[0]["ids"]) == 5
    assert len(inlay("tokenize", "--max-length", "4", text, env=environment).rows()[0]["ids"]) == 4
    wrong = inlay("embed", env={**environment, "INLAY_THREADS": "many"})
    assert wrong.code == 2 and "--threads" in wrong.err
