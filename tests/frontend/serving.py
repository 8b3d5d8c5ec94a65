"""Server processes for the tests of the page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TEST_TIMEOUT = 30.0
"""Seconds until a waiting test fails."""

Piece = str | dict[str, str]


class ServerProcess:
    """A server process that can be killed and restarted at the same address.

    Args:
        command: Arguments of the interpreter.
        folder: Folder of its database and log.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        self._log = folder / "server.log"
        self._store = f"sqlite:///{(folder / 'chats.db').as_posix()}"
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        """URL of the server, without a trailing slash."""

    def start(self, *more: str) -> None:
        """Start the server, on its previous port if it had one."""
        port = self.url.rpartition(":")[2] or "0"
        command = [sys.executable, *self._command, "--store", self._store, "--port", port, *more]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found is not None, f"the server did not start: {line}{self._log.read_text()}"
        self.url = found[0]

    def kill(self) -> None:
        """Kill the process, without cleanup."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the process."""
        self._end(signal.SIGTERM)

    def logged(self) -> str:
        """Return the log."""
        return self._log.read_text()

    def read(self, path: str) -> str:
        """Get a text."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=TEST_TIMEOUT) as response:
            text: str = response.read().decode()
            return text

    def get(self, path: str) -> Any:
        """Get a JSON document."""
        return json.loads(self.read(path))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Post a JSON document."""
        request = urllib.request.Request(
            f"{self.url}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=TEST_TIMEOUT) as response:
            return json.load(response)

    def messages(self, chat_id: str) -> list[dict[str, Any]]:
        """Return the stored messages of a chat."""
        stored = self.get(f"/chats/{chat_id}/messages")["messages"]
        return [each["message"] for each in stored]

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdout is not None
        process.send_signal(how)
        try:
            process.wait(TEST_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            process.stdout.close()


class ScriptedServer(ServerProcess):
    """A server whose model and tools follow a script.

    Args:
        folder: Folder of its database.
        page: Folder of a built front end; by default the page of the package.
    """

    def __init__(self, folder: Path, page: Path | None = None) -> None:
        own_page = () if page is None else ("--page", os.fspath(page))
        super().__init__([os.fspath(HERE / "scripted_server.py"), *own_page], folder)

    def forget(self) -> None:
        """Reset the script; pending waits never end."""
        self.post("/test/forget", {})

    def replies(self, prompt: str, *replies: list[Piece]) -> None:
        """Set the model's replies to a prompt, in order."""
        self.post("/test/replies", {"prompt": prompt, "replies": replies})

    def release(self, name: str) -> None:
        """Release a model that waits at a pause."""
        self.post(f"/test/pauses/{name}", {})

    def instruct(self, name: str, **word: Any) -> None:
        """Set the next action of the tool with a name: ``progress=``, ``result=`` or ``error=``."""
        self.post("/test/tools", {"name": name, "word": word})


def demo_server(folder: Path, speed: int = 1000) -> ServerProcess:
    """Return the installed playground, at high speed by default."""
    command = ["-m", "toolweave", "demo", "--no-browser", "--speed", str(speed)]
    return ServerProcess(command, folder)


def running(server: Any) -> Iterator[Any]:
    """Start a server, yield it, and stop it."""
    try:
        server.start()
        yield server
    finally:
        server.stop()
    assert "Traceback" not in server.logged(), server.logged()


def pause(name: str) -> dict[str, str]:
    """Return a pause in a reply, which `ScriptedServer.release` ends."""
    return {"pause": name}


def call(tool: str, **arguments: Any) -> str:
    """Return a call in the markup of a model."""
    return f"<{tool}>{json.dumps(arguments)}</{tool}>"
