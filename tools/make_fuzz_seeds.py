#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, tests/fuzz/seeds/TARGET/NAME: requests as the dialects have them, and small files of
models. Seeds that a fuzzer found (regression-*) are left alone.

Usage: tools/make_fuzz_seeds.py
"""
import json
import math
import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "fuzz" / "seeds"
GOLDEN = ROOT / "tests" / "golden"

HTTP = {
    "get": "GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\n\r\n",
    "post": "POST /embed HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello",
    "chunked": "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: z\r\n\r\n",
    "expect": "POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
    "pipelined": "GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /3 HTTP/1.1\r\nConnection: close\r\n\r\n",
    "expect-pipelined": "GET /1 HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
    "head": "HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "options": "OPTIONS * HTTP/1.1\r\nOrigin: https://a\r\n\r\n",
    "long-header": "GET / HTTP/1.1\r\nX: " + "a" * 3000 + "\r\n\r\n",
    "two-lengths": "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    "length-and-chunked": "POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "body-too-large": "POST / HTTP/1.1\r\nContent-Length: 10001\r\n\r\nabc",
    "broken-escape": "GET /%4 HTTP/1.1\r\n\r\n",
}

BODIES = {
    "openai": {
        "string": {"model": "m", "input": "hello", "encoding_format": "base64", "dimensions": 4, "user": "u"},
        "strings": {"model": "m", "input": ["a", "b"], "encoding_format": "float", "truncate_prompt_tokens": -1},
        "ids": {"input": [101, 7592, 102]},
        "id-lists": {"input": [[101, 7592, 102], [5]], "priority": "bulk", "timeout": 1.5, "input_type": "search_query"},
        "types": {"input": "a", "embed_dtype": "ubinary", "encoding_format": "float", "prompt_name": "query"},
        # Case H22: ids of other kinds, and out of range.
        "h22-mixed": {"input": ["a", [1, 2]]}, "h22-float": {"input": [1.5]}, "h22-bool": {"input": [True]},
        "h22-inner": {"input": [[101, "x"]]}, "h22-range": {"input": [-1, 30522, 4294967294, 1e30]},
        # Case H24: an empty string in a list.
        "h24-empty": {"input": ["a", "", "d"]},
    },
    "tei": {
        "embed": {"inputs": ["a", "b", [1, 2]], "truncate": True, "truncation_direction": "Left", "prompt_name": "query",
                  "normalize": False, "dimensions": 4},
        "embed-one": {"inputs": "a"},
        "similarity": {"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}, "parameters": {"truncate": False}},
        "tokenize": {"inputs": "a", "add_special_tokens": False},
        "tokenize-list": {"inputs": ["a", "b"], "prompt_name": "query"},
        "decode": {"ids": [[1, 2], [3]], "skip_special_tokens": False},
        "decode-one": {"ids": [101, 7592, 102]},
    },
    "scores": {
        "tei": {"query": "q", "texts": ["a", "b"], "raw_scores": True, "return_text": True, "truncate": True},
        "jina": {"model": "m", "query": "q", "documents": ["a", {"text": "b", "title": "t"}], "top_n": 1, "return_documents": True},
        "cohere": {"model": "m", "query": "q", "documents": ["a", "b"], "top_n": 2, "max_tokens_per_doc": 64, "priority": 1},
        "rank-fields": {"query": "q", "documents": [{"title": "t", "body": "b"}], "rank_fields": ["title", "body"]},
        "predict": {"inputs": "a", "raw_scores": False},
        "predict-pairs": {"inputs": [["a", "b"], ["c"]], "truncate": True, "truncation_direction": "Right"},
        "score": {"model": "m", "text_1": "a", "text_2": ["b", "c"]},
        "classify": {"model": "m", "input": ["a", "b"], "raw_scores": True},
    },
    "cohere": {
        "texts": {"model": "m", "input_type": "classification", "texts": ["a"], "embedding_types": ["float", "ubinary", "base64"],
                  "output_dimension": 8, "truncate": "NONE", "max_tokens": 5, "priority": 3},
        "inputs": {"model": "m", "input_type": "clustering", "inputs": [{"content": [{"type": "text", "text": "a"}]}],
                   "truncate": "START", "embedding_types": ["int8", "uint8", "binary"]},
        "image": {"model": "m", "input_type": "image", "images": ["data:image/png;base64,AA=="]},
    },
    "ollama": {
        "embed": {"model": "m:latest", "input": ["a", "b"], "truncate": False, "options": {}, "keep_alive": "5m", "dimensions": 8},
        "one": {"model": "m", "input": "a"},
        "none": {"model": "m"},
        "embeddings": {"model": "m", "prompt": "a"},
    },
}


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a protocol buffer: a varint of an int, else bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def kserve():
    tensor = {"name": "text", "shape": [2, 1], "datatype": "BYTES", "data": ["a", "b"]}
    ids = {"name": "input_ids", "shape": [1, 2], "datatype": "INT64", "data": [[1, 2]]}
    mask = {"name": "attention_mask", "shape": [1, 2], "datatype": "INT64", "data": [1, 0]}
    raw = {"name": "text", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 5}}
    raw_ids = {"name": "input_ids", "shape": [1, 2], "datatype": "INT32", "parameters": {"binary_data_size": 8}}
    output = [{"name": "embedding", "parameters": {"binary_data": True}}]
    requests = {
        "text": ({"id": "1", "inputs": [tensor], "parameters": {"priority": 1, "timeout": 5000, "prompt_name": "query"}}, b""),
        "ids": ({"inputs": [ids, mask], "outputs": [{"name": "embedding"}]}, b""),
        "binary": ({"inputs": [raw], "outputs": output}, b"\x01\0\0\0x"),
        "binary-ids": ({"inputs": [raw_ids], "parameters": {"binary_data_output": True}}, struct.pack("<ii", 101, 102)),
    }
    return {name: json.dumps(body).encode() + (b"\n" + data if data else b"") for name, (body, data) in requests.items()}


def grpc():
    """ModelInferRequest: model_name 1, model_version 2, id 3, parameters 4, inputs 5, outputs 6, raw_input_contents 7. Inputs:
    name 1, datatype 2, shape 3, contents 5. Contents: int_contents 2, int64_contents 3, bytes_contents 8."""
    text = field(5, field(1, "text") + field(2, "BYTES") + field(3, b"\x01") + field(5, field(8, "hello")))
    ids = field(5, field(1, "input_ids") + field(2, "INT64") + field(3, b"\x01\x02") + field(5, field(3, b"\x65\x66")))
    bare = field(5, field(1, "text") + field(2, "BYTES") + field(3, b"\x01"))
    parameter = field(4, field(1, "normalize") + field(2, field(1, 1)))
    name = field(4, field(1, "prompt_name") + field(2, field(3, "query")))
    return {"text": field(1, "m") + field(3, "7") + parameter + name + text + field(6, field(1, "embedding")),
            "ids": field(1, "m") + field(2, "1") + ids,
            "raw": field(1, "m") + bare + field(7, b"\x05\0\0\0hello")}


def routes():
    """Whole requests: the first seed of each dialect on its route, and pages."""
    paths = {"openai": "/v1/embeddings", "tei": "/embed", "scores": "/rerank", "cohere": "/v2/embed", "ollama": "/api/embed"}
    seeds = {}
    for dialect, path in paths.items():
        for name, body in BODIES[dialect].items():
            body = {**body, "model": "fake"} if "model" in body else body
            seeds[f"{dialect}-{name}"] = f"POST {path}\nx-priority: bulk\n\n{json.dumps(body)}"
    seeds["similarity"] = "POST /similarity\n\n" + json.dumps(BODIES["tei"]["similarity"])
    seeds["tokenize"] = "POST /tokenize\n\n" + json.dumps(BODIES["tei"]["tokenize"])
    seeds["decode"] = "POST /decode\n\n" + json.dumps(BODIES["tei"]["decode"])
    seeds["kserve"] = b"POST /v2/models/fake/versions/1/infer\n\n" + kserve()["text"]
    binary, _, data = kserve()["binary"].partition(b"\n")
    seeds["kserve-binary"] = b"POST /v2/models/fake/infer\ninference-header-content-length: %d\n\n" % len(binary) + binary + data
    for path in ("/", "/health", "/metrics", "/info", "/v1/models/fake", "/v2/models/fake/ready", "/api/tags", "/openapi.json"):
        seeds["get" + path.replace("/", "-")] = (
            f"GET {path}\norigin: https://a\nx-request-id: r-1\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n\n")
    return seeds


def admin():
    key = "authorization: Bearer the-admin-key\n\n"
    return {"load": f'POST /admin/models/second/load\n{key}{{"model": "folder", "weight": 2.5}}',
            "load-missing": f'POST /admin/models/second/load\n{key}{{"model": "/missing"}}',
            "unload": f"POST /admin/models/fake/unload\n{key}",
            "list": f"GET /admin/models\n{key}",
            "repository-load": f'POST /v2/repository/models/a/b/load\n{key}{{"parameters": {{}}}}',
            "repository-index": f"POST /v2/repository/index\n{key}{{}}",
            "no-key": "POST /admin/models/second/load\n\n{}"}


CONFIGS = {
    "tuned": "# inlay tune\nmax-batch-tokens = 512\nmax_queue_delay_us = 2000\ndtype = \"int8\"\nthreads = 2\n",
    "lists": 'model = ["a=one", "b=two"]\napi-key = ["tenant:the-first-key", "the-second-key"]\nlog-json = true\nport = 0\n',
    "hosts": 'host = "0.0.0.0"\ntls-cert = "a.pem"\ntls-key = \'b.pem\'\ncors-allow-origin = ["https://a"]\nidle-timeout = 5\n',
    "not-a-flag": "no-such-flag = 1\n", "section": "[serve]\nport = 1\n", "wrong-type": "port = \"high\"\n",
}

ROWS = {
    "jsonl": '{"id": 1, "text": "a", "query": "q"}\n\n{"id": "x", "text": "b\\u00e9", "ids": [1, 2]}\r\n{"text": null}\n{}\n',
    "text": "first line\n\nsecond line\r\nlast without a break",
    "bom": "\ufeff{\"text\": \"a\"}\n", "long": '{"text": "' + "a" * 1500 + '"}\n{"text": "b"}\n',
}


def safetensors():
    def file(tensors, data):
        header = json.dumps(tensors, separators=(",", ":")).encode()
        return struct.pack("<Q", len(header)) + header + data
    tensor = lambda dtype, shape, begin, end: {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    types = {"__metadata__": {"format": "pt"}, "embeddings.weight": tensor("F32", [3, 5], 0, 60), "half": tensor("BF16", [1, 7], 60, 74),
             "empty": tensor("I64", [0, 9], 74, 74), "scalar": tensor("F64", [], 74, 82), "packed": tensor("F4", [2, 3], 82, 85)}
    # Case H44: offsets that contradict the shape, the file or each other.
    return {"types": file(types, bytes(range(85))), "none": file({}, b""),
            "h44-shape": file({"a": tensor("F32", [1000, 1000], 0, 4)}, b"abcd"),
            "h44-overlap": file({"a": tensor("U8", [3], 0, 3), "b": tensor("U8", [2], 2, 4)}, b"abcd"),
            "h44-overflow": file({"a": tensor("F32", [2**32, 2**32], 0, 4)}, b"abcd"),
            "h44-length": struct.pack("<Q", 2**64 - 1) + b"{}"}


def pickles():
    # A list that is copied again and again: little text that says much.
    copies = b"](" + b"))\x86" * 500 + b"eq\x01ccollections\nOrderedDict\nq\x02" + b"h\x02h\x01\x85R0" * 500 + b"."
    return {"numbers": b"\x80\x02(K\xffM\xff\xffJ\xfe\xff\xff\xff\x8a\x00\x8a\x01\x80\x8a\x02\x80\x00\x8a\x09123456789t.",
            "ordered-dict": b"ccollections\nOrderedDict\n(]((U\x01aK\x01letR.", "itself": b"]q\x01h\x01a.", "copies": copies,
            "system": b"cos\nsystem\n(X\x02\0\0\0lstR."}


def sections(folder, names):
    """Several files in one seed, as tests/fuzz/fuzz_folder.h reads them."""
    files = [(name, folder / name) for name in names if (folder / name).is_file()]
    return "\n".join(f"=== {name}\n{path.read_text(encoding='utf-8')}" for name, path in files)


def model_configs():
    names = ["config.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "tokenizer_config.json",
             "quantize_config.json", "model.safetensors.index.json", "1_Pooling/config.json", "2_Dense/config.json",
             "3_Dense/config.json", "1_SpladePooling/config.json", "artifact.metadata", "1_Dense/config.json",
             "2_MultiVectorMask/config.json", "3_Normalize/config.json"]
    return {folder.parent.name: sections(folder, names) for folder in sorted(GOLDEN.glob("*/model")) if (folder / "config.json").is_file()}


def model_folder(type_id=0, cls_id=2):
    """A BERT of one layer whose numbers are small fractions."""
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "12", "-", "\u4e2d"]
    hidden, inner, positions = 8, 12, 16
    config = {"model_type": "bert", "vocab_size": len(vocab), "hidden_size": hidden, "num_hidden_layers": 1, "num_attention_heads": 2,
              "intermediate_size": inner, "hidden_act": "gelu", "max_position_embeddings": positions, "type_vocab_size": 2,
              "layer_norm_eps": 1e-12, "pad_token_id": 0}
    sequence = lambda name: {"Sequence": {"id": name, "type_id": type_id}}
    special = lambda name: {"SpecialToken": {"id": name, "type_id": type_id}}
    ids = {"[CLS]": cls_id, "[SEP]": 3}
    tokenizer = {
        "added_tokens": [{"id": i, "content": vocab[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                          "special": True} for i in range(4)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": [special("[CLS]"), sequence("A"), special("[SEP]")],
                           "pair": [special("[CLS]"), sequence("A"), special("[SEP]"), sequence("B"), special("[SEP]")],
                           "special_tokens": {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in ids.items()}},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {token: i for i, token in enumerate(vocab)}},
    }
    norm = lambda name: {f"{name}.LayerNorm.weight": [hidden], f"{name}.LayerNorm.bias": [hidden]}
    dense = lambda name, columns, rows: {f"{name}.weight": [columns, rows], f"{name}.bias": [columns]}
    layer = "encoder.layer.0."
    shapes = {"embeddings.word_embeddings.weight": [len(vocab), hidden], "embeddings.position_embeddings.weight": [positions, hidden],
              "embeddings.token_type_embeddings.weight": [2, hidden], **norm("embeddings"),
              **dense(layer + "attention.self.query", hidden, hidden), **dense(layer + "attention.self.key", hidden, hidden),
              **dense(layer + "attention.self.value", hidden, hidden), **dense(layer + "attention.output.dense", hidden, hidden),
              **norm(layer + "attention.output"), **dense(layer + "intermediate.dense", inner, hidden),
              **dense(layer + "output.dense", hidden, inner), **norm(layer + "output")}
    header, data = {}, b""
    for name, shape in shapes.items():
        count = math.prod(shape)
        begin = len(data)
        data += b"".join(struct.pack("<f", (i % 7 - 3) / 16) for i in range(count))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    encoded = json.dumps(header, separators=(",", ":")).encode()
    files = {"config.json": json.dumps(config), "tokenizer.json": json.dumps(tokenizer, ensure_ascii=False)}
    text = "".join(f"=== {name}\n{content}\n" for name, content in files.items())
    return text.encode() + b"=== model.safetensors\n" + struct.pack("<Q", len(encoded)) + encoded + data


def vocab_files():
    data = ROOT / "tests" / "data" / "tokenizers"
    names = ["vocab.json", "merges.txt", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json"]
    seeds = {folder: sections(data / folder, names) for folder in ("roberta-files", "uncased")}
    seeds["small"] = ('=== vocab.json\n{"<s>":0,"</s>":1,"<unk>":2,"a":3,"b":4,"ab":5,"\u0120":6,"\u0120a":7}\n'
                      '=== merges.txt\n#version: 0.2\na b\n\u0120 a\n=== tokenizer_config.json\n{"tokenizer_class":"RobertaTokenizer"}')
    return seeds


def tokenizers():
    """Small files that between them use every kind of step."""
    special = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    unigram = {
        "version": "1.0",
        "added_tokens": [{"id": 0, "content": "<unk>", **special},
                         {"id": 9, "content": "<mask>", "single_word": True, "lstrip": True, "rstrip": True, "normalized": True, "special": False}],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": "DAAAAACAAQBhDQAAAAAAgGIA"}, {"type": "NFKC"}, {"type": "Nmt"},
            {"type": "Prepend", "prepend": "x"}, {"type": "Replace", "pattern": {"Regex": " {2,}|[^\\s\\p{L}]"}, "content": "yy"},
            {"type": "Replace", "pattern": {"String": "e"}, "content": "ab"}, {"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "StripAccents"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True},
            {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "MergedWithNext"},
            {"type": "FixedLength", "length": 7}]},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<unk>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                           "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": {"<unk>": {"id": "<unk>", "ids": [0], "tokens": ["<unk>"]}}},
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
                                                     {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 2}]},
        "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": True,
                  "vocab": [["<unk>", 0.0], ["\u2581", -2.5], ["a", -3.0], ["b", -3.5], ["ab", -4.0], ["\u2581ab", -4.5], ["<0x78>", -9.0], ["x", -50.0]]},
    }
    bpe = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": 300, "content": "<|end|>", **{**special, "rstrip": True}}],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                                                                             "strip_accents": None, "lowercase": True}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": False},
            {"type": "CharDelimiterSplit", "delimiter": "-"}, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]},
        "post_processor": {"type": "Sequence", "processors": [
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
            {"type": "RobertaProcessing", "sep": ["<|end|>", 5], "cls": ["a", 0], "trim_offsets": True, "add_prefix_space": False}]},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": "c", "continuing_subword_prefix": None, "end_of_word_suffix": "", "fuse_unk": True,
                  "byte_fallback": False, "ignore_merges": True,
                  "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "\u0120": 4, "<|end|>": 5, "\u0120a": 6, "abc": 7, "\u0120ab": 8},
                  "merges": ["a b", ["\u0120", "a"], ["ab", "c"], ["\u0120a", "b"]]},
    }
    word_piece = {
        "added_tokens": [{"id": i, "content": content, **special} for i, content in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]"))],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "##b": 5, "12": 6, "-": 7, "\u4e2d": 8}},
    }
    words = {"pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "ab": 1, "x": 2}}}
    compact = lambda value: json.dumps(value, ensure_ascii=False)
    return {"unigram": compact(unigram), "bpe": compact(bpe), "word-piece": compact(word_piece), "words": compact(words),
            "folder": f'=== tokenizer.json\n{compact(word_piece)}\n=== tokenizer_config.json\n'
                      '{"tokenizer_class":"BertTokenizer","do_lower_case":false,"strip_accents":null,"model_max_length":512}'}


def main():
    bodies = {target: {name: json.dumps(body) for name, body in seeds.items()} for target, seeds in BODIES.items()}
    targets = {"http": HTTP, **bodies, "kserve": kserve(), "grpc": grpc(), "router": routes(), "admin": admin(), "serve_config": CONFIGS,
               "safetensors": safetensors(), "pickle": pickles(), "tokenizer_json": tokenizers(), "vocab_files": vocab_files(),
               "model_config": model_configs(), "text_rows": ROWS,
               # Faults that were fixed before the target was there: numbers of a template that the tables of the model lack.
               "model_folder": {"bert": model_folder(), "regression-template-type-beyond-table": model_folder(type_id=2_000_000_000),
                                "regression-template-id-beyond-vocabulary": model_folder(cls_id=2_000_000_000)}}
    for target, seeds in targets.items():
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if not old.name.startswith("regression-"):
                old.unlink()
        for name, content in seeds.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    main()
