#!/usr/bin/env python3
"""Writes tests/data/weights/gguf-models: small random models twice, as a checkpoint of Hugging Face and as the GGUF file that
llama.cpp's converter makes of it, tokenizer included.

    python tools/make_gguf_models.py     # needs: pip install gguf numpy safetensors protobuf sentencepiece

The tokenizers are those of tests/data/tokenizers; tests/cli/test_gguf.py puts them beside the checkpoints.
"""

import json
import shutil
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import save_file
from sentencepiece import sentencepiece_model_pb2 as proto

OUT = Path("tests/data/weights/gguf-models")
TOKENIZERS = Path("tests/data/tokenizers")
NORMAL, UNKNOWN, CONTROL = 1, 2, 3

BERT = {
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
}  # fmt: skip
BERT_LAYER = {
    "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
}  # fmt: skip
DECODER = {"embed_tokens": "token_embd", "norm": "output_norm"}
DECODER_LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
QWEN_LAYER = DECODER_LAYER | {"post_attention_layernorm": "ffn_norm"}
GEMMA_LAYER = DECODER_LAYER | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip
BERT_TYPES = {"xlm-roberta": "XLMRobertaModel", "roberta": "RobertaModel"}


class Model:
    def __init__(self, name: str, architecture: str, config: dict, seed: int):
        self.folder = OUT / name
        self.config = config
        self.random = np.random.default_rng(seed)
        self.tensors: dict[str, np.ndarray] = {}
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.writer = gguf.GGUFWriter(self.folder / "model.gguf", architecture)

    def add(self, name: str, *shape: int, scale: float = 0.5, middle: float = 0.0) -> None:
        values = middle + scale * self.random.standard_normal(shape)
        self.tensors[name] = values.astype(np.float16 if len(shape) == 2 else np.float32)

    def linear(self, name: str, outputs: int, inputs: int, bias: bool) -> None:
        self.add(f"{name}.weight", outputs, inputs, scale=1.5 / inputs**0.5)
        if bias:
            self.add(f"{name}.bias", outputs)

    def write(self, names: dict, layer_names: dict, layer_prefix: str, change=lambda name, values: values) -> None:
        (self.folder / "config.json").write_text(json.dumps(self.config, indent=2) + "\n")
        save_file(self.tensors, self.folder / "model.safetensors", metadata={"format": "pt"})
        for name, values in self.tensors.items():
            stem, ending = name.rsplit(".", 1)
            if stem.startswith(layer_prefix):
                layer, part = stem.removeprefix(layer_prefix).split(".", 1)
                stem = f"blk.{layer}.{layer_names[part]}"
            else:
                stem = names[stem]
            self.writer.add_tensor(f"{stem}.{ending}", np.ascontiguousarray(change(name, values)))
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def put_sizes(writer: gguf.GGUFWriter, config: dict, context: int) -> None:
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(context)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])


def put_special(writer: gguf.GGUFWriter, **ids: int) -> None:
    for name, token in ids.items():
        getattr(writer, f"add_{name}_token_id")(token)


def bert(name: str, model_type: str, vocabulary: int, seed: int) -> Model:
    positions, hidden, inner = 66, 24, 40
    config = {
        "model_type": model_type, "architectures": [BERT_TYPES[model_type]], "hidden_act": "gelu", "vocab_size": vocabulary,
        "hidden_size": hidden, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": inner,
        "max_position_embeddings": positions, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1,
    }  # fmt: skip
    model = Model(name, "bert", config, seed)
    put_sizes(model.writer, config, positions - 2)
    model.writer.add_layer_norm_eps(1e-5)
    model.writer.add_causal_attention(False)
    model.writer.add_pooling_type(gguf.PoolingType.MEAN)
    model.add("embeddings.word_embeddings.weight", vocabulary, hidden)
    model.add("embeddings.position_embeddings.weight", positions, hidden)
    model.add("embeddings.token_type_embeddings.weight", 1, hidden)
    model.add("embeddings.LayerNorm.weight", hidden, middle=1)
    model.add("embeddings.LayerNorm.bias", hidden)
    for layer in range(2):
        prefix = f"encoder.layer.{layer}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            model.linear(prefix + part, hidden, hidden, True)
        model.linear(prefix + "intermediate.dense", inner, hidden, True)
        model.linear(prefix + "output.dense", hidden, inner, True)
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            model.add(f"{prefix}{norm}.weight", hidden, middle=1)
            model.add(f"{prefix}{norm}.bias", hidden)
    return model


def without_pad_rows(name: str, values: np.ndarray) -> np.ndarray:
    return values[2:] if name == "embeddings.position_embeddings.weight" else values


def make_xlm_roberta() -> None:
    source = proto.ModelProto.FromString((TOKENIZERS / "xlmr-files/sentencepiece.bpe.model").read_bytes())
    pieces = [("<s>", 0.0, CONTROL), ("<pad>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN)]
    pieces += [(p.piece, p.score, p.type) for p in source.pieces[3:]] + [("<mask>", 0.0, CONTROL)]
    model = bert("xlm-roberta", "xlm-roberta", len(pieces), 1)
    writer = model.writer
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([piece for piece, _, _ in pieces])
    writer.add_token_scores([score for _, score, _ in pieces])
    writer.add_token_types([kind for _, _, kind in pieces])
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(source.normalizer_spec.precompiled_charsmap)
    put_special(writer, bos=0, pad=1, eos=2, sep=2, unk=3, mask=len(pieces) - 1)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    model.write(BERT, BERT_LAYER, "encoder.layer.", without_pad_rows)


def put_byte_tokens(writer: gguf.GGUFWriter, folder: Path, pre: str, special: set[str]) -> list[str]:
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    tokens = sorted(vocabulary, key=vocabulary.get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL if token in special else NORMAL for token in tokens])
    writer.add_token_merges((folder / "merges.txt").read_text(encoding="utf-8").splitlines()[1:])
    return tokens


def make_roberta() -> None:
    folder = TOKENIZERS / "roberta-files"
    model = bert("roberta", "roberta", len(json.loads((folder / "vocab.json").read_text(encoding="utf-8"))), 2)
    tokens = put_byte_tokens(model.writer, folder, "roberta-bpe", {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    put_special(model.writer, bos=0, pad=1, eos=2, sep=2, unk=3, mask=tokens.index("<mask>"))
    model.write(BERT, BERT_LAYER, "encoder.layer.", without_pad_rows)


def add_decoder_layers(model: Model, norms: tuple[str, ...], middle: float) -> None:
    config = model.config
    hidden, inner, size = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    model.add("embed_tokens.weight", config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        prefix = f"layers.{layer}."
        model.linear(prefix + "self_attn.q_proj", config["num_attention_heads"] * size, hidden, False)
        for part in ("k_proj", "v_proj"):
            model.linear(f"{prefix}self_attn.{part}", config["num_key_value_heads"] * size, hidden, False)
        model.linear(prefix + "self_attn.o_proj", hidden, config["num_attention_heads"] * size, False)
        for part, outputs, inputs in (("gate_proj", inner, hidden), ("up_proj", inner, hidden), ("down_proj", hidden, inner)):
            model.linear(f"{prefix}mlp.{part}", outputs, inputs, False)
        for norm in norms:
            model.add(f"{prefix}{norm}.weight", hidden, middle=middle, scale=0.3)
        for norm in ("self_attn.q_norm", "self_attn.k_norm"):
            model.add(f"{prefix}{norm}.weight", size, middle=middle, scale=0.3)
    model.add("norm.weight", hidden, middle=middle, scale=0.3)


def make_qwen3() -> None:
    folder = TOKENIZERS / "files/qwen"
    config = {
        "model_type": "qwen3", "architectures": ["Qwen3Model"], "hidden_act": "silu",
        "vocab_size": len(json.loads((folder / "vocab.json").read_text(encoding="utf-8"))), "hidden_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 14, "intermediate_size": 36,
        "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "tie_word_embeddings": True,
    }  # fmt: skip
    model = Model("qwen3", "qwen3", config, 3)
    writer = model.writer
    put_sizes(writer, config, 128)
    writer.add_head_count_kv(1)
    writer.add_key_length(14)
    writer.add_value_length(14)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1000000.0)
    writer.add_pooling_type(gguf.PoolingType.LAST)
    tokens = put_byte_tokens(writer, folder, "qwen2", {"<|endoftext|>", "<|im_start|>", "<|im_end|>"})
    put_special(writer, eos=tokens.index("<|endoftext|>"), pad=tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(True)
    add_decoder_layers(model, ("input_layernorm", "post_attention_layernorm"), 1.0)
    model.write(DECODER, QWEN_LAYER, "layers.")


def make_gemma() -> None:
    source = proto.ModelProto.FromString((TOKENIZERS / "files/gemma/tokenizer.model").read_bytes())
    config = {
        "model_type": "gemma3_text", "architectures": ["Gemma3TextModel"], "hidden_activation": "gelu_pytorch_tanh",
        "vocab_size": len(source.pieces), "hidden_size": 24, "num_hidden_layers": 7, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 12, "query_pre_attn_scalar": 12, "intermediate_size": 28,
        "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
        "sliding_window": 12, "sliding_window_pattern": 6, "use_bidirectional_attention": True,
    }  # fmt: skip
    model = Model("gemma", "gemma-embedding", config, 4)
    writer = model.writer
    put_sizes(writer, config, 128)
    writer.add_head_count_kv(1)
    writer.add_key_length(12)
    writer.add_value_length(12)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1000000.0)
    writer.add_sliding_window(12)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([p.piece for p in source.pieces])
    writer.add_token_scores([p.score for p in source.pieces])
    writer.add_token_types([p.type for p in source.pieces])
    put_special(writer, pad=0, eos=1, bos=2, unk=3, mask=4)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_space_prefix(False)
    norms = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
    add_decoder_layers(model, norms, 0.0)
    # Norms are stored whole.
    model.write(DECODER, GEMMA_LAYER, "layers.", lambda name, values: values + np.float32(1) if "norm" in name else values)


def main() -> None:
    make_xlm_roberta()
    make_roberta()
    make_qwen3()
    make_gemma()


if __name__ == "__main__":
    main()
