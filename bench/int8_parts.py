#!/usr/bin/env python3
"""How much of int8's distance comes from which rounding, and what other ways to round would do: BERT in torch, rounded on purpose.

Usage: int8_parts.py --model DIR --texts ja=JA.jsonl ru=RU.jsonl [--rows 100] [--max-length 256]
Rounds as Inlay does: tables and weights symmetrically by row, activations from their least to their largest number by token. Prints the mean, P95 and
P99 of 1 - cosine to float32 in units of 1e-5, a line for each set of parts that are rounded. Needs the environment of requirements-peers.txt.
"""
import argparse
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

import measure
import report

KINDS = ("qkv", "out", "up", "down")
TABLES = ("word", "position", "token_type")
BATCH_TOKENS = 2048


def by_row(x):
    step = x.abs().amax(-1, keepdim=True) / 127
    return torch.where(step > 0, torch.round(x / step) * step, x)


def by_token(x):
    low = x.amin(-1, keepdim=True)
    step = (x.amax(-1, keepdim=True) - low) / 255
    return torch.where(step > 0, torch.round((x - low) / step) * step + low, x)


def by_row_clipped(x):
    """The step of the least squared error, of 20 down to 0.4 of what holds the largest."""
    best = least = None
    for share in np.linspace(1, 0.4, 20):
        step = x.abs().amax(1, keepdim=True) * share / 127
        rounded = (x / step).round().clamp(-127, 127) * step
        error = (rounded - x).pow(2).sum(1, keepdim=True)
        best = rounded if best is None else torch.where(error < least, rounded, best)
        least = error if least is None else torch.minimum(error, least)
    return best


class Bert:
    """rounded: kinds whose weights ("qkv.w") or inputs ("qkv.x") are rounded, and tables. factors: kind -> function of the weights and the norm before
    them, by which inputs are divided and weights multiplied before either is rounded."""

    def __init__(self, folder, rounded=(), weight_rounding=by_row, factors=None, means=None):
        weights = {name.removeprefix("bert."): value.float() for name, value in load_file(folder / "model.safetensors").items()}
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.heads, self.eps = config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"]
        self.weights, self.rounded, self.seen, self.linears = weights, set(rounded), {}, {}
        for table in TABLES:
            name = f"embeddings.{table}_embeddings.weight"
            if table in self.rounded:
                weights[name] = by_row(weights[name])
        for layer in range(self.layers):
            for kind in KINDS:
                weight, bias = self.read(layer, kind)
                factor = (factors or {}).get(kind, lambda w, norm: torch.ones(w.shape[1]))(weight, self.norm_before(layer, kind))
                own = weight_rounding(weight * factor) / factor if f"{kind}.w" in self.rounded else weight
                if means:
                    bias = bias - (own - weight) @ means[layer, kind]
                self.linears[layer, kind] = own, bias, factor

    def read(self, layer, kind):
        prefix = f"encoder.layer.{layer}."
        names = {"qkv": [f"attention.self.{part}" for part in ("query", "key", "value")], "out": ["attention.output.dense"],
                 "up": ["intermediate.dense"], "down": ["output.dense"]}[kind]
        return (torch.cat([self.weights[f"{prefix}{name}.{part}"] for name in names]) for part in ("weight", "bias"))

    def norm_before(self, layer, kind):
        """Gamma and beta of the norm whose output the layer reads; None where it reads something else."""
        if kind not in ("qkv", "up"):
            return None
        name = f"encoder.layer.{layer}.attention.output" if kind == "up" else f"encoder.layer.{layer - 1}.output" if layer else "embeddings"
        return self.weights[f"{name}.LayerNorm.weight"], self.weights[f"{name}.LayerNorm.bias"]

    def linear(self, layer, kind, x):
        weight, bias, factor = self.linears[layer, kind]
        if f"{kind}.x" in self.rounded:
            x = by_token(x / factor) * factor
        total, count = self.seen.get((layer, kind), (0, 0))
        self.seen[layer, kind] = total + x.reshape(-1, x.shape[-1]).sum(0), count + x.shape[0] * x.shape[1]
        return F.linear(x, weight, bias)

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.weights[f"{name}.LayerNorm.weight"], self.weights[f"{name}.LayerNorm.bias"], self.eps)

    def run(self, ids, mask):
        texts, length = ids.shape
        tables = [self.weights[f"embeddings.{table}_embeddings.weight"] for table in TABLES]
        x = self.norm("embeddings", tables[0][ids] + tables[1][:length] + tables[2][0])
        hidden = x.shape[-1]
        bias = torch.where(mask, 0.0, -1e30)[:, None, None, :]
        for layer in range(self.layers):
            q, k, v = self.linear(layer, "qkv", x).view(texts, length, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).permute(0, 2, 1, 3).reshape(texts, length, hidden)
            x = self.norm(f"encoder.layer.{layer}.attention.output", x + self.linear(layer, "out", context))
            x = self.norm(f"encoder.layer.{layer}.output", x + self.linear(layer, "down", F.gelu(self.linear(layer, "up", x))))
        weight = mask[..., None].float()
        return F.normalize((x * weight).sum(1) / weight.sum(1), dim=-1)

    def embed(self, texts):
        vectors, batch = [None] * len(texts), []
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for place, i in enumerate(order):
            batch.append(i)
            if place + 1 < len(order) and len(texts[order[place + 1]]) * (len(batch) + 1) <= BATCH_TOKENS:
                continue
            ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(texts[i]) for i in batch], batch_first=True)
            mask = torch.arange(ids.shape[1]) < torch.tensor([len(texts[i]) for i in batch])[:, None]
            for i, vector in zip(batch, self.run(ids, mask)):
                vectors[i] = vector
            batch = []
        return torch.stack(vectors).double()


def by_norm(power):
    """Larger where the norm's output is larger: SmoothQuant with what is known without texts."""
    return lambda weight, norm: (norm[1].abs() + 3 * norm[0].abs()) ** power


def by_weights(power):
    """Inputs with large weights are made larger, so that these weights become smaller."""
    return lambda weight, _: weight.abs().amax(0) ** -power


def variants(folder, means):
    weights, inputs = [f"{kind}.w" for kind in KINDS], [f"{kind}.x" for kind in KINDS]
    kept = [*TABLES[:2], *weights, *inputs]
    yield "all", Bert(folder, [*TABLES, *weights, *inputs])
    for part in (*TABLES, *weights, *inputs):
        yield part, Bert(folder, [part])
    yield "all but token types", Bert(folder, kept)
    yield ".. clipped weights", Bert(folder, kept, by_row_clipped)
    yield ".. biases corrected by means of the first texts", Bert(folder, kept, means=means)
    for power in (0.25, 0.5):
        yield f".. factors of qkv's and up's inputs by norms, power {power}", Bert(folder, kept, factors={"qkv": by_norm(power), "up": by_norm(power)})
        yield f".. factors of down's inputs by weights, power {power}", Bert(folder, kept, factors={"down": by_weights(power)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=measure.DEMO_MODEL)
    parser.add_argument("--texts", nargs="+", required=True, help="LANGUAGE=FILE")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(options.max_length)
    texts = {}
    for language, _, path in (text.partition("=") for text in options.texts):
        texts[language] = [tokenizer.encode(row["text"]).ids for row in measure.read_rows(path, options.rows)]
    exact = Bert(options.model)
    wanted, means = {}, None
    for language, ids in texts.items():
        wanted[language] = exact.embed(ids)
        means = means or {key: total / count for key, (total, count) in exact.seen.items()}
    rows = []
    for name, model in variants(options.model, means):
        rows.append([name])
        for language, ids in texts.items():
            distance = 1e5 * (1 - (model.embed(ids) * wanted[language]).sum(-1)).numpy()
            rows[-1].append(f"{distance.mean():.1f} / {np.percentile(distance, 95):.1f} / {np.percentile(distance, 99):.1f}")
        print(rows[-1], flush=True)
    print(report.table(["rounded", *(f"{language}: mean / P95 / P99" for language in texts)], rows))


if __name__ == "__main__":
    main()
