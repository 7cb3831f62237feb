"""Golden folders of ModernBERT and of language models that embed."""

from pathlib import Path

import transformers
from golden_folder import VOCABULARY, Golden, config_of, eager, fresh_rope, plain, randomise, tensors_of, write_simple


def write_modernbert(folder: Path) -> None:
    """Local layers of 16 tokens, both thetas; CLS. The config is spelt as on the hub."""
    config = transformers.ModernBertConfig(
        vocab_size=VOCABULARY, hidden_size=40, intermediate_size=52, num_hidden_layers=4, num_attention_heads=4,
        max_position_embeddings=120, local_attention=16, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2,
        sep_token_id=3,
    )  # fmt: skip
    model = randomise(eager(transformers.ModernBertModel, config), 101)
    golden = Golden(folder, "cls", 100)
    written = config_of(model, global_rope_theta=160000.0, local_rope_theta=10000.0, global_attn_every_n_layers=3)
    for key in ("rope_parameters", "layer_types"):
        written.pop(key)
    golden.write_model(written, tensors_of(model))
    golden.write(plain(model), model)


def decoder_sizes(**changes) -> dict:
    sizes = dict(
        vocab_size=VOCABULARY, hidden_size=40, intermediate_size=68, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, pad_token_id=0, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    return sizes | changes


def write_qwen3(folder: Path) -> None:
    """Heads of 14 that do not follow from the hidden size, norms of heads, last token."""
    model = randomise(eager(transformers.Qwen3Model, transformers.Qwen3Config(**decoder_sizes(head_dim=14))), 102)
    write_simple(folder, model, "lasttoken", 100)


def write_qwen2(folder: Path) -> None:
    """Biases of q, k and v; dynamic scaling of positions beyond 64; layers from 1 on see 24 tokens."""
    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
    config = transformers.Qwen2Config(
        **decoder_sizes(max_position_embeddings=64), rope_parameters=rope, use_sliding_window=True, sliding_window=24,
        max_window_layers=1,
    )  # fmt: skip
    model = randomise(eager(transformers.Qwen2Model, config), 103)
    golden = Golden(folder, "lasttoken", 100)
    golden.write_model(config_of(model), tensors_of(model))
    golden.write(fresh_rope(model), model)


def write_llama(folder: Path) -> None:
    """llama3 scaling, attention and feed-forward biases."""
    rope = {
        "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }  # fmt: skip
    config = transformers.LlamaConfig(**decoder_sizes(), rope_parameters=rope, attention_bias=True, mlp_bias=True)
    write_simple(folder, randomise(eager(transformers.LlamaModel, config), 104), "mean", 100)


def write_llama_bidirectional(folder: Path) -> None:
    """Both directions, yarn scaling."""
    rope = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "original_max_position_embeddings": 32}
    config = transformers.LlamaConfig(**decoder_sizes(), rope_parameters=rope, is_causal=False)
    write_simple(folder, randomise(eager(transformers.LlamaModel, config), 105), "mean", 100)


def write_mistral(folder: Path) -> None:
    """A window of 20 tokens in every layer, linear scaling in the older spelling."""
    rope = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}
    config = transformers.MistralConfig(**decoder_sizes(), rope_parameters=rope, sliding_window=20)
    model = randomise(eager(transformers.MistralModel, config), 106)
    golden = Golden(folder, "lasttoken", 100)
    written = config_of(model, rope_theta=10000.0, rope_scaling={"type": "linear", "factor": 2.5})
    written.pop("rope_parameters")
    golden.write_model(written, {f"model.{name}": tensor for name, tensor in tensors_of(model).items()})
    golden.write(plain(model), model)


def write_eurobert(folder: Path) -> None:
    model = randomise(eager(transformers.EuroBertModel, transformers.EuroBertConfig(**decoder_sizes())), 107)
    write_simple(folder, model, "mean", 100)


def write_gemma3(folder: Path) -> None:
    """EmbeddingGemma's shape: both directions, one key head, windows, scaled embeddings, norms of what blocks add."""
    config = transformers.Gemma3TextConfig(
        **decoder_sizes(num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=4), head_dim=20,
        query_pre_attn_scalar=20, sliding_window=18, sliding_window_pattern=3, use_bidirectional_attention=True,
    )  # fmt: skip
    model = randomise(eager(transformers.Gemma3TextModel, config), 108, norm_offset=0.0)
    write_simple(folder, model, "mean", 100)
