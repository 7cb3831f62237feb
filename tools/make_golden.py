#!/usr/bin/env python3
"""Writes tests/golden: small random models with the ids and vectors that sentence-transformers gives for ugly texts.

Needs torch, transformers, tokenizers, safetensors and sentence-transformers; nothing is downloaded. tests/golden/README.md
describes what is written.

    python tools/make_golden.py [--out tests/golden] [--only bert-tiny]
"""

import argparse
import importlib.metadata
import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import golden_heads
import golden_late
import numpy as np
import tokenizers
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = """the of and to in a is for on that by this with you it not or be are from at as your all have new more an was we will
home can us about if page my has search free but our one other do no time they site he up may what which their news out use any
there see only so his when find query passage river bank boat cat cats sat mat hello world cafe naive unicode emoji zero width
inside text long word lorem ipsum Hello World HELLO""".split()
PIECES = """##s ##ed ##ing ##er ##ly ##tion ##un ##able ##ness ##est ##ies ##al ##ity ##ous ##th ##en ##on ##an""".split()
LONG_TEXT = "the river bank and the boat , a cat sat on the mat when the query is long and the passage is not . "
MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
# No golden may come from a model in which rounding alone moves a vector by more than this.
MAX_NOISE = 2e-6


def vocabulary() -> list[str]:
    ascii_characters = [chr(c) for c in range(33, 127)]
    continued = ["##" + c for c in "abcdefghijklmnopqrstuvwxyz0123456789éàü"]
    others = list("éàüñ日本語中文한م…—。😀👍") + ["##ا", "##م"]
    return list(dict.fromkeys(SPECIAL + ascii_characters + continued + others + WORDS + PIECES))


def texts(limit: int) -> list[str]:
    """Ugly texts, and long ones whose ids just miss, meet and pass `limit` (special tokens included)."""
    ugly = [
        "",
        " ",
        "\t\n  \r\n",
        "hello world",
        "HELLO WORLD",
        "Hello World",
        "The cats sat on the mat, unhappily.",
        "Ünïcode\u00a0Café naïve",
        "日本語テスト 中文",
        "한국어 مرحبا",
        "emoji 😀 👍🏽 ok😀",
        "zero\u200bwidth soft\u00adhyphen",
        "hello [SEP] world [MASK]",
        "hello [sep] world [cls]",
        "[CLS][CLS] [PAD] [UNK]",
        "a\u0000b\ufffdc",
        "…—。!!! $5.00 e-mail x_y",
        "x" * 100,
        "x" * 101,
        "unbelievableness " * 3,
        "İI ß ﬁ Ⅳ½",
        "e\u0301 n\u0303 \u0301\u0301",
        "0",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    ]
    words = LONG_TEXT.split()
    long = [
        " ".join(itertools.islice(itertools.cycle(words), count))
        for count in (7, 15, 30, limit // 2, limit - 3, limit - 2, limit - 1)
    ]
    return ugly + long + [LONG_TEXT * (3 + limit // 8)]


def build_tokenizer(lowercase: bool) -> tokenizers.Tokenizer:
    vocab = {token: index for index, token in enumerate(vocabulary())}
    tokenizer = tokenizers.Tokenizer(WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    return tokenizer


def random_bert(seed: int, **sizes) -> BertModel:
    """Initial weights would be so small that every activation is linear and every norm alike; these are not."""
    config = BertConfig(vocab_size=len(vocabulary()), pad_token_id=0, **sizes)
    model = BertModel(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "LayerNorm.weight" in name:
                parameter.copy_(1 + 0.3 * noise)
            elif name.startswith("embeddings.") and parameter.dim() == 2:
                parameter.copy_(0.6 * noise)
            else:
                parameter.copy_(0.25 * noise)
    return model


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {
        name: tensor.detach().clone().contiguous()
        for name, tensor in model.state_dict().items()
        if tensor.dtype == torch.float32
    }


def old_spelling(name: str) -> str:
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


def write_json(path: Path, value, indent: int | None = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=True) + "\n")


def write_config(folder: Path, model: BertModel) -> None:
    config = {
        key: value for key, value in model.config.to_dict().items() if key not in ("_name_or_path", "dtype", "torch_dtype")
    }
    write_json(folder / "config.json", config | {"architectures": ["BertModel"], "position_embedding_type": "absolute"})


def module(index: int, path: str, kind: str) -> dict:
    return {"idx": index, "name": str(index), "path": path, "type": kind}


def old_type(name: str) -> str:
    return f"sentence_transformers.models.{name}"


def write_bert_tiny(folder: Path) -> None:
    """Odd sizes, F32, mean and Normalize, new type names and the new pooling schema."""
    model = random_bert(
        1, hidden_size=44, num_attention_heads=4, intermediate_size=76, num_hidden_layers=3, max_position_embeddings=80
    )
    write_config(folder, model)
    save_file(weights_of(model), folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer = build_tokenizer(lowercase=True)
    # Left over from an export, and ignored by whoever loads the folder.
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 80, "unk_token": "[UNK]"},
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    library = "sentence_transformers.base.modules"
    write_json(
        folder / "modules.json",
        [
            module(0, "", f"{library}.transformer.Transformer"),
            module(1, "1_Pooling", "sentence_transformers.sentence_transformer.modules.pooling.Pooling"),
            module(2, "2_Normalize", f"{library}.normalize.Normalize"),
        ],
    )
    write_json(folder / "1_Pooling/config.json", {"embedding_dimension": 44, "pooling_mode": "mean", "include_prompt": True})


def write_bert_cls_dense(folder: Path) -> None:
    """CLS, two Dense modules, BF16 and F32 and I64 in one file, a prefix, unused heads, prompts, the old pooling schema."""
    model = random_bert(
        2, hidden_size=24, num_attention_heads=3, intermediate_size=52, num_hidden_layers=2, max_position_embeddings=48
    )
    write_config(folder, model)
    tensors = {f"bert.{name}": tensor.bfloat16() if tensor.dim() == 2 else tensor for name, tensor in weights_of(model).items()}
    tensors["bert.embeddings.position_ids"] = torch.arange(48).reshape(1, 48)
    tensors["cls.predictions.bias"] = torch.ones(len(vocabulary()))
    tensors["cls.seq_relationship.weight"] = torch.ones(2, 24)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    build_tokenizer(lowercase=True).save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 40}
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": None, "do_lower_case": False})
    kinds = ["Transformer", "Pooling", "Dense", "Dense", "Normalize"]
    write_json(folder / "modules.json", [module(i, f"{i}_{kind}" if i else "", old_type(kind)) for i, kind in enumerate(kinds)])
    flags = {
        f"pooling_mode_{name}": name == "cls_token"
        for name in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    }
    write_json(folder / "1_Pooling/config.json", {"word_embedding_dimension": 24} | flags)
    generator = torch.Generator().manual_seed(20)
    for path, sizes, bias, activation in (
        ("2_Dense", (24, 10), True, "activation.Tanh"),
        ("3_Dense", (10, 7), False, "linear.Identity"),
    ):
        write_json(
            folder / path / "config.json",
            {
                "in_features": sizes[0],
                "out_features": sizes[1],
                "bias": bias,
                "activation_function": f"torch.nn.modules.{activation}",
            },
        )
        linear = {"linear.weight": 0.3 * torch.randn(sizes[1], sizes[0], generator=generator)}
        if bias:
            linear["linear.bias"] = 0.3 * torch.randn(sizes[1], generator=generator)
        save_file(linear, folder / path / "model.safetensors", metadata={"format": "pt"})
    write_json(
        folder / "config_sentence_transformers.json",
        {
            "__version__": {"sentence_transformers": "3.0.0", "transformers": "4.41.0", "pytorch": "2.3.0"},
            "prompts": {"query": "find: ", "passage": ""},
            "default_prompt_name": "query",
            "similarity_fn_name": "cosine",
        },
    )


def write_bert_sharded(folder: Path) -> None:
    """A plain transformers folder: F16 in two shards beside a stray file, norms spelt gamma and beta, a cased vocab.txt,
    tanh-GELU, no modules.json."""
    sizes = dict(hidden_size=36, num_attention_heads=3, intermediate_size=70, num_hidden_layers=2, max_position_embeddings=50)
    model = random_bert(3, hidden_act="gelu_new", layer_norm_eps=1e-3, **sizes)
    write_config(folder, model)
    tensors = {old_spelling(name): tensor.half() for name, tensor in weights_of(model).items()}
    names = sorted(tensors)
    shards = [f"model-0000{part}-of-00002.safetensors" for part in (1, 2)]
    weight_map = {name: shards[index >= len(names) // 2] for index, name in enumerate(names)}
    for shard in shards:
        save_file(
            {name: tensors[name] for name in names if weight_map[name] == shard}, folder / shard, metadata={"format": "pt"}
        )
    total = sum(tensor.nbytes for tensor in tensors.values())
    write_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})
    save_file(
        {name: tensor.half() for name, tensor in weights_of(random_bert(33, **sizes)).items()}, folder / "model.safetensors"
    )
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n")
    write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "model_max_length": int(1e30)},
    )


def write_bert_long(folder: Path) -> None:
    """Texts of up to 700 tokens: attention over long, odd lengths."""
    model = random_bert(
        4,
        hidden_size=32,
        num_attention_heads=2,
        intermediate_size=60,
        num_hidden_layers=2,
        max_position_embeddings=700,
        type_vocab_size=1,
    )
    write_config(folder, model)
    save_file(weights_of(model), folder / "model.safetensors", metadata={"format": "pt"})
    build_tokenizer(lowercase=True).save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 700, "do_lower_case": False})
    write_json(folder / "modules.json", [module(0, "", old_type("Transformer")), module(1, "1_Pooling", old_type("Pooling"))])
    write_json(folder / "1_Pooling/config.json", {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})


class Reference:
    """sentence-transformers on one folder, in fp32 with eager attention, one text at a time so that nothing is padded."""

    def __init__(self, folder: Path):
        kwargs = {"dtype": torch.float32, "attn_implementation": "eager"}
        self.model = SentenceTransformer(str(folder), device="cpu", model_kwargs=kwargs, local_files_only=True)
        self.default_length = self.model.max_seq_length

    def ids(self, texts: list[str], run: dict) -> list[list[int]]:
        return [
            self.model.tokenizer(run["prompt"] + text, truncation=True, max_length=run["max_length"])["input_ids"]
            for text in texts
        ]

    def prompt_tokens(self, prompt: str) -> int:
        """Tokens that include_prompt=False leaves out: the prompt with its special tokens, less the closing one."""
        return len(self.model.tokenizer(prompt)["input_ids"]) - 1

    def encode(self, texts: list[str], run: dict) -> np.ndarray:
        model = self.pipeline(run)
        model.max_seq_length = run["max_length"]
        vectors = [
            model.encode(
                text,
                prompt=run["prompt"],
                truncate_dim=run["dimensions"],
                show_progress_bar=False,
                normalize_embeddings=run["normalize"] is True,
            )
            for text in texts
        ]
        return np.stack(vectors)

    def pipeline(self, run: dict) -> SentenceTransformer:
        if run["pooling"] is None:
            return self.model
        pooling = Pooling(self.model[0].get_embedding_dimension(), run["pooling"], include_prompt=run["include_prompt"])
        return SentenceTransformer(modules=[self.model[0], pooling], device="cpu")

    def noise(self, texts: list[str], run: dict) -> float:
        """Largest difference between fp32 and float64: what any other order of additions may cost."""
        single = self.encode(texts, run)
        self.model.double()
        double = self.encode(texts, run)
        self.model.float()
        return float(np.abs(single - double).max())


def new_run(name: str, texts: list[int], max_length: int, **options) -> dict:
    run = {
        "name": name,
        "texts": texts,
        "max_length": max_length,
        "prompt": "",
        "prompt_tokens": 0,
        "include_prompt": True,
        "pooling": None,
        "normalize": None,
        "dimensions": None,
    }
    return run | options


def runs_of(name: str, max_length: int, count: int) -> list[dict]:
    every = list(range(count))
    default = new_run("default", every, max_length)
    if name == "bert-cls-dense":
        return [default | {"prompt": "find: "}, new_run("no-prompt", every, max_length)]
    if name != "bert-tiny":
        return [default]
    few = [0, 3, 8, count - 1]
    some = [*every[::3], count - 2, count - 1]
    prompted = {"prompt": "query: the ", "normalize": False}
    runs = [
        default,
        new_run("all-positions", [5, count - 2, count - 1], 80),
        new_run("dimensions", few, max_length, dimensions=16, normalize=True),
    ]
    for mode in MODES:
        runs.append(new_run(f"pooling-{mode}", some, max_length, pooling=[mode], normalize=False))
        runs.append(new_run(f"prompt-{mode}", few, max_length, pooling=[mode], **prompted))
        runs.append(new_run(f"prompt-left-out-{mode}", few, max_length, pooling=[mode], include_prompt=False, **prompted))
    for pair in [*itertools.combinations(MODES, 2), ("lasttoken", "cls"), ("mean", "max")]:
        runs.append(new_run("pooling-" + "-".join(pair), few, max_length, pooling=list(pair), normalize=True))
    return runs


def check_ids(folder: Path, texts: list[str], run: dict, ids: list[list[int]]) -> None:
    """The same ids from the tokenizers library alone: transformers rebuilds a tokenizer from parts when it loads one."""
    if (folder / "tokenizer.json").exists():
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
    else:
        tokenizer = build_tokenizer(lowercase=False)
    tokenizer.enable_truncation(run["max_length"])
    for text, found in zip(texts, ids):
        assert tokenizer.encode(run["prompt"] + text).ids == found, (folder.name, text)


def tensor_sums(folder: Path) -> dict:
    """Type, shape and sum of every tensor: tells whether another reader of the files sees the same numbers."""
    sums = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, "pt") as tensors:
            for tensor_name in tensors.keys():
                tensor = tensors.get_tensor(tensor_name)
                sums[tensor_name] = [str(tensor.dtype).removeprefix("torch."), list(tensor.shape), float(tensor.double().sum())]
    return sums


def write_golden_json(path: Path, all_texts: list[str], runs: list[dict], sums: dict) -> None:
    """A line a text, run and tensor, so that changes can be read. Ids that the first run holds already are left out."""
    first = runs[0]
    for run in runs[1:]:
        if run["prompt"] == first["prompt"] and run["max_length"] == first["max_length"]:
            run["ids"] = None

    def lines(items, brackets):
        return brackets[0] + "\n" + ",\n".join("    " + item for item in items) + "\n  " + brackets[1]

    parts = {
        "texts": lines(map(json.dumps, all_texts), "[]"),
        "runs": lines(map(json.dumps, runs), "[]"),
        "tensors": lines((f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(sums.items())), "{}"),
    }
    path.write_text("{\n" + ",\n".join(f'  "{key}": {value}' for key, value in parts.items()) + "\n}\n")


def write_golden(name: str, folder: Path, loaded: Path) -> None:
    """`loaded` is what the reference loads: `folder`, or its copy without the files that it would wrongly prefer."""
    reference = Reference(loaded)
    all_texts = texts(reference.default_length)
    runs = runs_of(name, reference.default_length, len(all_texts))
    vectors = []
    offset = 0
    for run in runs:
        chosen = [all_texts[index] for index in run["texts"]]
        run["ids"] = reference.ids(chosen, run)
        check_ids(folder, chosen, run, run["ids"])
        run["prompt_tokens"] = reference.prompt_tokens(run["prompt"]) if run["prompt"] else 0
        matrix = reference.encode(chosen, run)
        run |= {"offset": offset, "rows": matrix.shape[0], "columns": matrix.shape[1], "noise": reference.noise(chosen, run)}
        run["scale"] = max(1.0, float(np.abs(matrix).max()))
        assert np.isfinite(matrix).all() and run["noise"] <= MAX_NOISE * run["scale"], (name, run)
        offset += matrix.size
        vectors.append(matrix.astype(np.float32).ravel())
    np.save(folder.parent / "vectors.npy", np.concatenate(vectors))
    write_golden_json(folder.parent / "golden.json", all_texts, runs, tensor_sums(loaded))
    worst = max(run["noise"] for run in runs)
    print(f"{name}: {len(runs)} runs, {offset} numbers, fp32 differs from float64 by at most {worst:.1e}")


WRITERS = {
    "bert-tiny": write_bert_tiny,
    "bert-cls-dense": write_bert_cls_dense,
    "bert-sharded": write_bert_sharded,
    "bert-long": write_bert_long,
}
HEADS = [f"heads-{family}" for family in [*golden_heads.FAMILIES, *golden_heads.OTHERS, "colbert", "judge", "bge"]]


def make(name: str, out: Path) -> None:
    folder = out / name / "model"
    shutil.rmtree(out / name, ignore_errors=True)
    folder.mkdir(parents=True)
    if name in HEADS:
        golden_heads.make(name.removeprefix("heads-"), folder, vocabulary())
        return
    if name in golden_late.MAKERS:
        golden_late.MAKERS[name](folder, vocabulary())
        return
    WRITERS[name](folder)
    with tempfile.TemporaryDirectory() as scratch:
        loaded = folder
        if (folder / "model.safetensors.index.json").exists():
            loaded = Path(scratch) / "model"
            shutil.copytree(folder, loaded)
            (loaded / "model.safetensors").unlink(missing_ok=True)
        write_golden(name, folder, loaded)


def main() -> None:
    names = [*WRITERS, *HEADS, *golden_late.MAKERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "tests/golden")
    parser.add_argument("--only", choices=sorted(names), help="one folder instead of all")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in [arguments.only] if arguments.only else names:
        make(name, arguments.out)
    libraries = ("torch", "transformers", "tokenizers", "sentence-transformers", "safetensors", "numpy")
    write_json(arguments.out / "versions.json", {library: importlib.metadata.version(library) for library in libraries})


if __name__ == "__main__":
    main()
