"""`inlay tune` measures and writes what `inlay serve --config` reads; `--validate-on` chooses a precision."""
import json
import re
import signal
import subprocess
import time

import pytest


@pytest.fixture
def texts(jsonl):
    return jsonl([{"text": "a bridge over cold water " * (1 + index % 5)} for index in range(40)])


def test_tune_chooses_and_writes(inlay, tiny, texts, tmp_path):
    config, page = tmp_path / "tuned.toml", tmp_path / "tuned.html"
    done = inlay("tune", "--model", tiny, "--texts", texts, "--dtype", "float32", "--slo-p99-ms", "500", "--seconds", "2", "--config", config, "--report", page, "--json", "--quiet")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    choice = report["choice"]
    sizes = [point["max_batch_tokens"] for point in report["batches"]]
    assert sizes == [64 * 2**index for index in range(len(sizes))] and report["batches_end"]
    assert all(point["tokens_per_s"] > 0 and 0 < point["p50_ms"] <= point["p99_ms"] for point in report["batches"])
    assert choice["keeps_objective"] and choice["p99_ms"] <= 500
    chosen = [point for point in report["closed"] if point["max_batch_tokens"] == choice["max_batch_tokens"] and point["clients"] == choice["max_concurrent_requests"]]
    assert chosen and choice["requests_per_s"] > chosen[0]["requests_per_s"] / 5, "the choice is measured again"
    assert all(0 <= point["lane_use"] <= 1 and point["rejected"] == 0 for point in report["closed"] + report["delays"] + report["open"])
    assert [point["max_queue_delay_us"] for point in report["delays"]] == [0, 1000, 5000, 20000]
    lines = dict(line.split(" = ") for line in config.read_text().splitlines() if not line.startswith("#"))
    assert lines == {"dtype": '"float32"', "threads": str(choice["threads"]), "max-batch-tokens": str(choice["max_batch_tokens"]),
                     "max-queue-delay-us": str(choice["max_queue_delay_us"]), "max-concurrent-requests": str(choice["max_concurrent_requests"])}
    html = page.read_text()
    assert html.count("<svg") == html.count("</svg>") >= 6 and not re.search(r"<script|https?://|src=|href=|nan|\binf\b", html)


def test_an_objective_that_nothing_keeps_is_said(inlay, tiny):
    done = inlay("tune", "--model", tiny, "--slo-p99-ms", "0.001", "--seconds", "1", "--threads", "1", "--quiet")
    assert done.code == 10 and "nothing keeps a P99 of 0.001 ms" in done.out, done.err


def test_a_model_without_vectors_is_an_error(inlay, golden):
    done = inlay("tune", "--model", golden / "heads-bert" / "model", "--seconds", "1", "--threads", "1", "--quiet")
    assert done.code == 4 and "not an embedding model" in done.err


def test_an_interrupt_ends_it(program, tiny):
    process = subprocess.Popen([program, "tune", "--model", tiny, "--seconds", "1000", "--threads", "1", "--quiet"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(1)  # A measurement takes 20 s.
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130, process.stderr.read()


def test_serve_takes_the_file_and_lets_flags_go_first(inlay, tiny, tmp_path):
    config = tmp_path / "serve.toml"

    def error(text, *flags, env=None):
        config.write_text(text)
        done = inlay("serve", "--model", tiny, "--config", config, *flags, env=env)
        assert done.code in (2, 3)
        return done.err

    assert "max-batch-token is no flag of serve" in error("max-batch-token = 5\n")
    assert "--dtype int9" in error('# a comment\ndtype = "int9"\n')
    assert "--dtype int8x" in error('dtype = "int9"\n', "--dtype", "int8x")
    assert "--dtype int8y" in error('dtype = "int9"\n', env={"INLAY_DTYPE": "int8y"})
    assert "--dtype" not in error("threads = 5000\n")
    assert "no such file" in inlay("serve", "--model", tiny, "--config", tmp_path / "missing.toml").err


def test_validate_on_chooses_a_precision_and_says_why(inlay, tiny, texts):
    done = inlay("--log-level", "info", "embed", "--model", tiny, "--input", texts, "--validate-on", texts, "--json", "--quiet")
    assert done.code == 0, done.err
    assert "--dtype auto takes" in done.err and "int8: suited, P99" in done.err
    figures = json.loads(done.err.splitlines()[-1])
    assert figures["dtype"] in ("int8", "bfloat16", "float16", "float32") and f"takes {figures['dtype']}" in done.err
    named = inlay("embed", "--model", tiny, "--input", texts, "--validate-on", texts, "--dtype", "int8")
    assert named.code == 2 and "names one" in named.err
