"""`inlay quantize`: what it writes, that folders of its making and of others' load, and how far their vectors are."""
import json
import pathlib
import shutil

import numpy
import pytest

from checkpoints import Grouped, read_safetensors, write_safetensors

TEXTS = [f"{a} {b} by the {c}" for a in ("grey stones", "seven boats", "cold water") for b in ("rest", "drift", "wait") for c in ("bridge", "shore")]
LINEAR = ("query.weight", "key.weight", "value.weight", "dense.weight")


def embed(inlay, model, *flags):
    done = inlay("embed", "--model", model, *flags, stdin="\n".join(TEXTS) + "\n")
    assert done.code == 0, done.err
    return numpy.array([row["embedding"] for row in done.rows()], numpy.float32)


def distances(a, b):
    return 1 - (a * b).sum(1) / numpy.linalg.norm(a, axis=1) / numpy.linalg.norm(b, axis=1)


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS * 4) + "\n")
    return path


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "int4"])
def test_the_folder_has_the_vectors_of_quantising_at_load(inlay, tiny, tmp_path, dtype):
    out = tmp_path / "out"
    done = inlay("quantize", tiny, out, "--dtype", dtype, "--max-layer-error", 1)
    assert done.code == 0, done.err
    assert embed(inlay, out).tobytes() == embed(inlay, tiny, "--dtype", dtype).tobytes()
    config = json.loads((out / "config.json").read_text())
    assert config["quantization_config"]["quant_method"] == "inlay"
    assert config["quantization_config"]["dtype"] == dtype
    for file in tiny.rglob("*"):
        copy = out / file.relative_to(tiny)
        if file.is_file() and file.name not in ("config.json", "model.safetensors"):
            assert copy.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("group", [32, 64, 128])
def test_sizes_are_what_the_type_says(inlay, golden, tmp_path, group):
    model = golden / "bert-long" / "model"
    for dtype, bits in (("int8", 8), ("int4", 4)):
        done = inlay("quantize", model, tmp_path / dtype, "--dtype", dtype, "--group-size", group, "--max-layer-error", 1, "--json")
        assert done.code == 0, done.err
        layers = json.loads(done.out)["rounded_layers"]
        # Rows have four bytes of scale, and in four bits a byte of factors: the inputs of these layers are 32 or 60, so of one or two groups.
        extra = 32 / 32 if dtype == "int8" else 40 / 32
        assert layers["parameters"] * bits / 8 < layers["bytes"] <= layers["parameters"] * (bits + extra) / 8
        assert layers["bytes_before"] == 4 * layers["parameters"]


def test_other_types_than_the_folders_are_computed_from_its_codes(inlay, tiny, tmp_path):
    assert inlay("quantize", tiny, tmp_path / "out", "--dtype", "int4").code == 0
    own = embed(inlay, tmp_path / "out")
    assert distances(own, embed(inlay, tmp_path / "out", "--dtype", "float32")).max() < 0.01
    assert distances(own, embed(inlay, tmp_path / "out", "--dtype", "bfloat16")).max() < 0.01


def test_gptq_lists_errors_below_those_of_rounding_to_nearest(inlay, golden, texts, tmp_path):
    model = golden / "bert-long" / "model"
    errors = {}
    for method in ("rtn", "gptq"):
        done = inlay("quantize", model, tmp_path / method, "--dtype", "int4", "--method", method, "--texts", texts, "--max-layer-error", 1, "--json")
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert report["texts"] == 72 and report["tokens"] > 72
        errors[method] = [layer["error"] for layer in report["layers"]]
    assert len(errors["gptq"]) == 8
    assert sum(errors["gptq"]) < 0.8 * sum(errors["rtn"])
    again = inlay("quantize", model, tmp_path / "again", "--dtype", "int4", "--method", "gptq", "--texts", texts, "--threads", 1, "--max-layer-error", 1)
    assert again.code == 0
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (tmp_path / "gptq" / "model.safetensors").read_bytes()


FAMILIES = sorted(file.parent.name for file in (pathlib.Path(__file__).parents[1] / "golden").glob("*/golden.json"))
# What is computed from several tensors stays in floats in the folder, but not when the folder of floats is loaded in a smaller type.
IN_PART = ("deberta-v2-tiny", "deberta-v3-tiny", "nomic-moe")


@pytest.mark.parametrize("name", FAMILIES)
def test_every_architecture_has_the_vectors_of_quantising_at_load(inlay, golden, tmp_path, name):
    model = golden / name / "model"
    for dtype, largest in (("int8", 0.02), ("int4", 0.3)):
        done = inlay("quantize", model, tmp_path / dtype, "--dtype", dtype, "--max-layer-error", 1, "--json")
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert report["rounded_layers"]["tensors"] >= 2 and report["tables"]["tensors"] >= 1
        own, at_load = embed(inlay, tmp_path / dtype), embed(inlay, model, "--dtype", dtype)
        if name in IN_PART:
            assert distances(own, at_load).max() < largest
        else:
            assert own.tobytes() == at_load.tobytes()
        assert distances(own, embed(inlay, tmp_path / dtype, "--dtype", "float32")).max() < 0.03


@pytest.mark.parametrize("name", ["qwen3-tiny", "modernbert-tiny", "t5-gated", "jina-v3-tiny", "nomic-moe", "deberta-v3-tiny"])
def test_gptq_sees_the_inputs_of_every_layer(inlay, golden, texts, tmp_path, name):
    done = inlay("quantize", golden / name / "model", tmp_path / "out", "--dtype", "int4", "--method", "gptq", "--texts", texts, "--max-layer-error", 1, "--json")
    assert done.code == 0, done.err
    layers = json.loads(done.out)["layers"]
    assert layers and len({layer["name"] for layer in layers}) == len(layers)
    assert all(0 < layer["error"] < 0.5 for layer in layers)
    assert numpy.isfinite(embed(inlay, tmp_path / "out")).all()


@pytest.mark.parametrize("source", ["bert-cls-gguf/bert-cls.gguf", "bert-cls-onnx/model.onnx"])
@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_weights_of_other_kinds_become_the_same_folder(inlay, golden, tmp_path, source, dtype):
    """Blocks of GGUF and transposed matrices of ONNX: what stays in floats is written in order."""
    model = golden.parent / "data" / "weights" / source
    env = {"INLAY_CACHE": str(tmp_path / "cache")}
    if source.endswith(".onnx"):
        shutil.copytree(golden / "bert-cls-dense" / "model", tmp_path / "model")
        for file in (tmp_path / "model").glob("*.safetensors"):
            file.unlink()
        shutil.copy(model, tmp_path / "model" / "model.onnx")
        shutil.copytree(model.parent / "external", tmp_path / "model" / "external")
        model = tmp_path / "model"
    done = inlay("quantize", model, tmp_path / "out", "--dtype", dtype, "--max-layer-error", 1, env=env)
    assert done.code == 0, done.err
    assert not list((tmp_path / "out").glob("*.onnx")) and not list((tmp_path / "out").glob("*.gguf"))
    at_load = inlay("embed", "--model", model, "--dtype", dtype, stdin="\n".join(TEXTS) + "\n", env=env)
    assert at_load.code == 0, at_load.err
    wanted = numpy.array([row["embedding"] for row in at_load.rows()], numpy.float32)
    assert embed(inlay, tmp_path / "out").tobytes() == wanted.tobytes()


def test_a_tasks_additions_go_to_the_floats_that_codes_stand_for(inlay, golden, tmp_path):
    model = golden / "jina-v3-task" / "model"
    assert inlay("quantize", model, tmp_path / "out", "--dtype", "int8").code == 0
    for task in ("retrieval.passage", "separation"):
        wanted = embed(inlay, model, "--task", task, "--dtype", "float32")
        # The mean: with these random weights one text in a hundred is 0.05 away, of whatever is rounded.
        assert distances(embed(inlay, tmp_path / "out", "--task", task), wanted).mean() < 0.01


def test_a_tasks_additions_are_not_rounded_to_four_bits(inlay, golden, tmp_path):
    """Only the plain weights have four bits: beside the floats that they and the additions stand for, nothing but the error of int8 is left."""
    model = golden / "jina-v3-task" / "model"
    assert inlay("quantize", model, tmp_path / "out", "--dtype", "int4").code == 0
    plain = embed(inlay, tmp_path / "out")
    for task in ("retrieval.passage", "separation"):
        own = embed(inlay, tmp_path / "out", "--task", task)
        assert distances(own, embed(inlay, tmp_path / "out", "--task", task, "--dtype", "float32")).mean() < 0.01
        assert distances(own, plain).max() > 0.02


def test_heads_beside_the_weights_stay(inlay, golden, tiny, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(tiny, model)
    heads = ["sparse_linear.pt", "colbert_linear.pt"]
    for name in heads:
        shutil.copy(golden / "heads-bge" / "model" / name, model / name)
    done = inlay("quantize", model, tmp_path / "out", "--dtype", "int8")
    assert done.code == 0, done.err
    for name in heads:
        assert (tmp_path / "out" / name).read_bytes() == (model / name).read_bytes()


def test_layers_that_stand_out_and_layers_named_become_bfloat16(inlay, tiny, tmp_path):
    """One layer gets large weights in every group, beside which the others of a group have few codes left."""
    model = tmp_path / "model"
    shutil.copytree(tiny, model)
    tensors = read_safetensors(tiny / "model.safetensors")
    name = next(name for name in tensors if name.endswith("layer.1.output.dense.weight"))
    tensors[name] = tensors[name].copy()
    tensors[name][:, ::32] = 12 * tensors[name].std()
    write_safetensors(model / "model.safetensors", tensors)
    done = inlay("quantize", model, tmp_path / "out", "--dtype", "int4", "--keep", "layer.0.attention.self,layer.2.intermediate", "--max-layer-error", 0.1, "--json")
    assert done.code == 0, done.err
    kept = {layer["name"].split("+")[0]: layer["kept"] for layer in json.loads(done.out)["layers"] if layer["kept"]}
    assert "above 0.1" in kept.pop(name)
    assert sorted(why for why in kept.values()) == ["named by --keep"] * 2
    written = read_safetensors(tmp_path / "out" / "model.safetensors")
    assert written[name].dtype == numpy.uint16  # bf16 bits
    # Loads and computes with the kept layers in floats.
    assert numpy.isfinite(embed(inlay, tmp_path / "out")).all()


@pytest.mark.parametrize("tables", ["int4", "int8", "float16", "keep"])
def test_embedding_tables_by_choice(inlay, tiny, tmp_path, tables):
    done = inlay("quantize", tiny, tmp_path / "out", "--dtype", "int8", "--embedding-dtype", tables)
    assert done.code == 0, done.err
    written = read_safetensors(tmp_path / "out" / "model.safetensors")
    word = next(name for name in written if "word_embeddings" in name)
    assert written[word].dtype == {"int4": "u1", "int8": "i1", "float16": "<f2", "keep": "<f4"}[tables]
    assert distances(embed(inlay, tmp_path / "out"), embed(inlay, tiny, "--dtype", "float32")).max() < 0.1


def with_a_type_that_stands_out(tiny, model):
    """Every token gets the row of its type; here one number of it is as large beside the others as in MiniLM (15 times)."""
    shutil.copytree(tiny, model)
    tensors = read_safetensors(tiny / "model.safetensors")
    name = next(name for name in tensors if "token_type" in name)
    tensors[name] = tensors[name].copy()
    tensors[name][:, 3] = 15 * tensors[name].std()
    write_safetensors(model / "model.safetensors", tensors)
    return name, tensors[name]


@pytest.mark.parametrize("dtype", ["int8", "int4", "float16", "bfloat16"])
def test_rows_that_every_token_gets_are_not_rounded(inlay, tiny, tmp_path, dtype):
    model = tmp_path / "model"
    name, types = with_a_type_that_stands_out(tiny, model)
    assert inlay("quantize", model, tmp_path / "out", "--dtype", dtype, "--max-layer-error", 1).code == 0
    written = read_safetensors(tmp_path / "out" / "model.safetensors")
    assert written[name].dtype == numpy.float32 and written[name].tobytes() == types.tobytes()
    own = embed(inlay, tmp_path / "out")
    assert own.tobytes() == embed(inlay, model, "--dtype", dtype).tobytes()
    if dtype == "int8":
        assert distances(own, embed(inlay, model, "--dtype", "float32")).max() < 0.0003  # rounded, it was 0.0008


@pytest.mark.parametrize(
    "flags, message",
    [
        (("--dtype", "int4", "--method", "gptq"), "gptq needs texts"),
        (("--dtype", "int8", "--method", "gptq"), "gptq is for int4"),
        (("--dtype", "int5"), "wanted float16, bfloat16, int8 or int4"),
        (("--dtype", "int4", "--group-size", "48"), "wanted 32, 64 or 128"),
    ],
)
def test_what_cannot_be_is_said(inlay, tiny, tmp_path, flags, message):
    done = inlay("quantize", tiny, tmp_path / "out", *flags)
    assert done.code == 2 and message in done.err
    assert not (tmp_path / "out" / "model.safetensors").exists()


def test_a_quantised_folder_and_a_full_one_are_refused(inlay, tiny, tmp_path):
    assert inlay("quantize", tiny, tmp_path / "out", "--dtype", "int8").code == 0
    twice = inlay("quantize", tmp_path / "out", tmp_path / "twice", "--dtype", "int4")
    assert twice.code == 2 and "quantised already" in twice.err
    full = inlay("quantize", tiny, tmp_path / "out", "--dtype", "int8")
    assert full.code == 2 and "holds something already" in full.err


# Checkpoints that others have made.


def checkpoint(golden, folder, pack, config, random, **grouped):
    """bert-long with an intermediate size of 64 and random codes for weights: as codes in `folder`/codes, as floats in
    `folder`/floats."""
    source = golden / "bert-long" / "model"
    tensors = {}
    for name, values in read_safetensors(source / "model.safetensors").items():
        if "intermediate.dense" in name or (".output.dense.weight" in name and "attention" not in name):
            axis = 0 if "intermediate" in name else 1
            values = numpy.concatenate([values, numpy.take(values, range(4), axis)], axis)
        tensors[name] = values
    codes, floats = {}, {}
    for name, values in tensors.items():
        if not name.endswith(LINEAR) or "pooler" in name:
            codes[name] = floats[name] = values
            continue
        matrix = Grouped(random, values.shape, **grouped)
        floats[name] = matrix.floats()
        for part, words in pack(matrix).items():
            codes[name.removesuffix("weight") + part] = words
    for kind, all_tensors in (("codes", codes), ("floats", floats)):
        shutil.copytree(source, folder / kind)
        settings = json.loads((source / "config.json").read_text())
        settings["intermediate_size"] = 64
        if kind == "codes":
            settings["quantization_config"] = config
        (folder / kind / "config.json").write_text(json.dumps(settings))
        write_safetensors(folder / kind / "model.safetensors", all_tensors)
    return folder / "codes", folder / "floats"


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 16, "desc_act": False, "sym": True}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 16, "zero_point": True, "version": "gemm"}


@pytest.mark.parametrize(
    "pack, config, grouped",
    [
        (Grouped.gptq, GPTQ, {"symmetric": True}),
        (Grouped.gptq, {**GPTQ, "sym": False}, {"symmetric": False}),
        (Grouped.gptq, {**GPTQ, "desc_act": True}, {"symmetric": True, "scattered": True}),
        (lambda matrix: matrix.gptq(less_one=False), {**GPTQ, "checkpoint_format": "gptq_v2"}, {"symmetric": False}),
        (Grouped.awq, AWQ, {"symmetric": False}),
    ],
    ids=["gptq", "gptq-zeros", "gptq-act-order", "gptq-v2", "awq"],
)
def test_checkpoints_of_codes_are_the_floats_that_they_stand_for(inlay, golden, tmp_path, pack, config, grouped):
    random = numpy.random.default_rng(7)
    codes, floats = checkpoint(golden, tmp_path, pack, config, random, group=16, **grouped)
    wanted = embed(inlay, floats, "--dtype", "float32")
    assert embed(inlay, codes, "--dtype", "float32").tobytes() == wanted.tobytes()
    own = embed(inlay, codes)  # in int4, whose activations are codes of 8 bits
    assert own.tobytes() != wanted.tobytes()
    assert distances(own, wanted).max() < 0.01


def test_a_gptq_checkpoint_without_a_group_index_and_with_its_config_in_a_file(inlay, golden, tmp_path):
    def pack(matrix):
        return {name: words for name, words in matrix.gptq().items() if name != "g_idx"}

    codes, floats = checkpoint(golden, tmp_path, pack, GPTQ, numpy.random.default_rng(8), group=16, symmetric=True)
    settings = json.loads((codes / "config.json").read_text())
    (codes / "quantize_config.json").write_text(json.dumps({"bits": 4, "group_size": 16, "desc_act": False}))
    del settings["quantization_config"]
    (codes / "config.json").write_text(json.dumps(settings))
    assert embed(inlay, codes, "--dtype", "float32").tobytes() == embed(inlay, floats, "--dtype", "float32").tobytes()


@pytest.mark.parametrize(
    "config, message",
    [
        ({**GPTQ, "bits": 3}, "bits is 3, wanted 4"),
        ({**GPTQ, "checkpoint_format": "marlin"}, "checkpoint_format is 'marlin'"),
        ({**AWQ, "version": "gemv"}, "version is 'gemv'"),
        ({"quant_method": "bitsandbytes"}, "quant_method is 'bitsandbytes', wanted inlay, gptq or awq"),
        ({**GPTQ, "group_size": 8}, "for groups of 8"),
    ],
)
def test_layouts_that_nobody_reads_are_refused(inlay, golden, tmp_path, config, message):
    codes, _ = checkpoint(golden, tmp_path, Grouped.gptq, config, numpy.random.default_rng(9), group=16, symmetric=True)
    done = inlay("embed", "--model", codes, stdin="one text\n")
    assert done.code in (4, 7) and message in done.err, done.err
