#!/usr/bin/env python3
"""Writes golden rerankers of families whose classifiers transformers does not have as the hub does: GTE "new", its port without a
pooler, nomic-bert and JinaBert v2. The heads are written from the authors' formulas around the encoders of golden_berts.py.

    python tools/golden_classifiers.py [--out tests/golden]
"""

import argparse
import json
import shutil
from pathlib import Path

import golden_berts as berts
import make_golden as base
import numpy as np
import torch
import transformers
from golden_folder import Golden, eager, randomise, tensors_of
from golden_heads import PAIRS, TEXTS

LIMIT = 90


class Head(torch.nn.Module):
    """classifier(tanh(pooler(first token))), or classifier(first token) of models without a pooler, whose name is given."""

    def __init__(self, hidden: int, labels: int, pooler: str | None):
        super().__init__()
        self.pooler = pooler
        self.dense = torch.nn.Linear(hidden, hidden) if pooler else None
        self.classifier = torch.nn.Linear(hidden, labels)

    def forward(self, first):
        return self.classifier(torch.tanh(self.dense(first)) if self.dense else first)

    def tensors(self) -> dict[str, torch.Tensor]:
        return {
            name.replace("dense.", f"{self.pooler}."): tensor.detach().clone() for name, tensor in self.named_parameters()
        }


def items_of(forward, head: Head) -> list[dict]:
    tokenizer = base.build_tokenizer(lowercase=True)
    tokenizer.enable_truncation(LIMIT)
    items = []
    for first, second in [(text, None) for text in TEXTS] + PAIRS:
        encoded = tokenizer.encode(first) if second is None else tokenizer.encode(first, second)
        ids, types = torch.tensor([encoded.ids]), torch.tensor([encoded.type_ids])
        with torch.no_grad():
            hidden = forward(ids, types)
            hidden = hidden if isinstance(hidden, torch.Tensor) else hidden.last_hidden_state[0]
            logits = head(hidden[0])
        item = {"first": first, "second": second, "ids": encoded.ids, "types": encoded.type_ids, "logits": logits.tolist()}
        if second is None and len(encoded.ids) < 30:
            item["hidden"] = np.round(hidden.numpy().astype(np.float64), 7).tolist()
        items.append(item)
    return items


def write(folder: Path, config: dict, tensors: dict, forward, head: Head, seed: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "model").mkdir(parents=True)
    randomise(head, seed)
    labels = head.classifier.out_features
    config = config | {"id2label": {str(i): f"LABEL_{i}" for i in range(labels)}, "num_labels": labels}
    Golden(folder / "model", "cls", LIMIT).write_model(config, tensors | head.tensors())
    (folder / "heads.json").write_text(json.dumps({"max_length": LIMIT, "items": items_of(forward, head)}) + "\n")


def with_types(model):
    return lambda ids, types: model(input_ids=ids, token_type_ids=types)


def make_new(folder: Path) -> None:
    """As gte-multilingual-reranker-base on the hub: prefix `new.`, the pooler under it, one token type."""
    config = transformers.GteConfig(**berts.bert_sizes(type_vocab_size=1))
    model = randomise(eager(transformers.GteModel, config), 223)
    rotary = config.hidden_size // config.num_attention_heads
    exponents = torch.arange(0, rotary, 2, dtype=torch.float32) / rotary
    model.rotary_emb.inv_freq = 1.0 / (20000.0 * 8.0) ** exponents / 8.0 ** (2 / rotary)
    names = {
        "layers.": "encoder.layer.", "self_attn.o_proj": "attention.o_proj", "post_attention_layernorm": "attn_ln",
        "post_mlp_layernorm": "mlp_ln",
    }  # fmt: skip
    joined = {"attention.qkv_proj": berts.QKV, "mlp.up_gate_proj": ["mlp.up_proj", "mlp.gate_proj"]}
    tensors = {f"new.{name}": tensor for name, tensor in berts.fused(tensors_of(model), names, joined).items()}
    written = berts.bert_sizes(type_vocab_size=1) | {
        "model_type": "new", "architectures": ["NewForSequenceClassification"], "hidden_act": "gelu", "layer_norm_type": "layer_norm",
        "layer_norm_eps": 1e-12, "position_embedding_type": "rope", "rope_theta": 20000,
        "rope_scaling": {"type": "ntk", "factor": 8.0}, "pack_qkv": True, "logn_attention_scale": False,
    }  # fmt: skip
    write(folder, written, tensors, lambda ids, _: model(input_ids=ids), Head(40, 1, "new.pooler.dense"), 224)


def make_gte(folder: Path) -> None:
    """transformers' own names, and no pooler."""
    config = transformers.GteConfig(**berts.bert_sizes(type_vocab_size=0))
    model = randomise(eager(transformers.GteModel, config, add_pooling_layer=False), 225)
    written = config.to_dict() | {"architectures": ["GteForSequenceClassification"]}
    write(folder, written, tensors_of(model), lambda ids, _: model(input_ids=ids), Head(40, 3, None), 226)


def make_nomic(folder: Path) -> None:
    """The hub's names under `bert.`, swiglu, two token types."""
    sizes = berts.bert_sizes(intermediate_size=256, hidden_size=32, num_hidden_layers=2)
    config = transformers.NomicBertConfig(**sizes, rope_parameters={"rope_type": "default", "rope_theta": 1000.0})
    model = randomise(eager(transformers.NomicBertModel, config), 227)
    names = {
        "layers.": "encoder.layers.", "embeddings.LayerNorm": "emb_ln", "self_attn.o_proj": "attn.out_proj",
        "mlp.up_proj": "mlp.fc11", "mlp.gate_proj": "mlp.fc12", "mlp.down_proj": "mlp.fc2",
        "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2",
    }  # fmt: skip
    tensors = {f"bert.{name}": tensor for name, tensor in berts.fused(tensors_of(model), names, {"attn.Wqkv": berts.QKV}).items()}
    written = berts.nomic_config(config, "swiglu") | {"architectures": ["NomicBertForSequenceClassification"]}
    write(folder, written, tensors, with_types(model), Head(32, 2, "bert.pooler.dense"), 228)


def make_jina(folder: Path) -> None:
    """As jina-reranker-v1 on the hub: ALiBi with 6 heads, geglu, prefix `bert.`, one label."""
    model = randomise(berts.JinaBert(42, 6, 58, 2), 229)
    written = berts.bert_sizes(hidden_size=42, num_attention_heads=6, intermediate_size=58, num_hidden_layers=2) | {
        "model_type": "bert", "architectures": ["JinaBertForSequenceClassification"], "position_embedding_type": "alibi",
        "feed_forward_type": "geglu", "layer_norm_eps": 1e-12, "hidden_act": "gelu", "max_position_embeddings": 200,
        "auto_map": {"AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel"},
    }  # fmt: skip
    tensors = {f"bert.{name}": tensor for name, tensor in tensors_of(model).items()}
    write(folder, written, tensors, model, Head(42, 1, "bert.pooler.dense"), 230)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("tests/golden"))
    arguments = parser.parse_args()
    for name, make in (("new", make_new), ("gte", make_gte), ("nomic", make_nomic), ("jina-bert", make_jina)):
        make(arguments.out / f"heads-{name}")


if __name__ == "__main__":
    main()
