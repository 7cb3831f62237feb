"""Golden models of late interaction whose queries are filled up with mask tokens: ColBERT's own form of a folder, and the form
that sentence-transformers saves.

Used by make_golden.py, which has the command line. heads.json is described in tests/golden/README.md.
"""

import json
import shutil
import tempfile
from pathlib import Path

import torch
import transformers
from golden_heads import TEXTS, randomise, vocabulary, write_items, write_tokenizer
from safetensors.torch import save_file
from sentence_transformers import MultiVectorEncoder

MARKERS = ["[unused0]", "[unused1]"]
LIMIT = 44
COLUMNS = 11
QUERIES = [
    "which river has a bank", "", "hello, world! (a boat.)", "two [MASK] and [unused0] or [PAD]", "a bank , " * 12,
    "the boat and the cat sat on the mat by it",
]


def write_stanford(folder: Path, plain: list[str]) -> None:
    tokens = vocabulary(plain, False) + MARKERS
    config = transformers.BertConfig(
        vocab_size=len(tokens), hidden_size=20, num_attention_heads=4, intermediate_size=36, num_hidden_layers=3,
        max_position_embeddings=LIMIT, architectures=["HF_ColBERT"],
    )
    bert = randomise(transformers.BertModel(config, add_pooling_layer=False), 21)
    tensors = {f"bert.{name}": tensor.clone() for name, tensor in bert.state_dict().items() if tensor.dtype == torch.float32}
    tensors["linear.weight"] = 0.3 * torch.randn(COLUMNS, 20, generator=torch.Generator().manual_seed(22))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    value = {key: item for key, item in config.to_dict().items() if key not in ("_name_or_path", "dtype", "torch_dtype")}
    (folder / "config.json").write_text(json.dumps(value | {"architectures": ["HF_ColBERT"]}, indent=2) + "\n")
    write_tokenizer(folder, "bert", tokens)


def write_metadata(folder: Path, attends: bool) -> None:
    settings = {
        "query_token_id": MARKERS[0], "doc_token_id": MARKERS[1], "query_token": "[Q]", "doc_token": "[D]", "query_maxlen": 19,
        "doc_maxlen": 33, "mask_punctuation": True, "attend_to_mask_tokens": attends, "dim": COLUMNS, "similarity": "cosine",
    }
    (folder / "artifact.metadata").write_text(json.dumps(settings, indent=2) + "\n")


def load(folder: Path) -> MultiVectorEncoder:
    return MultiVectorEncoder(
        str(folder), device="cpu", local_files_only=True,
        model_kwargs={"dtype": torch.float32, "attn_implementation": "eager"},
    )


def encode(encoder: MultiVectorEncoder, text: str, is_query: bool) -> torch.Tensor:
    return (encoder.encode_query if is_query else encoder.encode_document)([text])[0]


def items_of(encoder: MultiVectorEncoder, attending: MultiVectorEncoder | None) -> list[dict]:
    first = encode(encoder, QUERIES[0], True)
    items = []
    for text in QUERIES + [text for text in TEXTS if text]:
        document = encode(encoder, text, False)
        item = {"first": text, "document": document.tolist(), "score": float(encoder.similarity([first], [document])[0, 0])}
        if text in QUERIES:
            item["query"] = encode(encoder, text, True).tolist()
            if attending is not None:
                item["query_attended"] = encode(attending, text, True).tolist()
        items.append(item)
    return items


def make_stanford(folder: Path, plain: list[str]) -> None:
    write_stanford(folder, plain)
    with tempfile.TemporaryDirectory() as scratch:
        attending = Path(scratch) / "model"
        shutil.copytree(folder, attending)
        write_metadata(attending, True)
        write_metadata(folder, False)
        write_items(folder.parent / "heads.json", LIMIT, items_of(load(folder), load(attending)))


def make_filled(folder: Path, plain: list[str]) -> None:
    """The same model as sentence-transformers saves it, with settings that ColBERT's own form does not have."""
    with tempfile.TemporaryDirectory() as scratch:
        write_stanford(Path(scratch), plain)
        write_metadata(Path(scratch), False)
        encoder = load(Path(scratch))
        encoder[0].query_expansion = {"strategy": "min", "attend": False, "length": 13, "token": "[UNK]"}
        encoder[0].query_length = 17
        encoder[2].skiplist_tasks = ["query", "document"]
        encoder.similarity_fn_name = "meanmaxsim"
        encoder.save(str(folder), create_model_card=False)
    write_items(folder.parent / "heads.json", LIMIT, items_of(load(folder), None))


MAKERS = {"heads-stanford": make_stanford, "heads-filled": make_filled}
