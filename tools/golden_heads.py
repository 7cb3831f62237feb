"""Golden models with heads: one small random model a family, with classifier and masked language model heads.

Used by make_golden.py, which has the command line. Each folder gets heads.json (tests/golden/README.md describes it): what
transformers and sentence-transformers give for pairs and texts, in fp32, one at a time.
"""

import json
import string
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers
from safetensors.torch import save_file
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

# Largest difference between fp32 and float64, relative to the largest number.
MAX_NOISE = 6e-6

ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LONG = "the river bank and the boat , a cat sat on the mat when the query is long and the passage is not . " * 6

PAIRS = [
    ("which river has a bank", "The boat is on the river."),
    ("which river has a bank", "cats sat on the mat"),
    ("hello world", "HELLO café 日本語"),
    ("a", ""),
    ("query is long", LONG),
    (LONG, "short passage"),
    (LONG, LONG),
]
TEXTS = ["hello world", "", "The cats sat on the mat, unhappily.", "日本語テスト 中文 😀", "one PAD PAD two PAD", LONG]


def family(name: str) -> dict:
    """Configuration class, sizes, and the class names' stem. Odd sizes, since even ones hide mistakes."""
    roberta = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1, layer_norm_eps=1e-5)
    return {
        "bert": dict(
            stem="Bert", labels=1, hidden_size=44, num_attention_heads=4, intermediate_size=76, num_hidden_layers=2,
            max_position_embeddings=60,
        ),
        "roberta": dict(
            stem="Roberta", labels=3, hidden_size=36, num_attention_heads=3, intermediate_size=70, num_hidden_layers=2,
            max_position_embeddings=58, **roberta,
        ),
        "xlm-roberta": dict(
            stem="XLMRoberta", labels=1, hidden_size=44, num_attention_heads=4, intermediate_size=52, num_hidden_layers=2,
            max_position_embeddings=62, **roberta,
        ),
        "camembert": dict(
            stem="Camembert", labels=2, hidden_size=24, num_attention_heads=3, intermediate_size=52, num_hidden_layers=2,
            max_position_embeddings=50, **roberta,
        ),
        "distilbert": dict(
            stem="DistilBert", labels=2, dim=40, n_heads=5, hidden_dim=68, n_layers=2, max_position_embeddings=56,
            pad_token_id=0,
        ),
        "electra": dict(
            stem="Electra", labels=1, hidden_size=36, embedding_size=52, num_attention_heads=3, intermediate_size=70,
            num_hidden_layers=2, max_position_embeddings=56,
        ),
        "albert": dict(
            stem="Albert", labels=5, hidden_size=48, embedding_size=20, num_attention_heads=4, intermediate_size=76,
            num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2, hidden_act="gelu_new", max_position_embeddings=60,
            pad_token_id=0, bos_token_id=2, eos_token_id=3,
        ),
    }[name]


FAMILIES = ["bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "albert"]


def vocabulary(plain: list[str], is_roberta: bool) -> list[str]:
    if not is_roberta:
        return plain
    return ROBERTA_SPECIAL + [token for token in plain if token not in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]


def build_tokenizer(tokens: list[str], is_roberta: bool) -> tokenizers.Tokenizer:
    vocab = {token: index for index, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(WordPiece(vocab, unk_token="<unk>" if is_roberta else "[UNK]"))
    tokenizer.add_special_tokens(tokens[:5])
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    begin, end = ("<s>", "</s>") if is_roberta else ("[CLS]", "[SEP]")
    pair = f"{begin}:0 $A:0 {end}:0 {end}:0 $B:0 {end}:0" if is_roberta else f"{begin}:0 $A:0 {end}:0 $B:1 {end}:1"
    tokenizer.post_processor = TemplateProcessing(
        single=f"{begin}:0 $A:0 {end}:0", pair=pair, special_tokens=[(begin, vocab[begin]), (end, vocab[end])]
    )
    return tokenizer


def write_tokenizer(folder: Path, name: str, tokens: list[str]) -> tokenizers.Tokenizer:
    is_roberta = tokens[0] == "<s>"
    tokenizer = build_tokenizer(tokens, is_roberta)
    tokenizer.save(str(folder / "tokenizer.json"))
    inputs = ["input_ids", "attention_mask"]
    if not is_roberta and name != "distilbert":
        inputs.insert(1, "token_type_ids")
    roles = ["bos_token", "pad_token", "eos_token", "unk_token", "mask_token"] if is_roberta else [
        "pad_token", "unk_token", "cls_token", "sep_token", "mask_token"]
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": int(1e30), "model_input_names": inputs}
    config |= dict(zip(roles, tokens[:5]))
    if is_roberta:
        config |= {"cls_token": "<s>", "sep_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    return tokenizer


def randomise(model: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Numbers large enough that a wrong activation, position or type shows."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1 and name.endswith("weight"):
                parameter.copy_(1 + 0.3 * noise)
            elif "embeddings." in name and parameter.dim() == 2 and "project" not in name:
                parameter.copy_(0.6 * noise)
            else:
                parameter.copy_(0.25 * noise)
    return model.eval()


def build_models(stem: str, config) -> tuple[torch.nn.Module, torch.nn.Module]:
    """A classifier and a masked language model around the same encoder."""
    classifier = randomise(getattr(transformers, stem + "ForSequenceClassification")(config), 7)
    masked = randomise(getattr(transformers, stem + "ForMaskedLM")(config), 8)
    prefix = masked.base_model_prefix
    encoder = {key: value for key, value in getattr(classifier, prefix).state_dict().items() if "pooler" not in key}
    getattr(masked, prefix).load_state_dict(encoder, strict=False)
    masked.tie_weights()
    return classifier, masked


def tensors_of(classifier: torch.nn.Module, masked: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Both in one file. What the masked model ties to the word embeddings is left out, as checkpoints leave it out."""
    tensors = {key: value for key, value in classifier.state_dict().items() if value.dtype == torch.float32}
    tied = set(masked.all_tied_weights_keys)
    for key, value in masked.state_dict().items():
        if key not in tensors and key not in tied and value.dtype == torch.float32:
            tensors[key] = value
    return {key: value.detach().clone().contiguous() for key, value in tensors.items()}


def write_model(folder: Path, name: str, plain: list[str]) -> None:
    sizes = dict(family(name))
    stem, labels = sizes.pop("stem"), sizes.pop("labels")
    tokens = vocabulary(plain, sizes.get("pad_token_id") == 1)
    config = getattr(transformers, stem + "Config")(vocab_size=len(tokens), num_labels=labels, **sizes)
    if name == "roberta":
        config.id2label = {0: "bad", 1: "so so", 2: "good"}
        config.label2id = {label: index for index, label in config.id2label.items()}
    classifier, masked = build_models(stem, config)
    save_file(tensors_of(classifier, masked), folder / "model.safetensors", metadata={"format": "pt"})
    value = {key: item for key, item in config.to_dict().items() if key not in ("_name_or_path", "dtype", "torch_dtype")}
    value["architectures"] = [stem + "ForSequenceClassification"]
    if name == "bert":  # how folders before sentence-transformers 4 say it
        value["sbert_ce_default_activation_function"] = "torch.nn.modules.linear.Identity"
    (folder / "config.json").write_text(json.dumps(value, indent=2) + "\n")
    write_tokenizer(folder, name, tokens)


class References:
    """transformers and sentence-transformers on one folder."""

    def __init__(self, folder: Path, limit: int):
        self.folder = folder
        self.limit = limit
        kwargs = {"dtype": torch.float32, "attn_implementation": "eager"}
        self.encoder = transformers.AutoModel.from_pretrained(folder, **kwargs).eval()
        self.classifier = transformers.AutoModelForSequenceClassification.from_pretrained(folder, **kwargs).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.cross = CrossEncoder(str(folder), device="cpu", model_kwargs=kwargs, max_length=limit, local_files_only=True)
        module = Transformer(str(folder), transformer_task="fill-mask", max_seq_length=limit, model_kwargs=kwargs)
        self.sparse = {
            kind: SparseEncoder(modules=[module, SpladePooling(*kind)], device="cpu")
            for kind in (("max", "relu"), ("sum", "log1p_relu"))
        }

    def inputs(self, first: str, second: str | None) -> dict:
        # A list of pairs, as sentence-transformers gives it: alone, an empty second text would count as none.
        given = [first] if second is None else [[first, second]]
        return self.tokenizer(given, truncation=True, max_length=self.limit, return_tensors="pt")

    def item(self, first: str, second: str | None) -> dict:
        inputs = self.inputs(first, second)
        item = {"first": first, "second": second, "ids": inputs["input_ids"][0].tolist()}
        if "token_type_ids" in inputs:
            item["types"] = inputs["token_type_ids"][0].tolist()
        with torch.no_grad():
            logits = self.classifier(**inputs).logits[0]
            noise = self.classifier.double()(**inputs).logits[0] - logits
            self.classifier.float()
        assert noise.abs().max() <= MAX_NOISE * max(1, logits.abs().max()), (self.folder, first, second, noise)
        item["logits"] = logits.tolist()
        if second is not None:
            item["scores"] = np.atleast_1d(self.cross.predict([(first, second)])[0]).tolist()
            return item
        with torch.no_grad():
            item["hidden"] = self.encoder(**inputs).last_hidden_state[0].tolist()
        item["sparse"] = pairs_of(self.sparse["max", "relu"].encode(first, convert_to_sparse_tensor=False))
        item["sparse_sum"] = pairs_of(self.sparse["sum", "log1p_relu"].encode(first, convert_to_sparse_tensor=False))
        return item


def pairs_of(weights: torch.Tensor) -> list[list]:
    """[id, weight] of the weights that are not 0."""
    return [[index, float(weights[index])] for index in torch.nonzero(weights).flatten().tolist()]


def rounded(value):
    """Nine digits read back as the same float."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value


def write_items(path: Path, limit: int, items: list[dict]) -> None:
    lines = ",\n".join("    " + json.dumps({key: rounded(value) for key, value in item.items()}) for item in items)
    path.write_text(f'{{\n  "max_length": {limit},\n  "items": [\n{lines}\n  ]\n}}\n')
    print(f"{path.parent.name}: {len(items)} items")


def make_family(name: str, folder: Path, plain: list[str]) -> None:
    write_model(folder, name, plain)
    config = json.loads((folder / "config.json").read_text())
    pad = config["pad_token_id"]
    positions = config["max_position_embeddings"] - (pad + 1 if pad == 1 else 0)
    references = References(folder, positions)
    pad_token = "<pad>" if pad == 1 else "[PAD]"
    texts = [text.replace("PAD", pad_token) for text in TEXTS]
    items = [references.item(*pair) for pair in PAIRS] + [references.item(text, None) for text in texts]
    write_items(folder.parent / "heads.json", positions, items)


def make_colbert(folder: Path, plain: list[str]) -> None:
    """Late interaction as sentence-transformers saves it: Dense, mask and Normalize on each token."""
    tokens = vocabulary(plain, False)
    config = transformers.BertConfig(
        vocab_size=len(tokens), hidden_size=28, num_attention_heads=4, intermediate_size=44, num_hidden_layers=2,
        max_position_embeddings=60,
    )
    model = randomise(transformers.BertModel(config), 9)
    model.save_pretrained(folder)
    write_tokenizer(folder, "bert", tokens)
    base = "sentence_transformers.base.modules"
    mask = "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
    kinds = [
        ("", f"{base}.transformer.Transformer"), ("1_Dense", f"{base}.dense.Dense"), ("2_MultiVectorMask", mask),
        ("3_Normalize", f"{base}.normalize.Normalize"),
    ]
    on_tokens = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
    dense = {"in_features": 28, "out_features": 50, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
    files = {
        "modules.json": [dict(idx=i, name=str(i), path=path, type=kind) for i, (path, kind) in enumerate(kinds)],
        "sentence_bert_config.json": {
            "transformer_task": "feature-extraction", "module_output_name": "token_embeddings", "max_seq_length": 48,
        },
        "config_sentence_transformers.json": {"model_type": "MultiVectorEncoder", "prompts": {"query": "find: "}},
        "1_Dense/config.json": dense | on_tokens,
        "2_MultiVectorMask/config.json": {"skiplist_words": list(string.punctuation), "skiplist_tasks": ["document"]},
        "3_Normalize/config.json": on_tokens,
    }
    for name, value in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value, indent=2) + "\n")
    generator = torch.Generator().manual_seed(10)
    save_file({"linear.weight": 0.3 * torch.randn(50, 28, generator=generator)}, folder / "1_Dense/model.safetensors")
    encoder = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True)
    items = []
    for text in TEXTS + ["hello, world! (a boat.)"]:
        document = encoder.encode_document([text], convert_to_numpy=True)[0]
        query = encoder.encode_query([text], convert_to_numpy=True)[0]
        items.append({"first": text, "document": document.tolist(), "query": query.tolist()})
    write_items(folder.parent / "heads.json", 48, items)


def make(name: str, folder: Path, plain: list[str]) -> None:
    """`plain` is the vocabulary of the BERT goldens."""
    if name == "colbert":
        make_colbert(folder, plain)
    else:
        make_family(name, folder, plain)
