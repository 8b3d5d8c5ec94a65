"""Control of the server: start it, and command what it sends."""

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
    """Run a server, and yield its port."""
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
    """Open a group, start it, or get its results."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", f"/{what}?{urlencode(given)}")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def in_process(module: str, spec: dict[str, Any], python: str = sys.executable) -> dict[str, Any]:
    """Run a client in a new process.

    Returns:
        Its measurements.
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
