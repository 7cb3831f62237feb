"""Golden folders of encoders that are BERT with other positions, feed-forward blocks or attention."""

from pathlib import Path

import numpy as np
import torch
import transformers
from golden_folder import VOCABULARY, Golden, config_of, eager, fresh_rope, plain, randomise, tensors_of, write_simple


def write_mpnet(folder: Path) -> None:
    """Position ids after the padding id 1, which is [UNK] here: unknown words have the position of padding."""
    config = transformers.MPNetConfig(
        vocab_size=VOCABULARY, hidden_size=36, num_attention_heads=3, intermediate_size=76, num_hidden_layers=3,
        max_position_embeddings=182, layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    model = randomise(eager(transformers.MPNetModel, config), 111)
    tensors = {name: tensor for name, tensor in tensors_of(model).items() if not name.startswith("pooler")}
    golden = Golden(folder, "mean", 170)
    golden.write_model(config_of(model), tensors)
    golden.write(plain(model), model)


def t5_config(**changes):
    sizes = dict(
        vocab_size=VOCABULARY, d_model=36, d_kv=10, d_ff=74, num_layers=3, num_heads=4, pad_token_id=0, eos_token_id=3,
        decoder_start_token_id=0, n_positions=512,
    )  # fmt: skip
    return transformers.T5Config(**(sizes | changes))


def write_t5(folder: Path) -> None:
    """relu, as sentence-t5 and gtr have; heads of 10 that do not follow from the hidden size."""
    write_simple(folder, randomise(eager(transformers.T5EncoderModel, t5_config()), 112), "mean", 170)


def write_t5_gated(folder: Path) -> None:
    """gated-gelu of T5 v1.1, in a checkpoint that holds a decoder too."""
    config = t5_config(feed_forward_proj="gated-gelu")
    model = randomise(eager(transformers.T5EncoderModel, config), 113)
    tensors = tensors_of(model)
    name = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    tensors[f"decoder.{name}"] = torch.ones_like(tensors[f"encoder.{name}"])
    golden = Golden(folder, "mean", 100)
    golden.write_model(config_of(model) | {"architectures": ["T5ForConditionalGeneration"]}, tensors)
    golden.write(plain(model), model)


def bert_sizes(**changes) -> dict:
    sizes = dict(
        vocab_size=VOCABULARY, hidden_size=40, num_attention_heads=4, intermediate_size=76, num_hidden_layers=3,
        max_position_embeddings=128, pad_token_id=0, bos_token_id=2, eos_token_id=3, type_vocab_size=2,
    )  # fmt: skip
    return sizes | changes


def fused(tensors: dict[str, torch.Tensor], names: dict[str, str], joined: dict[str, list[str]]) -> dict[str, torch.Tensor]:
    """Tensors of transformers 5 under the names of the authors' code: `names` are replaced, and the parts of `joined` put
    together along the first dimension."""
    result = {}
    for name, tensor in tensors.items():
        if name.startswith("pooler"):
            continue
        for target, parts in joined.items():
            if parts[0] in name:
                tensor = torch.cat([tensors[name.replace(parts[0], part)] for part in parts])
                name = name.replace(parts[0], target)
                break
            if any(part in name for part in parts):
                name = None
                break
        if name is None:
            continue
        for found, wanted in names.items():
            name = name.replace(found, wanted)
        result[name] = tensor
    return result


QKV = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]


def write_nomic(folder: Path) -> None:
    """nomic-embed-text-v1.5 as on the hub: swiglu, dynamic scaling beyond 32 tokens."""
    rope = {"rope_type": "dynamic", "rope_theta": 1000.0, "factor": 2.0}
    config = transformers.NomicBertConfig(
        **bert_sizes(max_position_embeddings=32, intermediate_size=256, hidden_size=32, num_hidden_layers=2),
        rope_parameters=rope,
    )  # fmt: skip
    model = randomise(eager(transformers.NomicBertModel, config), 121)
    names = {
        "layers.": "encoder.layers.", "embeddings.LayerNorm": "emb_ln", "self_attn.o_proj": "attn.out_proj",
        "mlp.up_proj": "mlp.fc11", "mlp.gate_proj": "mlp.fc12", "mlp.down_proj": "mlp.fc2",
        "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2",
    }  # fmt: skip
    tensors = fused(tensors_of(model), names, {"attn.Wqkv": QKV})
    golden = Golden(folder, "mean", 100)
    golden.write_model(nomic_config(config, "swiglu", rotary_scaling_factor=2.0, max_trained_positions=32), tensors)
    golden.write(fresh_rope(model), model)


def nomic_config(config, activation: str, **changes) -> dict:
    return {
        "model_type": "nomic_bert", "architectures": ["NomicBertModel"], "vocab_size": config.vocab_size,
        "auto_map": {"AutoModel": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel"},
        "n_embd": config.hidden_size, "n_head": config.num_attention_heads, "n_layer": config.num_hidden_layers,
        "n_inner": config.intermediate_size, "n_positions": 128, "type_vocab_size": config.type_vocab_size,
        "layer_norm_epsilon": config.layer_norm_eps, "activation_function": activation, "qkv_proj_bias": False,
        "mlp_fc1_bias": False, "mlp_fc2_bias": False, "prenorm": False, "rotary_emb_fraction": 1.0,
        "rotary_emb_base": 1000, "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "causal": False,
        "use_rms_norm": False, "parallel_block": False, "pad_vocab_size_multiple": 1, "pad_token_id": 0,
    } | changes  # fmt: skip


class MoeBlock(torch.nn.Module):
    """nomic-embed-text-v2-moe's experts, from the formulas: probabilities of all experts, the best two used as they are."""

    def __init__(self, hidden: int, wide: int, experts: int, used: int):
        super().__init__()
        self.router = torch.nn.Linear(hidden, experts, bias=False)
        self.w1 = torch.nn.Parameter(torch.empty(experts * wide, hidden))
        self.w2 = torch.nn.Parameter(torch.empty(experts * wide, hidden))
        self.bias = torch.nn.Parameter(torch.empty(hidden))
        self.experts, self.used = experts, used

    def forward(self, x):
        weights, chosen = torch.topk(torch.softmax(self.router(x), -1), self.used, -1)
        w1, w2 = (w.view(self.experts, -1, w.shape[-1]) for w in (self.w1, self.w2))
        rows = []
        for row, row_weights, row_chosen in zip(x.reshape(-1, x.shape[-1]), weights.reshape(-1, self.used), chosen.reshape(-1, self.used)):
            parts = [p * (torch.nn.functional.gelu(row @ w1[e].T) @ w2[e]) for p, e in zip(row_weights, row_chosen)]
            rows.append(sum(parts) + self.bias)
        return torch.stack(rows).reshape(x.shape)


class DenseBlock(torch.nn.Module):
    def __init__(self, hidden: int, wide: int):
        super().__init__()
        self.fc1 = torch.nn.Linear(hidden, wide)
        self.fc2 = torch.nn.Linear(wide, hidden)

    def forward(self, x):
        return self.fc2(torch.nn.functional.gelu(self.fc1(x)))


def write_nomic_moe(folder: Path) -> None:
    """nomic-embed-text-v2-moe: biases, gelu, every second layer of 5 experts of which 2 are used."""
    config = transformers.NomicBertConfig(**bert_sizes(type_vocab_size=1, num_hidden_layers=4), layer_norm_eps=1e-5)
    model = eager(transformers.NomicBertModel, config)
    hidden = config.hidden_size
    for index, layer in enumerate(model.layers):
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(layer.self_attn, name, torch.nn.Linear(hidden, hidden, bias=True))
        layer.mlp = MoeBlock(hidden, 76, 5, 2) if index % 2 == 1 else DenseBlock(hidden, 76)
    randomise(model, 122)
    names = {
        "mlp.router.": "mlp.router.layer.", "mlp.w1": "mlp.experts.mlp.w1", "mlp.w2": "mlp.experts.mlp.w2",
        "mlp.bias": "mlp.experts.bias", "layers.": "encoder.layers.", "embeddings.LayerNorm": "emb_ln",
        "self_attn.o_proj": "attn.out_proj", "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2",
    }  # fmt: skip
    tensors = fused(tensors_of(model), names, {"attn.Wqkv": QKV})
    golden = Golden(folder, "mean", 100)
    written = nomic_config(
        config, "gelu", qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, num_experts=5, moe_top_k=2,
        moe_every_n_layers=2, moe_normalize_expert_weights=False,
    )  # fmt: skip
    golden.write_model(written, tensors)
    golden.write(plain(model), model)


def write_gte(folder: Path) -> None:
    """gte-multilingual-base as on the hub: ntk scaling at every length, prefix `new.`, up before gate."""
    config = transformers.GteConfig(**bert_sizes(type_vocab_size=1))
    model = randomise(eager(transformers.GteModel, config), 123)
    rotary = config.hidden_size // config.num_attention_heads
    exponents = torch.arange(0, rotary, 2, dtype=torch.float32) / rotary
    model.rotary_emb.inv_freq = 1.0 / (20000.0 * 8.0) ** exponents / 8.0 ** (2 / rotary)
    names = {
        "layers.": "encoder.layer.", "self_attn.o_proj": "attention.o_proj", "post_attention_layernorm": "attn_ln",
        "post_mlp_layernorm": "mlp_ln",
    }  # fmt: skip
    joined = {"attention.qkv_proj": QKV, "mlp.up_gate_proj": ["mlp.up_proj", "mlp.gate_proj"]}
    tensors = {f"new.{name}": tensor for name, tensor in fused(tensors_of(model), names, joined).items()}
    written = bert_sizes(type_vocab_size=1) | {
        "model_type": "new", "architectures": ["NewModel"], "hidden_act": "gelu", "layer_norm_type": "layer_norm",
        "layer_norm_eps": 1e-12, "position_embedding_type": "rope", "rope_theta": 20000,
        "rope_scaling": {"type": "ntk", "factor": 8.0}, "pack_qkv": True, "logn_attention_scale": False,
    }  # fmt: skip
    golden = Golden(folder, "cls", 100)
    golden.write_model(written, tensors)
    golden.write(plain(model), model)


def write_gte_plain(folder: Path) -> None:
    """The port of transformers 5: its own names, no token types."""
    config = transformers.GteConfig(**bert_sizes(type_vocab_size=0))
    write_simple(folder, randomise(eager(transformers.GteModel, config, add_pooling_layer=False), 134), "cls", 100)


def jina_v3_config(**changes) -> dict:
    return bert_sizes(type_vocab_size=1, max_position_embeddings=130) | {
        "model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "hidden_act": "gelu", "layer_norm_eps": 1e-5,
        "auto_map": {"AutoModel": "jinaai/xlm-roberta-flash-implementation--modeling_lora.XLMRobertaLoRA"},
        "position_embedding_type": "rotary", "rotary_emb_base": 20000.0, "lora_rank": 4, "lora_alpha": 1,
        "lora_adaptations": ["retrieval.query", "retrieval.passage", "separation", "classification", "text-matching"],
    } | changes  # fmt: skip


def write_jina_v3_folder(folder: Path, task: int | None) -> None:
    """As on the hub: parametrised weights beside low-rank additions for each task."""
    config = transformers.JinaEmbeddingsV3Config(**bert_sizes(type_vocab_size=1, max_position_embeddings=130))
    model = randomise(eager(transformers.JinaEmbeddingsV3Model, config, add_pooling_layer=False), 125)
    names = {
        "layers.": "encoder.layers.", "embeddings.LayerNorm": "emb_ln", "self_attn.o_proj": "mixer.out_proj",
        "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2",
    }  # fmt: skip
    tensors, merged = {}, {}
    generator = torch.Generator().manual_seed(126)
    for name, tensor in fused(tensors_of(model), names, {"mixer.Wqkv": QKV}).items():
        if tensor.dim() == 1:
            tensors[f"roberta.{name}"] = tensor
            continue
        stem = f"roberta.{name.removesuffix('weight')}parametrizations.weight"
        tensors[f"{stem}.original"] = tensor
        is_table = "embeddings" in name
        shapes = [(5, tensor.shape[0], 4), (5, 4, tensor.shape[1])] if is_table else [(5, 4, tensor.shape[1]), (5, tensor.shape[0], 4)]
        a, b = (torch.randn(shape, generator=generator).bfloat16().float() for shape in shapes)
        tensors[f"{stem}.0.lora_A"], tensors[f"{stem}.0.lora_B"] = a, b
        if task is not None:
            merged[name] = tensor + 0.25 * (a[task] @ b[task] if is_table else b[task] @ a[task])
    if task is not None:
        with torch.no_grad():
            put_back(model, merged)
    golden = Golden(folder, "mean", 100)
    written = jina_v3_config()
    golden.write_model(written, tensors)
    golden.write(plain(model), model, **({} if task is None else {"task": written["lora_adaptations"][task]}))


def put_back(model, merged: dict[str, torch.Tensor]) -> None:
    """Merged weights, named as on the hub, into the model of transformers."""
    for name, tensor in merged.items():
        parts = dict(model.named_parameters())
        if "mixer.Wqkv" in name:
            for chunk, part in zip(tensor.chunk(3), QKV):
                parts[name.replace("mixer.Wqkv", part).removeprefix("encoder.")].copy_(chunk)
        else:
            parts[name.replace("mixer.out_proj", "self_attn.o_proj").removeprefix("encoder.")].copy_(tensor)


def write_jina_v3(folder: Path) -> None:
    """Without a task the additions are not used."""
    write_jina_v3_folder(folder, None)


def write_jina_v3_task(folder: Path) -> None:
    """The run names a task, whose additions go to all weights, embeddings among them."""
    write_jina_v3_folder(folder, 1)


class AlibiAttention(torch.nn.Module):
    def __init__(self, hidden: int, heads: int, is_for_code: bool):
        super().__init__()
        norm = (lambda: torch.nn.LayerNorm(hidden, eps=1e-12)) if is_for_code else torch.nn.Identity
        self.layer_norm_q, self.layer_norm_k = norm(), norm()
        self.query, self.key, self.value = (torch.nn.Linear(hidden, hidden) for _ in range(3))
        self.heads = heads

    def slopes(self) -> list[float]:
        def of_power(count):
            return [2 ** (-8 * (i + 1) / count) for i in range(count)]

        power = 2 ** int(np.log2(self.heads))
        return of_power(power) + of_power(2 * power)[0::2][: self.heads - power]

    def forward(self, x):
        length, hidden = x.shape
        parts = self.layer_norm_q(self.query(x)), self.layer_norm_k(self.key(x)), self.value(x)
        q, k, v = (part.view(length, self.heads, -1).transpose(0, 1) for part in parts)
        distance = (torch.arange(length)[:, None] - torch.arange(length)[None, :]).abs()
        scores = q @ k.transpose(1, 2) / (hidden // self.heads) ** 0.5
        scores = scores - torch.tensor(self.slopes(), dtype=x.dtype)[:, None, None] * distance
        return (torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(length, hidden)


class JinaBert(torch.nn.Module):
    """jina-embeddings-v2 from the formulas; module names give those of the hub's tensors."""

    def __init__(self, hidden: int, heads: int, wide: int, layers: int, is_for_code: bool = False):
        super().__init__()
        self.is_for_code = is_for_code
        module, norm = torch.nn.Module, torch.nn.LayerNorm
        self.embeddings = module()
        self.embeddings.word_embeddings = torch.nn.Embedding(VOCABULARY, hidden)
        self.embeddings.token_type_embeddings = torch.nn.Embedding(2, hidden)
        self.embeddings.LayerNorm = norm(hidden, eps=1e-12)
        self.encoder = module()
        self.encoder.layer = torch.nn.ModuleList()
        for _ in range(layers):
            layer = module()
            layer.attention = module()
            layer.attention.self = AlibiAttention(hidden, heads, is_for_code)
            layer.attention.output = module()
            layer.attention.output.dense = torch.nn.Linear(hidden, hidden)
            layer.attention.output.LayerNorm = norm(hidden, eps=1e-12)
            layer.mlp = module()
            up, down = ("up_gated_layer", "down_layer") if is_for_code else ("gated_layers", "wo")
            setattr(layer.mlp, up, torch.nn.Linear(hidden, 2 * wide, bias=False))
            setattr(layer.mlp, down, torch.nn.Linear(wide, hidden))
            if is_for_code:
                layer.layer_norm_1, layer.layer_norm_2 = norm(hidden, eps=1e-12), norm(hidden, eps=1e-12)
            else:
                layer.mlp.layernorm = norm(hidden, eps=1e-12)
            self.encoder.layer.append(layer)

    def forward(self, ids, types=None):
        table = self.embeddings
        kinds = torch.zeros_like(ids[0]) if types is None else types[0]
        x = table.LayerNorm(table.word_embeddings(ids[0]) + table.token_type_embeddings(kinds))
        for layer in self.encoder.layer:
            out = layer.attention.output
            y = out.LayerNorm(out.dense(layer.attention.self(x)) + x)
            if self.is_for_code:
                x = layer.layer_norm_1(y + x)
                factor, active = layer.mlp.up_gated_layer(x).chunk(2, -1)
                x = layer.layer_norm_2(layer.mlp.down_layer(torch.nn.functional.gelu(active) * factor) + x)
                continue
            active, factor = layer.mlp.gated_layers(y).chunk(2, -1)
            x = layer.mlp.layernorm(layer.mlp.wo(torch.nn.functional.gelu(active) * factor) + y)
        return x


def write_jina_bert_folder(folder: Path, model: JinaBert, hidden: int, heads: int) -> None:
    written = bert_sizes(hidden_size=hidden, num_attention_heads=heads, intermediate_size=58) | {
        "model_type": "bert", "architectures": ["JinaBertForMaskedLM"], "position_embedding_type": "alibi",
        "feed_forward_type": "geglu", "layer_norm_eps": 1e-12, "emb_pooler": "mean", "hidden_act": "gelu",
        "auto_map": {"AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel"},
        "max_position_embeddings": 200,
    }  # fmt: skip
    golden = Golden(folder, "mean", 170)
    golden.write_model(written, tensors_of(model))
    golden.write(model, model)


def write_jina_bert(folder: Path) -> None:
    """jina-embeddings-v2: ALiBi with 6 heads, which is no power of two; geglu."""
    write_jina_bert_folder(folder, randomise(JinaBert(42, 6, 58, 3), 127), 42, 6)


def write_jina_bert_code(folder: Path) -> None:
    """jina-embeddings-v2-base-code: norms of whole queries and keys, what attention reads added twice, gate last."""
    write_jina_bert_folder(folder, randomise(JinaBert(44, 4, 58, 3, is_for_code=True), 128), 44, 4)


def write_deberta(folder: Path) -> None:
    """DeBERTa v3's settings: logarithmic buckets, shared projections, a normalised table, no positions in the embeddings."""
    config = transformers.DebertaV2Config(
        **bert_sizes(type_vocab_size=0, max_position_embeddings=200), relative_attention=True, position_buckets=16,
        pos_att_type="p2c|c2p", norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False,
    )  # fmt: skip
    model = randomise(eager(transformers.DebertaV2Model, config), 131)
    write_simple(folder, model, "cls", 170, pos_att_type="p2c|c2p")


def write_deberta_v2(folder: Path) -> None:
    """Projections of their own, single distances up to 40, positions and token types in the embeddings."""
    config = transformers.DebertaV2Config(
        **bert_sizes(max_position_embeddings=120), relative_attention=True, max_relative_positions=40,
        pos_att_type=["c2p"], position_biased_input=True,
    )  # fmt: skip
    write_simple(folder, randomise(eager(transformers.DebertaV2Model, config), 132), "mean", 100)
