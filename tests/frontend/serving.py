"""The servers that the page is tested against: processes of their own."""

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
"""Seconds until what does not come fails a test."""

Piece = str | dict[str, str]


class ServerProcess:
    """A server, which can be killed and started again where it was.

    Args:
        command: What starts it, after the interpreter.
        folder: Where it keeps its chats and writes what it logs.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        self._log = folder / "server.log"
        self._store = f"sqlite:///{(folder / 'chats.db').as_posix()}"
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        """Where it is, without a slash behind it."""

    def start(self, *more: str) -> None:
        """Starts it, at the port that it had before if it had one."""
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
        """Ends it without any chance to tidy up."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends it."""
        self._end(signal.SIGTERM)

    def logged(self) -> str:
        """What it has logged."""
        return self._log.read_text()

    def read(self, path: str) -> str:
        """Asks for a text."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=TEST_TIMEOUT) as response:
            text: str = response.read().decode()
            return text

    def get(self, path: str) -> Any:
        """Asks for something."""
        return json.loads(self.read(path))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Sends something."""
        request = urllib.request.Request(
            f"{self.url}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=TEST_TIMEOUT) as response:
            return json.load(response)

    def messages(self, chat_id: str) -> list[dict[str, Any]]:
        """The messages of a chat as they are stored."""
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
    """A server that does what it is told to.

    Args:
        folder: Where it keeps its chats.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__([os.fspath(HERE / "scripted_server.py")], folder)

    def forget(self) -> None:
        """Leaves whatever waits for a word waiting for ever."""
        self.post("/test/forget", {})

    def replies(self, prompt: str, *replies: list[Piece]) -> None:
        """What the model is to say to a prompt, one reply after another."""
        self.post("/test/replies", {"prompt": prompt, "replies": replies})

    def release(self, name: str) -> None:
        """Lets a model go on that waits at a gate."""
        self.post(f"/test/pauses/{name}", {})

    def instruct(self, name: str, **word: Any) -> None:
        """What the tool called with a name does next: ``progress=``, ``result=`` or ``error=``."""
        self.post("/test/tools", {"name": name, "word": word})


def demo_server(folder: Path, speed: int = 1000) -> ServerProcess:
    """The playground as it is installed, as fast as it can be unless told otherwise."""
    command = ["-m", "toolweave", "demo", "--no-browser", "--speed", str(speed)]
    return ServerProcess(command, folder)


def running(server: Any) -> Iterator[Any]:
    """A server from its start to its end."""
    try:
        server.start()
        yield server
    finally:
        server.stop()
    assert "Traceback" not in server.logged(), server.logged()


def pause(name: str) -> dict[str, str]:
    """A place in a reply where the model waits for `ScriptedServer.open`."""
    return {"pause": name}


def call(tool: str, **arguments: Any) -> str:
    """A call as a model writes it."""
    return f"<{tool}>{json.dumps(arguments)}</{tool}>"
