"""What the makers of golden folders beyond plain BERT share: seeded weights, the folder's files, and vectors with their noise."""

from pathlib import Path

import make_golden as base
import numpy as np
import tokenizers
import torch
from safetensors.torch import save_file

TEXTS = ["", "hello world", "The cats sat on the mat, unhappily.", "日本語テスト 中文", "…—。!!! $5.00 e-mail x_y", "x" * 100]
VOCABULARY = len(base.vocabulary())


def texts(limit: int) -> list[str]:
    words = (base.LONG_TEXT * 200).split()
    return TEXTS + [" ".join(words[:count]) for count in (13, limit // 2, limit - 2)] + [base.LONG_TEXT * (2 + limit // 8)]


def randomise(model: torch.nn.Module, seed: int, norm_offset: float = 1.0) -> torch.nn.Module:
    """Weights that bfloat16 holds exactly, so large that no activation is linear and no attention even."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            lower = name.lower()
            if parameter.dim() == 1 and lower.endswith("weight"):
                value = norm_offset + 0.3 * noise
            elif "embed" in lower or "shared" in lower:
                value = 0.6 * noise
            elif parameter.dim() == 1:
                value = 0.25 * noise
            else:
                value = 1.6 * noise / parameter.shape[-1] ** 0.5
            parameter.copy_(value.bfloat16().float())
    return model.eval()


def tensors_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    names = dict(model.named_parameters(remove_duplicate=True))
    return {name: tensor.detach().clone().contiguous() for name, tensor in names.items()}


def pooled(hidden: np.ndarray, mode: str) -> np.ndarray:
    if mode == "cls":
        return hidden[0]
    return hidden[-1] if mode == "lasttoken" else hidden.mean(axis=0)


class Golden:
    """A folder under construction. `forward` gives the hidden states [tokens, hidden] of a row of ids."""

    def __init__(self, folder: Path, mode: str, max_length: int, normalize: bool = True):
        self.folder = folder
        self.mode = mode
        self.max_length = max_length
        self.normalize = normalize

    def write_model(self, config: dict, tensors: dict[str, torch.Tensor], dtype: torch.dtype = torch.bfloat16) -> None:
        drop = ("_name_or_path", "dtype", "torch_dtype", "transformers_version")
        base.write_json(self.folder / "config.json", {key: value for key, value in config.items() if key not in drop})
        save_file({name: tensor.to(dtype) for name, tensor in tensors.items()}, self.folder / "model.safetensors")
        base.build_tokenizer(lowercase=True).save(str(self.folder / "tokenizer.json"))
        base.write_json(
            self.folder / "tokenizer_config.json",
            {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": self.max_length},
        )

    def write_modules(self, hidden_size: int) -> None:
        kinds = ["Transformer", "Pooling"] + ["Normalize"] * self.normalize
        modules = [base.module(i, f"{i}_{kind}" if i else "", base.old_type(kind)) for i, kind in enumerate(kinds)]
        base.write_json(self.folder / "modules.json", modules)
        base.write_json(
            self.folder / "1_Pooling/config.json", {"embedding_dimension": hidden_size, "pooling_mode": self.mode}
        )
        base.write_json(
            self.folder / "sentence_bert_config.json", {"max_seq_length": self.max_length, "do_lower_case": False}
        )

    def vector(self, forward, ids: list[int]) -> np.ndarray:
        with torch.no_grad():
            vector = pooled(forward(torch.tensor([ids])).numpy(), self.mode)
        return vector / np.linalg.norm(vector) if self.normalize else vector

    def write(self, forward, model: torch.nn.Module) -> None:
        """Vectors of all texts, alone; `model` is what `forward` uses, so that float64 tells the noise of float32."""
        tokenizer = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.enable_truncation(self.max_length)
        all_texts = texts(self.max_length)
        ids = [tokenizer.encode(text).ids for text in all_texts]
        single = np.stack([self.vector(forward, row) for row in ids])
        model.double()
        double = np.stack([self.vector(forward, row) for row in ids])
        model.float()
        self.write_modules(single.shape[1])
        noise = float(np.abs(single - double).max())
        scale = max(1.0, float(np.abs(single).max()))
        assert np.isfinite(single).all() and noise <= base.MAX_NOISE * scale, (self.folder.parent.name, noise, scale)
        run = base.new_run("default", list(range(len(all_texts))), self.max_length) | {
            "ids": ids,
            "offset": 0,
            "rows": single.shape[0],
            "columns": single.shape[1],
            "noise": noise,
            "scale": scale,
        }
        np.save(self.folder.parent / "vectors.npy", single.astype(np.float32).ravel())
        base.write_golden_json(self.folder.parent / "golden.json", all_texts, [run], base.tensor_sums(self.folder))
        size = sum(file.stat().st_size for file in self.folder.parent.rglob("*") if file.is_file()) // 1024
        print(f"{self.folder.parent.name}: fp32 differs from float64 by at most {noise:.1e}, {size} KB")


def plain(model):
    return lambda ids: model(input_ids=ids).last_hidden_state[0]


def eager(kind, config, **options):
    config._attn_implementation = "eager"
    return kind(config, **options)


def config_of(model, **changes) -> dict:
    return model.config.to_dict() | {"architectures": [type(model).__name__]} | changes


def write_simple(folder: Path, model, mode: str, max_length: int, **changes) -> None:
    golden = Golden(folder, mode, max_length)
    golden.write_model(config_of(model, **changes), tensors_of(model))
    golden.write(plain(model), model)


def fresh_rope(model):
    """Dynamic scaling depends on the texts before; each text here is the first."""

    def forward(ids):
        model.rotary_emb = type(model.rotary_emb)(model.config)
        return plain(model)(ids)

    return forward
