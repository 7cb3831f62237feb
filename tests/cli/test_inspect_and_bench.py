"""`inlay inspect` says what a folder holds; `inlay bench` measures."""
import json

import pytest
import safetensors.numpy


def test_inspect_agrees_with_the_files(inlay, tiny):
    report = json.loads(inlay("inspect", tiny, "--json").out)
    config = json.loads((tiny / "config.json").read_text())
    assert report["hidden_size"] == config["hidden_size"] == report["dimensions"]
    assert report["layers"] == config["num_hidden_layers"] and report["heads"] == config["num_attention_heads"]
    assert report["model_type"] == "bert" and report["tokenizer"] == "WordPiece" and report["vocab_size"] == config["vocab_size"]
    assert report["modules"] == ["pooling mean", "normalize"] and report["max_length"] == 64
    tensors = safetensors.numpy.load_file(tiny / "model.safetensors")
    held = report["weight_files"]["model.safetensors"]
    assert held == {"tensors": len(tensors), "parameters": sum(t.size for t in tensors.values()), "bytes": sum(t.nbytes for t in tensors.values())}


def test_inspect_shows_modules_prompts_and_shards(inlay, golden):
    dense = inlay("inspect", golden / "bert-cls-dense" / "model").out
    assert "dense 24 -> 10, tanh" in dense and 'query (default): "find: "' in dense and "2_Dense/model.safetensors" in dense
    sharded = json.loads(inlay("inspect", golden / "bert-sharded" / "model", "--json").out)
    assert len(sharded["weight_files"]) == 2 and set(sharded["weight_dtypes"]) == {"F16"}
    assert any("modules.json" in note for note in sharded["notes"])


def test_inspect_says_what_takes_memory(inlay, tiny, tmp_path):
    def memory(*flags):
        return json.loads(inlay("inspect", tiny, "--json", *flags).out)["memory"]

    config = json.loads((tiny / "config.json").read_text())
    types = config["type_vocab_size"] * config["hidden_size"]
    table = (config["vocab_size"] + config["max_position_embeddings"]) * config["hidden_size"] + types
    converted = 2 * (table - types) + 4 * types  # Token types stay float32: their few rows reach every token.
    plain = memory("--dtype", "float32")
    assert (plain["tables_bytes"], plain["tables_in_place_bytes"]) == (0, 4 * table)
    assert 0 < plain["lanes_touched_bytes"] <= plain["lanes_reserved_bytes"] and plain["tokenizer_bytes"] > 0
    assert memory("--dtype", "bfloat16")["tables_bytes"] == converted
    cache = ("--dtype", "bfloat16", "--weight-cache", tmp_path / "cache")
    first, second = memory(*cache), memory(*cache)
    assert first["linear_cached_bytes"] == first["tables_cached_bytes"] == second["linear_bytes"] == second["tables_bytes"] == 0
    assert second["linear_cached_bytes"] == first["linear_bytes"] > 0 and second["tables_cached_bytes"] == first["tables_bytes"] == converted
    table = inlay("inspect", tiny, *cache).out
    assert "mapped from the weight cache" in table and "lanes" in table


def test_bench_counts_and_measures(inlay, jsonl, tiny):
    source = jsonl([{"text": "a bridge over cold water " * (1 + index % 9)} for index in range(500)])
    done = inlay("bench", "--model", tiny, "--texts", source, "--dtype", "float32", "--rounds", "2", "--json", "--quiet")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    embedded = json.loads(inlay("embed", "--model", tiny, "--input", source, "--json", "--quiet").err)
    assert (report["texts"], report["tokens"]) == (500, embedded["tokens"])
    assert len(report["seconds"]) == 2 and report["docs_per_s"] >= report["median_docs_per_s"] > 0
    assert report["peak_gflops"] > 1 and 0 < report["share_of_peak"] < 1 and 0 < report["batch_fill"] <= 1
    assert abs(report["gflops"] / report["peak_gflops"] - report["share_of_peak"]) < 1e-9
    assert report["peak_rss_bytes"] > report["weight_bytes"]
    memory = report["memory"]
    assert 0 < memory["lanes_touched_bytes"] <= memory["lanes_reserved_bytes"]
    assert memory["peak_resident_bytes"] >= memory["resident_bytes"] >= memory["resident_anonymous_bytes"] > memory["linear_bytes"] > 0
    table = inlay("bench", "--model", tiny, "--texts", source, "--rounds", "1", "--quiet").out
    assert "share of peak" in table and "docs/s" in table


def test_bench_times_single_texts(inlay, jsonl, tiny):
    source = jsonl([{"text": "a bridge"}, {"text": "a bridge over cold water"}])
    command = ["bench", "--model", tiny, "--texts", source, "--dtype", "float32", "--latency", "--quiet"]
    done = inlay(*command, "--runs", "11", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    lengths = [len(row["ids"]) for row in inlay("tokenize", "--model", tiny, "--input", source).rows()]
    # Texts take turns, also while it warms up.
    assert report["tokens"] == pytest.approx((6 * lengths[0] + 5 * lengths[1]) / 11)
    assert report["runs"] == 11
    assert 0 < report["min_ms"] <= report["p50_ms"] <= report["p90_ms"] <= report["p99_ms"] <= report["max_ms"]
    assert "P50" in inlay(*command, "--runs", "1").out
