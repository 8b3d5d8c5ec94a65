"""Servers in processes of their own, for the tests of MCP."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolweave.integrations.mcp import MCPTools, connect_stdio

SERVERS = Path(__file__).parent / "mcp_servers"
SDK_SERVER = str(SERVERS / "sdk_server.py")
PLAIN_SERVER = str(SERVERS / "plain_server.py")

SERVE_TOOLS = ["-W", "error", "-m", "toolweave", "mcp", "our_tools:tools"]
"""Arguments of Python that serve `our_tools`, in the folder of the servers."""


def plain_server(plan: Mapping[str, Any], folder: Path, **options: Any) -> MCPTools:
    """Return tools of the hand-written server, with the plan of its lists and responses."""
    file = folder / "plan.json"
    file.write_text(json.dumps(plan), encoding="utf-8")
    return connect_stdio(sys.executable, [PLAIN_SERVER, str(file)], name="plain", **options)


@contextmanager
def sdk_server(port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the SDK's server over HTTP, and yield its URL and process."""
    with _process([SDK_SERVER, "http", str(port)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp", process


@contextmanager
def toolweave_server(*arguments: str) -> Iterator[str]:
    """Run `toolweave mcp` over HTTP, and yield its URL."""
    command = [*SERVE_TOOLS, "--http", "0", *arguments]
    with _process(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"running on (http://\S+)", line):
                yield f"{found[1]}/mcp"
                return
        raise AssertionError("the server has not started")


@contextmanager
def _process(arguments: list[str], **streams: int) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=SERVERS, encoding="utf-8", **streams
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    """Return true if the process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def appears(path: Path, text: str, seconds: float = 5.0) -> bool:
    """Return true if a file contains a text within so many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return True
        time.sleep(0.01)
    return False
