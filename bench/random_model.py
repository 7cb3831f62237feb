"""Seeded random BERT folders of any size, made without a deep-learning library."""
import json
import shutil

import numpy as np
import safetensors.numpy

TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def bert_config(hidden, layers, vocabulary, positions):
    """Heads of 64 numbers and a feed-forward layer four times as wide, as BERT has them (heads of 32 for a width of 384)."""
    heads = hidden // (32 if hidden <= 384 else 64)
    return {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "intermediate_size": 4 * hidden, "hidden_act": "gelu", "vocab_size": vocabulary,
            "max_position_embeddings": positions, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
            "position_embedding_type": "absolute"}  # the converter of CTranslate2 asks for it


def weights(config, seed):
    """Weights as large as trained ones; norms near one."""
    random = np.random.default_rng(seed)
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    tensors = {}

    def matrix(name, rows, columns):
        tensors[name] = random.standard_normal((rows, columns), np.float32) * np.float32(0.05)

    def linear(name, rows, columns):
        matrix(name + ".weight", rows, columns)
        tensors[name + ".bias"] = random.standard_normal(rows, np.float32) * np.float32(0.05)

    def norm(name):
        tensors[name + ".weight"] = 1 + random.standard_normal(hidden, np.float32) * np.float32(0.1)
        tensors[name + ".bias"] = random.standard_normal(hidden, np.float32) * np.float32(0.05)

    for table, rows in (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size")):
        matrix(f"embeddings.{table}_embeddings.weight", config[rows], hidden)
    norm("embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        place = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{place}.attention.{part}", hidden, hidden)
        norm(f"{place}.attention.output.LayerNorm")
        linear(f"{place}.intermediate.dense", wide, hidden)
        linear(f"{place}.output.dense", hidden, wide)
        norm(f"{place}.output.LayerNorm")
    return tensors


def write_model(folder, config, seed):
    """config.json, model.safetensors, and modules for mean pooling and normalising; the tokenizer is the caller's."""
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file(weights(config, seed), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": config["hidden_size"], "pooling_mode_mean_tokens": True}))
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    modules = [{"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"} for index, (path, kind) in enumerate(kinds)]
    (folder / "modules.json").write_text(json.dumps(modules, indent=1))
    (folder / "2_Normalize").mkdir(exist_ok=True)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": config["max_position_embeddings"], "do_lower_case": False}))


def copy_tokenizer(source, folder):
    """The tokenizer of the folder `source`; gives the size of its vocabulary."""
    for name in TOKENIZER_FILES:
        if (source / name).is_file():
            shutil.copy(source / name, folder)
    return json.loads((source / "config.json").read_text())["vocab_size"]


def write_vocabulary(folder, words):
    """A WordPiece vocabulary of these words; gives its size."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}))
    return len(pieces)
