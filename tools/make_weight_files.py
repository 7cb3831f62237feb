#!/usr/bin/env python3
"""Writes tests/data/weights: files of weights in other formats than safetensors, made by the libraries that users make them
with, and the numbers that they hold as safetensors. Needs torch, safetensors and numpy; nothing is downloaded.

    python tools/make_weight_files.py [--out tests/data/weights]
"""

import argparse
import collections
import json
import os
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

GOLDEN = Path("tests/golden/bert-cls-dense/model")


def ugly_tensors() -> dict[str, torch.Tensor]:
    """Every element type, and views that are not row major."""
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
    tensors = load_file(GOLDEN / "model.safetensors")
    names = sorted(tensors)
    shards = {f"pytorch_model-0000{part}-of-00002.bin": names[part - 1 :: 2] for part in (1, 2)}
    for shard, held in shards.items():
        torch.save({name: tensors[name] for name in held}, out / shard)
    weight_map = {name: shard for shard, held in shards.items() for name in held}
    (out / "pytorch_model.bin.index.json").write_text(
        json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}, indent=1) + "\n"
    )
    for module in ("2_Dense", "3_Dense"):
        (out / module).mkdir()
        torch.save(load_file(GOLDEN / module / "model.safetensors"), out / module / "pytorch_model.bin")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("tests/data/weights"))
    out = parser.parse_args().out
    for name, write in (("torch", write_torch_files), ("bert-cls-dense-torch", write_torch_model)):
        shutil.rmtree(out / name, ignore_errors=True)
        (out / name).mkdir(parents=True)
        write(out / name)


if __name__ == "__main__":
    main()
