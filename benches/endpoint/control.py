"""The server from the outside: started, and told what to send."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

BENCHES = Path(__file__).resolve().parents[1]


@contextmanager
def provider() -> Generator[int, None, None]:
    """A server, at this port."""
    command = [sys.executable, "-m", "endpoint.provider"]
    with subprocess.Popen(
        command, cwd=BENCHES, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


def send_command(port: int, what: str, **given: object) -> Any:
    """Opens a group, tells it to go, or asks how it went."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", f"/{what}?{urlencode(given)}")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def in_process(module: str, spec: dict[str, Any], python: str = sys.executable) -> dict[str, Any]:
    """Runs a client in a new process.

    Returns:
        What it has measured.
    """
    done = subprocess.run(
        [python, "-m", f"endpoint.{module}", json.dumps(spec)],
        cwd=BENCHES,
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
