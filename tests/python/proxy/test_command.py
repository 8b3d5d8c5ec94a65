"""The command `toolweave serve`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from openai_endpoint import serving
from serve_processes import SERVE, command
from toolweave.cli import main

TIMEOUT = 30.0
PIPE_SIZE = 1 << 16
"""Bytes that a pipe of Linux holds."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped(number: signal.Signals) -> None:
    with (
        serving("Hello.") as endpoint,
        command("--upstream", endpoint.url, "--upstream-key-env", "KEY", KEY="sk-up") as running,
    ):
        process, url = running
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
        request = urllib.request.Request(f"{url}/chat/completions", body.encode())
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            assert json.load(response)["choices"][0]["message"]["content"] == "Hello."
        process.send_signal(number)
        output, log = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0
        assert "stopping" in output
        entry = json.loads(log)
        assert (entry["path"], entry["status"]) == ("/v1/chat/completions", 200)
        assert "sk-up" not in log


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc, as on Linux")
def test_signals_are_received_before_the_address_is_printed() -> None:
    # It cannot write its first line yet, as the pipe is full.
    reading, writing = os.pipe()
    os.write(writing, b"\n" * PIPE_SIZE)
    process = subprocess.Popen([*SERVE, "--upstream", "http://x/v1"], stdout=writing)
    os.close(writing)
    try:
        deadline = time.monotonic() + TIMEOUT
        while not is_received(process.pid, signal.SIGTERM):
            assert time.monotonic() < deadline, "SIGTERM would end the process"
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        with os.fdopen(reading, encoding="utf-8") as output:
            assert "stopping" in output.read()
        assert process.wait(TIMEOUT) == 0
    finally:
        process.kill()
        process.wait()


def is_received(pid: int, number: signal.Signals) -> bool:
    """Return true if a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    [received] = [line for line in status.splitlines() if line.startswith("SigCgt:")]
    return bool(int(received.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--upstream", "ftp://x/v1"], "the upstream must be a URL such as"),
        (["--upstream", "nonsense"], "the upstream must be a URL such as"),
        (["--upstream", "http://x/v1", "--host", "0.0.0.0"], "requires a key for clients"),
        (["--upstream", "http://x/v1", "--host", "box"], "must be an IP address"),
        (["--upstream", "http://x/v1", "--pass", "embeddings"], "must begin with a slash"),
        (["--upstream", "http://x/v1", "--api-key-env", "NOT_SET"], "NOT_SET is not set"),
    ],
)
def test_invalid_options_are_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", "0", *arguments]) == 2
    assert message in capsys.readouterr().err
