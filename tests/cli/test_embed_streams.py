"""Pipes and signals: bounded memory, a clean stop, and readers that leave."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

LINE = b"a bridge over cold water %d\n"


def start(program, *arguments, **streams):
    return subprocess.Popen([program, "embed", "--quiet", *map(str, arguments)], **streams)


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status).group(1)) / 1024


def test_memory_does_not_grow_with_the_input(program, tiny):
    with open(os.devnull, "wb") as sink:
        process = start(program, "--model", tiny, "--threads", "2", stdin=subprocess.PIPE, stdout=sink)
        samples = []
        for number in range(100_000):
            process.stdin.write(LINE % number)
            if number % 5000 == 4999:
                process.stdin.flush()
                samples.append(resident_mib(process))
        process.stdin.close()
        assert process.wait(60) == 0
    # Three windows are in use from the start, and the allocator settles within 2 MiB. Vectors alone would be 11 MiB more from
    # line 35,000 to the end if they were kept, their JSON 40 MiB.
    assert max(samples[10:]) < max(samples[:7]) + 4.0, samples


def test_a_long_line_is_an_error_of_its_row_and_is_not_held(program, tiny):
    process = start(program, "--model", tiny, "--input-format", "text", "--on-error", "skip", "--threads", "1", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"cat\n")
    for _ in range(300):
        process.stdin.write(b"x" * (1 << 20))
    peak = resident_mib(process)
    out, error = process.communicate(b"\ndog\n", timeout=60)
    assert process.returncode == 0
    assert ["error" in json.loads(line) for line in out.splitlines()] == [False, True, False]
    assert b"line 2: more than 67108864 bytes" in error
    assert peak < 200, peak


def interrupted(program, tiny, output, *flags):
    process = start(program, "--model", tiny, "--output", output, *flags, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"cat\n" * 5000)
    process.stdin.flush()
    deadline = time.monotonic() + 20
    while not any(output.parent.glob("*.tmp")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert any(output.parent.glob("*.tmp"))
    process.send_signal(signal.SIGINT)  # It waits for more of its input now.
    code = process.wait(20)
    return code, process.stderr.read()


def test_an_interrupt_stops_cleanly_even_while_waiting_for_input(program, tiny, tmp_path):
    code, error = interrupted(program, tiny, tmp_path / "a.npy")
    assert (code, error) == (130, b"")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_ends_the_job_quietly(program, tiny):
    process = start(program, "--model", tiny, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    try:
        for number in range(100_000):
            process.stdin.write(LINE % number)
        process.stdin.close()
    except BrokenPipeError:
        pass  # It left before its input ended, as it should.
    assert process.wait(30) == 141
    assert process.stderr.read() == b""


def test_a_reader_that_leaves_ends_a_job_that_waits_for_input(program, tiny):
    process = start(program, "--model", tiny, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.close()
    process.stdin.write(b"cat\n" * 5000)  # A window and a part: the first is written while the rest of the second is awaited.
    process.stdin.flush()
    assert process.wait(30) == 141


def test_progress_is_lines_on_standard_error_only(inlay, tiny):
    done = inlay("embed", "--model", tiny, stdin="hello\nworld\n")
    assert len(done.rows()) == 2
    assert re.fullmatch(r"2 texts, 6 tokens in [0-9.]+ s \([0-9.]+ texts/s\), 0 truncated, 0 failed\n", done.err)


def test_the_summary_stands_where_the_vectors_do_not(inlay, tiny, tmp_path):
    fields = {"texts": 2, "tokens": 6, "truncated": 0, "failed": 0, "dimensions": 44, "threads": 2}
    to_file = inlay("embed", "--model", tiny, "--threads", "2", "--json", "--output", tmp_path / "a.npy", stdin="hello\nworld\n")
    summary = json.loads(to_file.out)
    assert summary.items() >= fields.items() and 0 < summary["seconds"] < 10
    to_stdout = inlay("embed", "--model", tiny, "--threads", "2", "--json", stdin="hello\nworld\n")
    assert len(to_stdout.rows()) == 2 and json.loads(to_stdout.err).items() >= fields.items()
