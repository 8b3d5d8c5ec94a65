"""Files with the recordings of a test: JSON lines, a header and one reply with its request a line.

    {"format": "toolweave recording", "version": 1, "test": "tests/test_trip.py::test_oslo"}
    {"model": "m", "messages": [...], "tools": [...], "options": {...}, "deltas": [...], ...}

A line is a recording of `toolweave.models.recording` with the tools and the options of its request,
the identity of its model, and ``read_to_end``, which is false for a reply that its reader left.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..models._identity import ModelIdentity
from ..models.recording import RecordedReply
from ._requests import RecordedRequest

FORMAT = "toolweave recording"
VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of a file."""

_SECRET_NAME = re.compile(r"(API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
_LEAST_SECRET = 8


@dataclass(frozen=True)
class RecordedExchange:
    """A request and its reply."""

    request: RecordedRequest
    """The request."""
    reply: RecordedReply
    """The reply."""
    identity: ModelIdentity
    """Identity of the model."""
    read_to_end: bool = True
    """False for a reply that its reader did not read to the end."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        reply = self.reply.to_dict()
        written = {
            "model": self.request.model,
            "identity": self.identity._asdict(),
            "messages": self.request.messages,
            "tools": self.request.tools,
            "options": self.request.options,
            "deltas": reply["deltas"],
        }
        written |= {key: reply[key] for key in ("finish_reason", "error") if key in reply}
        return written if self.read_to_end else {**written, "read_to_end": False}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> RecordedExchange:
        """Create a recording from its JSON form.

        Raises:
            ValueError: A field is missing or invalid.
        """
        for name, kind in _FIELDS.items():
            if not isinstance(fields.get(name), kind):
                raise ValueError(f"`{name}` must be {_KINDS[kind]}")
        identity = cast("dict[str, Any]", fields["identity"])
        request = RecordedRequest(
            fields["model"], fields["messages"], fields["tools"], fields["options"]
        )
        return cls(
            request,
            RecordedReply.from_dict({**fields, "messages": []}),
            ModelIdentity(
                str(identity.get("name", "")),
                str(identity.get("provider", "unknown")),
                identity.get("native_tools") is True,
            ),
            fields.get("read_to_end", True) is not False,
        )


_FIELDS: dict[str, type] = {
    "model": str,
    "identity": dict,
    "messages": list,
    "tools": list,
    "options": dict,
}
_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}


def load(path: Path) -> list[RecordedExchange]:
    """Load the recordings of a file.

    Raises:
        ValueError: The file is not a recording; the message names the file and the line.
    """
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"{path} must have at most {MAX_BYTES:,} bytes, got {size:,}")
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as err:
        raise ValueError(f"{path} must be UTF-8: {err}") from err
    entries = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not entries:
        raise ValueError(f"{path} must have a header, got an empty file")
    (number, header), *rest = entries
    _check_header(f"{path}, line {number}", _parsed(f"{path}, line {number}", header))
    return [_recording(f"{path}, line {number}", line) for number, line in rest]


def _check_header(where: str, header: Mapping[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise ValueError(f"{where}: must be the header of a {FORMAT}")
    version = header.get("version")
    if version != VERSION:
        raise ValueError(
            f"{where}: version must be {VERSION}, got {str(version)[:40]!r}, which another version "
            "of toolweave has written"
        )


def _recording(where: str, line: str) -> RecordedExchange:
    try:
        return RecordedExchange.from_dict(_parsed(where, line))
    except (KeyError, TypeError, OverflowError, ValueError) as err:
        text = str(err)
        raise ValueError(text if text.startswith(where) else f"{where}: {text}") from err


def _parsed(where: str, line: str) -> Mapping[str, Any]:
    try:
        entry: object = json.loads(line)
    except (ValueError, RecursionError) as err:
        raise ValueError(f"{where}: must be valid JSON: {str(err)[:200]}") from err
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: must be an object, got {type(entry).__name__}")
    return cast("dict[str, Any]", entry)


def save(path: Path, test: str, recordings: Sequence[RecordedExchange]) -> None:
    """Write the recordings of a test, or delete the file if there are none.

    Raises:
        ValueError: A secret of the environment is in a recording.
    """
    if not recordings:
        path.unlink(missing_ok=True)
        return
    header = {"format": FORMAT, "version": VERSION, "test": test}
    entries = [header, *(recording.to_dict() for recording in recordings)]
    text = "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in entries)
    for name in _secrets_in(text):
        raise ValueError(
            f"{path} is not written: a recorded text contains the value of the environment "
            f"variable {name}; remove it from the prompts and results of the test"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)


def _secrets_in(text: str) -> Iterator[str]:
    variables: Iterable[tuple[str, str]] = os.environ.items()
    for name, value in variables:
        if _SECRET_NAME.search(name) and len(value) >= _LEAST_SECRET:
            escaped = json.dumps(value, ensure_ascii=False)[1:-1]
            if escaped in text:
                yield name
