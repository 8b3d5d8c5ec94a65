"""The command `toolweave serve`."""

from __future__ import annotations

import json
import signal
import urllib.request

import pytest

from openai_endpoint import serving
from serve_processes import command
from toolweave.cli import main

TIMEOUT = 30.0


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
