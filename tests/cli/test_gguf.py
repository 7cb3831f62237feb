"""A lone .gguf file gives the vectors of the folder that it was made of, ids included: its tokenizer lies in the file."""
import json
import shutil

import numpy
import pytest

MODELS = "tests/data/weights/gguf-models"
TOKENIZERS = "tests/data/tokenizers"
TEXTS = ["hello world", "  two  spaces ", "a\n\nb\tc", "日本語のテスト。中文，测试", "Привет, мир — ёлка", "😀👍🏽 ok", "Café e\u0301 ﬁ Ａ１ …", "it's 12345 DON'T",
         "<s>x</s> <mask> y", "<|endoftext|>x<|im_end|>", "<bos>a<start_of_turn>", "▁▁a", "word " * 90]
# The tokenizer of each, and what a folder of Hugging Face has beside it.
CASES = {
    "xlm-roberta": ("xlmr-files", {}, "mean"),
    "roberta": ("roberta-files", {}, "mean"),
    "qwen3": ("files/qwen", {"tokenizer_class": "Qwen2Tokenizer", "add_eos_token": True, "additional_special_tokens": ["<|im_start|>", "<|im_end|>"]}, "lasttoken"),
    "gemma": ("files/gemma", {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": True}, "mean"),
}


def lay_out(root, name, folder):
    """The checkpoint with the tokenizer's own files, mean or last-token pooling, and vectors of length one."""
    tokenizer, config, pooling = CASES[name]
    shutil.copytree(root / TOKENIZERS / tokenizer, folder)
    for file in ("config.json", "model.safetensors"):
        shutil.copy(root / MODELS / name / file, folder)
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    size = json.loads((folder / "config.json").read_text())["hidden_size"]
    modules = [{"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(("Transformer", "Pooling", "Normalize"))]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"embedding_dimension": size, "pooling_mode": pooling}))
    return folder


def ids_and_vectors(inlay, model, tmp_path, env):
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    tokens = inlay("tokenize", "--model", model, "--input", source, env=env)
    assert tokens.code == 0, tokens.err
    target = tmp_path / "vectors.npy"
    done = inlay("embed", "--model", model, "--input", source, "--output", target, "--dtype", "float32", env=env)
    assert done.code == 0, done.err
    return [row["ids"] for row in tokens.rows()], numpy.load(target)


@pytest.mark.parametrize("name", CASES)
def test_a_lone_file_gives_the_vectors_of_the_folder(name, inlay, golden, tmp_path):
    root = golden.parents[1]
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(root / MODELS / name / "model.gguf", alone / f"{name}.gguf")
    wanted_ids, wanted = ids_and_vectors(inlay, lay_out(root, name, tmp_path / "folder"), tmp_path, env)
    found_ids, found = ids_and_vectors(inlay, alone / f"{name}.gguf", tmp_path, env)
    assert found_ids == wanted_ids
    assert numpy.array_equal(found, wanted), numpy.abs(found - wanted).max()
    assert len({tuple(row) for row in wanted_ids}) == len(TEXTS)


def test_an_unknown_cut_of_text_is_named(inlay, golden, tmp_path):
    data = (golden.parents[1] / MODELS / "qwen3/model.gguf").read_bytes()
    at = data.index(b"qwen2", data.index(b"tokenizer.ggml.pre"))
    (tmp_path / "m.gguf").write_bytes(data[:at] + b"qwen9" + data[at + 5 :])
    done = inlay("tokenize", "--model", tmp_path / "m.gguf", stdin="{}\n", env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.code == 4
    assert "tokenizer.ggml.pre: found 'qwen9', supported: gpt-2" in done.err
    assert "tokenizer.json" in done.err
