#!/usr/bin/env python3
"""Writes tests/data/weights: files of weights in other formats than safetensors, made by the libraries that users make them
with, and the numbers that they hold as safetensors. Needs numpy, safetensors and, for each kind, the library that writes it
(torch; gguf; transformers and onnx); nothing is downloaded.

    python tools/make_weight_files.py [--out tests/data/weights] [--only torch] [--only gguf] [--only onnx]
"""

import argparse
import collections
import json
import os
import shutil
from pathlib import Path

import numpy as np

GOLDEN = Path("tests/golden/bert-cls-dense/model")


def ugly_tensors() -> dict:
    """Every element type, and views that are not row major."""
    import torch

    generator = torch.Generator().manual_seed(5)
    base = torch.randn(5, 7, generator=generator)
    cube = torch.randn(2, 3, 5, generator=generator)
    return {
        "f32": base.clone(),
        "f16": base.half(),
        "bf16": base.bfloat16(),
        "f64": base.double() / 3,
        "i64": torch.arange(-3, 9).reshape(1, 12),
        "i32": torch.arange(5, dtype=torch.int32),
        "i16": torch.arange(5, dtype=torch.int16),
        "i8": torch.arange(-2, 3, dtype=torch.int8),
        "u8": torch.arange(5, dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "transposed": base.t(),
        "rows": base[1:4],
        "columns": base[:, 2:5],
        "every second": base[::2, ::3],
        "permuted": cube.permute(2, 0, 1),
        "half transposed": base.half().t(),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "one row": base[2:3].t().t(),
        "long name " + "x" * 300: torch.ones(1),
    }


class Hostile:
    """What torch.load(weights_only=False) would run."""

    def __reduce__(self):
        return (os.system, ("true",))


def write_torch_files(out: Path) -> None:
    import torch
    from safetensors.torch import save_file

    tensors = ugly_tensors()
    save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, out / "ugly.safetensors")
    state = collections.OrderedDict(tensors)
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    torch.save(state, out / "zip.bin")
    torch.save(state, out / "before-zip.bin", _use_new_zipfile_serialization=False)
    torch.save(tensors, out / "protocol4.bin", pickle_protocol=4)
    parameters = {name: torch.nn.Parameter(tensor) for name, tensor in tensors.items() if tensor.is_floating_point()}
    torch.save({"epoch": 3, "loss": 0.5, "state_dict": parameters, "args": {"lr": [1e-4, None, "x", 2**70]}}, out / "checkpoint.pt")
    torch.save({"repeated": torch.ones(1, 1).expand(1000, 1000), "f32": tensors["f32"]}, out / "repeated.bin")
    torch.save({"f32": tensors["f32"], "hostile": Hostile()}, out / "hostile.bin")
    torch.save({"f32": tensors["f32"], "hostile": Hostile()}, out / "hostile-before-zip.bin", _use_new_zipfile_serialization=False)
    torch.save(torch.nn.Linear(3, 2), out / "module.bin")
    torch.save({"weight": torch.nn.Linear(4, 1).weight.detach().half(), "bias": torch.zeros(1).half()}, out / "sparse_linear.pt")


def write_torch_model(out: Path) -> None:
    """The weights of a golden model, whose vectors must not change: shards of the encoder, and modules in files of their own."""
    import torch
    from safetensors.torch import load_file

    tensors = load_file(GOLDEN / "model.safetensors")
    names = sorted(tensors)
    shards = {f"pytorch_model-0000{part}-of-00002.bin": names[part - 1 :: 2] for part in (1, 2)}
    for shard, held in shards.items():
        torch.save({name: tensors[name] for name in held}, out / shard)
    weight_map = {name: shard for shard, held in shards.items() for name in held}
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    (out / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=1) + "\n")
    for module in ("2_Dense", "3_Dense"):
        (out / module).mkdir()
        torch.save(load_file(GOLDEN / module / "model.safetensors"), out / module / "pytorch_model.bin")


def read_safetensors(path: Path) -> dict[str, tuple[str, list[int], bytes]]:
    """Names to dtype, shape and bytes: NumPy has no bfloat16."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    entries = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        entries[name] = (entry["dtype"], entry["shape"], data[8 + size + begin : 8 + size + end])
    return entries


def write_gguf_blocks(out: Path) -> None:
    """Random bytes as blocks of every type, and what the gguf package decodes them to."""
    import gguf
    from safetensors.numpy import save_file

    random = np.random.default_rng(6)
    writer = gguf.GGUFWriter(out / "blocks.gguf", "bert")
    decoded = {}
    for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"):
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        rows, blocks = 3, 2
        data = random.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
        # Scales are halves at the start, in Q6_K at the end; random bits there would be NaN now and then.
        halves = {"Q4_0": [0], "Q5_0": [0], "Q8_0": [0], "Q6_K": [208]}.get(name, [0, 2])
        for at in halves:
            scale = random.normal(0, 0.1, (rows, blocks, 1)).astype(np.float16)
            data[:, :, at : at + 2] = scale.view(np.uint8)
        data = data.reshape(rows, blocks * size)
        writer.add_tensor(name, data, raw_dtype=kind)
        decoded[name] = gguf.dequantize(data, kind).astype(np.float32).reshape(rows, blocks * elements)
    for name, array in (
        ("F32", random.normal(size=(3, 5)).astype(np.float32)),
        ("F16", random.normal(size=(2, 3, 5)).astype(np.float16)),
        ("F64", random.normal(size=7)),
    ):
        writer.add_tensor(name, array)
        decoded[name] = array
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(decoded, out / "blocks.safetensors")


GGUF_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def gguf_name(name: str) -> str | None:
    stem, ending = name.removeprefix("bert.").rsplit(".", 1)
    if stem.startswith("encoder.layer."):
        layer, part = stem.removeprefix("encoder.layer.").split(".", 1)
        return f"blk.{layer}.{GGUF_NAMES[part]}.{ending}"
    return f"{GGUF_NAMES[stem]}.{ending}" if stem in GGUF_NAMES else None


def write_gguf_model(out: Path) -> None:
    """The encoder of a golden model as llama.cpp's converter writes it."""
    import gguf

    config = json.loads((GOLDEN / "config.json").read_text())
    vocabulary = json.loads((GOLDEN / "tokenizer.json").read_text())["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.get)
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

    def converted(token: str) -> str:
        return token if token in special else token[2:] if token.startswith("##") else "\u2581" + token

    writer = gguf.GGUFWriter(out / "bert-cls.gguf", "bert")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.CLS)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([converted(token) for token in tokens])
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    for add, token in (
        (writer.add_unk_token_id, "[UNK]"),
        (writer.add_bos_token_id, "[CLS]"),
        (writer.add_sep_token_id, "[SEP]"),
        (writer.add_pad_token_id, "[PAD]"),
        (writer.add_mask_token_id, "[MASK]"),
    ):
        add(vocabulary[token])
    for name, (dtype, shape, data) in read_safetensors(GOLDEN / "model.safetensors").items():
        if gguf_name(name) is None:
            continue
        if dtype == "BF16":
            raw = np.frombuffer(data, np.uint8).reshape(*shape[:-1], shape[-1] * 2)
            writer.add_tensor(gguf_name(name), raw, raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(gguf_name(name), np.frombuffer(data, np.float32).reshape(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_onnx_model(out: Path) -> None:
    """The encoder of a golden model as torch's exporter writes it: as one file, without folding, and with external data."""
    import onnx
    import torch
    from transformers import BertModel

    class Wrapper(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.auto_model = model

        def forward(self, ids, mask, types):
            return self.auto_model(input_ids=ids, attention_mask=mask, token_type_ids=types)[0]

    bert = BertModel.from_pretrained(GOLDEN, dtype=torch.float32, attn_implementation="eager", add_pooling_layer=False)
    model = Wrapper(bert).eval()
    ids = torch.ones(1, 5, dtype=torch.int64)
    arguments = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    names = {"input_names": ["input_ids", "attention_mask", "token_type_ids"], "output_names": ["last_hidden_state"]}
    for file, folding in (("model.onnx", True), ("unfolded.onnx", False)):
        torch.onnx.export(
            model, arguments, out / file, opset_version=17, do_constant_folding=folding, dynamo=False,
            dynamic_axes={name: {0: "batch", 1: "length"} for name in names["input_names"]}, **names
        )  # fmt: skip
    (out / "external").mkdir()
    onnx.save(
        onnx.load(out / "model.onnx"), out / "external/model.onnx",
        save_as_external_data=True, location="model.onnx_data", size_threshold=64,
    )  # fmt: skip


KINDS = {
    "onnx": {"bert-cls-onnx": write_onnx_model},
    "torch": {"torch": write_torch_files, "bert-cls-dense-torch": write_torch_model},
    "gguf": {"gguf": write_gguf_blocks, "bert-cls-gguf": write_gguf_model},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("tests/data/weights"))
    parser.add_argument("--only", action="append", choices=KINDS)
    arguments = parser.parse_args()
    for kind in arguments.only or KINDS:
        for name, write in KINDS[kind].items():
            shutil.rmtree(arguments.out / name, ignore_errors=True)
            (arguments.out / name).mkdir(parents=True)
            write(arguments.out / name)


if __name__ == "__main__":
    main()
