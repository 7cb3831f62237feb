#!/usr/bin/env python3
"""What each precision of a model costs and loses, by language: the table of docs/guide/quantisation.md, from `inlay validate`.

Usage: quality_table.py --model DIR --pairs en=debian-en.jsonl zh=debian-zh.jsonl ... [--dtypes float16,bfloat16,int8]
                        [--folder int4-gptq=DIR ...] [--query-prompt "query: "] [--passage-prompt "passage: "] [--max-length 256]
                        [--max-pairs 600] [--peer] [--json FILE] [--page FILE --section NAME]
  --pairs    the first --max-pairs of each file are taken; distances are those of their texts, recall that of each query's own text
  --folder   a folder that `inlay quantize` wrote, with a name for its rows
  --peer     ONNX Runtime's dynamic int8 by column, embedding table included, beside its own float32, on the same texts (mean pooling)
  --json     keeps every report of `inlay validate`, one a line
  --page     puts the tables between the marks `<!-- NAME` and `<!-- end of NAME -->` of a page
Run it on a machine that does nothing else: speeds are those of one pass. Exits with 1 where int8's P99 is over 0.005 in a language, or where it loses
more than 1 % of the reference's Recall@5, or, with --peer, where its P99 or its loss is above that of ONNX Runtime.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import measure
import quality
import report

MAX_INT8_P99 = 0.005
MAX_INT8_LOSS = 0.01
EXIT_NOT_SUITED = 10
PEER = "ONNX Runtime int8"


def first_pairs(options, folder):
    """{language: rows}, and the same as files that hold nothing else."""
    rows, files = {}, []
    for text in options.pairs:
        language, _, path = text.partition("=")
        rows[language] = measure.read_rows(path, options.max_pairs)
        file = pathlib.Path(folder) / f"{language}.jsonl"
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows[language]), encoding="utf-8")
        files.append(f"{language}={file}")
    return rows, files


def validate(options, files, candidate, dtype):
    """One report over all files. A candidate that is not suited still has one."""
    command = [options.inlay, "validate", options.model, candidate, "--json", "--quiet", "--no-store", "--threads", options.threads]
    command += [word for file in files for word in ("--pairs", file)]
    command += ["--max-pairs", options.max_pairs * len(files), "--max-length", options.max_length]
    command += ["--dtype", dtype] if dtype else []
    command += ["--query-prompt", options.query_prompt] if options.query_prompt else []
    command += ["--passage-prompt", options.passage_prompt] if options.passage_prompt else []
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in (0, EXIT_NOT_SUITED):
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def spread(distance):
    keys = {"p50": 50, "p95": 95, "p99": 99}
    return {"mean": float(distance.mean()), "max": float(distance.max()), **{key: float(np.percentile(distance, at)) for key, at in keys.items()}}


def peer_report(options, pairs):
    """What `validate` would say of ONNX Runtime's int8 beside its float32, as far as the tables need it."""
    import peer_engines
    import peer_models
    setup = peer_engines.Setup(options.model, options.threads, options.max_length, [])
    vectors, seconds = {}, 0.0
    for precision in ("fp32", "int8"):
        run = peer_engines.onnx_runtime(setup, precision)
        begin = time.monotonic()
        for language, rows in pairs.items():
            vectors[precision, language] = (run([options.query_prompt + row["query"] for row in rows]),
                                            run([options.passage_prompt + row["text"] for row in rows]))
        seconds = time.monotonic() - begin
    single = []
    for row in next(iter(pairs.values()))[:100]:
        begin = time.monotonic()
        run([options.query_prompt + row["query"]])
        single.append(1000 * (time.monotonic() - begin))
    found = {"languages": {}, "retrieval": {}}
    distances = []
    for language in pairs:
        (queries, texts), (own_queries, own_texts) = vectors["fp32", language], vectors["int8", language]
        distances.append(1 - measure.cosines(own_texts, texts))
        found["languages"][language] = spread(distances[-1])
        base, (first, fifth) = quality.recalls(queries, texts), quality.recalls(own_queries, own_texts)
        found["retrieval"][language] = {"candidate": {"recall_1": first, "recall_5": fifth}, "recall_5_loss": (base[1] - fifth) / max(base[1], 1e-9)}
    count = 2 * sum(len(rows) for rows in pairs.values())
    size = peer_models.onnx_int8(options.model).stat().st_size
    found["distance"] = spread(np.concatenate(distances))
    found["candidate"] = {"file_bytes": size, "weight_bytes": None, "memory_bytes": None, "texts_per_s": count / seconds,
                          "single_p50_ms": float(np.median(single))}
    return found


def megabytes(count):
    return "" if count is None else f"{count / 2**20:.1f}"


def cost_row(name, figures, distance):
    percentiles = [f"{distance[key]:.5f}" for key in ("mean", "p50", "p95", "p99", "max")] if distance else ["0"] * 5
    return (name, megabytes(figures["file_bytes"]), megabytes(figures["weight_bytes"]), megabytes(figures["memory_bytes"]),
            f"{figures['texts_per_s']:.1f}", f"{figures['single_p50_ms']:.2f}", *percentiles)


def cost_table(reports):
    first = next(iter(reports.values()))
    rows = [cost_row("float32", first["reference"], None)]
    rows += [cost_row(name, found["candidate"], found["distance"]) for name, found in reports.items()]
    return report.table(["", "files, MiB", "weights, MiB", "memory, MiB", "texts/s", "one text, ms", "1 - cosine: mean", "P50", "P95", "P99", "max"], rows)


def language_tables(reports):
    """A table for each language: P99 and recall in every precision."""
    first = next(iter(reports.values()))
    for language in first["languages"]:
        scores = first["retrieval"][language]["reference"]
        rows = [("float32", "0", f"{scores['recall_1']:.4f}", f"{scores['recall_5']:.4f}", "")]
        for name, found in reports.items():
            group = found["retrieval"][language]
            rows.append((name, f"{found['languages'][language]['p99']:.5f}", f"{group['candidate']['recall_1']:.4f}",
                         f"{group['candidate']['recall_5']:.4f}", f"{100 * group['recall_5_loss']:.2f} %"))
        yield report.table([f"{language}, {scores['queries']} pairs", "P99 of 1 - cosine", "Recall@1", "Recall@5", "Recall@5 lost"], rows)


def faults(reports):
    found = reports.get("int8")
    for language, distance in found["languages"].items() if found else ():
        loss = found["retrieval"][language]["recall_5_loss"]
        if distance["p99"] > MAX_INT8_P99:
            yield f"int8, {language}: P99 {distance['p99']:.5f}"
        if loss > MAX_INT8_LOSS:
            yield f"int8, {language}: {100 * loss:.2f} % of Recall@5 lost"
        if PEER not in reports:
            continue
        peer = reports[PEER]["languages"][language]["p99"]
        if distance["p99"] > peer:
            yield f"int8, {language}: P99 {distance['p99']:.5f}, {PEER} {peer:.5f}"
        peer = reports[PEER]["retrieval"][language]["recall_5_loss"]
        if loss > max(peer, 0):
            yield f"int8, {language}: {100 * loss:.2f} % of Recall@5 lost, {PEER} {100 * peer:.2f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", required=True, help="LANGUAGE=FILE")
    parser.add_argument("--dtypes", default="float16,bfloat16,int8")
    parser.add_argument("--folder", action="append", default=[], help="NAME=DIR")
    parser.add_argument("--query-prompt", default="")
    parser.add_argument("--passage-prompt", default="")
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--max-pairs", type=int, default=600, help="of each file")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--section", default="quality-table")
    measure.add_common_flags(parser)
    options = parser.parse_args()
    candidates = [(dtype, options.model, dtype) for dtype in options.dtypes.split(",") if dtype]
    candidates += [(name, folder, "") for name, _, folder in (text.partition("=") for text in options.folder)]
    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        pairs, files = first_pairs(options, folder)
        for name, candidate, dtype in candidates:
            reports[name] = validate(options, files, candidate, dtype)
            print(f"{name}: P99 {reports[name]['distance']['p99']:.5f}", file=sys.stderr, flush=True)
    if options.peer:
        reports[PEER] = peer_report(options, pairs)
    if options.json:
        options.json.write_text("".join(json.dumps({"name": name, **found}) + "\n" for name, found in reports.items()))
    text = f"Model: {options.model.resolve().name}.\n\n" + "\n\n".join([cost_table(reports), *language_tables(reports)])
    print(text)
    if options.page:
        report.write_section(options.section, text, options.page)
    wrong = list(faults(reports))
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
