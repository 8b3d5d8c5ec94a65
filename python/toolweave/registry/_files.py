"""Files of registries: bounded reads, lines and their diagnostics, and atomic writes."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import secrets
from functools import cached_property
from typing import TYPE_CHECKING

from .._core import Diagnostic, RegistrySnapshot
from ..exceptions import RegistryError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_FILE_BYTES = 64 << 20
"""Maximum size of a file, since a path may lead to a device without an end."""

_SHOWN_ERRORS = 10

_MAX_MESSAGE = 1000
"""Maximum length of a message, since a name may be as long as the file."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LATIN_1 = re.compile(
    rb"<\?xml[^>]{0,512}?encoding\s*=\s*[\"'](iso-?8859-1|iso_8859-1|latin-?1|l1)[\"']",
    re.IGNORECASE,
)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: It cannot be read.
        RegistryError: It is larger than `MAX_FILE_BYTES`.
    """
    with path.open("rb") as file:
        # A read allocates all that is asked for, and the size of a device is unknown.
        expected = min(os.fstat(file.fileno()).st_size, MAX_FILE_BYTES)
        data = file.read(expected + 1)
        if len(data) > expected:
            data += file.read(MAX_FILE_BYTES + 1 - len(data))
    if len(data) > MAX_FILE_BYTES:
        raise RegistryError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB")
    return data


def read_snapshot(
    source: str | bytes, name: str, *, skip_invalid: bool = False
) -> RegistrySnapshot:
    """Parse a registry.

    Args:
        source: The text, or its bytes in any encoding that XML names.
        name: The name of the file, for errors.
        skip_invalid: True to skip tools with errors instead of failing.

    Raises:
        RegistryError: The text has errors, which the message locates.
    """
    try:
        return RegistrySnapshot.read(source, skip_invalid=skip_invalid)
    except RegistryError as err:
        raise RegistryError(_sentences(name, err), err.diagnostics) from None
    except UnicodeEncodeError as err:
        found = _surrogate_diagnostic(err)
        raise RegistryError(format_diagnostic(name, found), (found,)) from None


def _surrogate_diagnostic(error: UnicodeEncodeError) -> Diagnostic:
    """Return the diagnostic of a text that cannot be encoded because of a lone surrogate."""
    before = error.object[: error.start]
    line, column = before.count("\n") + 1, error.start - before.rfind("\n")
    code = ord(error.object[error.start])
    return Diagnostic(
        "TW002",
        "error",
        f"U+{code:04X} is half a character",
        line,
        column,
        hint="Decode the text with the encoding that it has, or pass its bytes.",
    )


def _sentences(name: str, err: RegistryError) -> str:
    errors = [found for found in err.diagnostics if found.severity == "error"]
    if not errors:
        return f"{name}: {err}"
    if len(errors) == 1:
        return format_diagnostic(name, errors[0])
    lines = [f"{name} has {len(errors)} errors"]
    lines += [f"  {format_diagnostic(name, error)}" for error in errors[:_SHOWN_ERRORS]]
    if len(errors) > _SHOWN_ERRORS:
        lines.append(f"  and {len(errors) - _SHOWN_ERRORS} more")
    return "\n".join(lines)


def format_diagnostic(name: str, found: Diagnostic) -> str:
    """Format a diagnostic on one line, with the file and the position."""
    return f"{name}:{found.line}:{found.column}: {shorten(found.message)} [{found.code}]"


def write_atomically(path: Path, text: str) -> None:
    """Write a file atomically: concurrent readers see the old text or the new one.

    A link stays a link, and the file keeps its permissions.

    Raises:
        OSError: It cannot be written. The file is then unchanged.
    """
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    # Not with `tempfile`, whose files have other permissions than new files.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort diagnostics by position."""
    return tuple(sorted(diagnostics, key=lambda found: (found.line, found.column)))


class SourceText:
    """Text in lines, with columns in characters. A byte order mark does not count.

    Args:
        source: The text, or its bytes. Invalid bytes are decoded as U+FFFD.
    """

    def __init__(self, source: str | bytes) -> None:
        self._source = source

    @cached_property
    def lines(self) -> list[str]:
        """Lines without their ends. Only a line feed ends a line, as in XML."""
        text = self._source if isinstance(self._source, str) else _decoded(self._source)
        return [line.removesuffix("\r") for line in text.split("\n")]

    def line(self, number: int) -> str:
        """Return a line by number, from 1; empty if there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def find(self, text: str, first: int, behind: int) -> tuple[int, int] | None:
        """Return the line and column of a text, searched from line `first` and before `behind`."""
        for number in range(first, min(behind, len(self.lines) + 1)):
            column = self.lines[number - 1].find(text)
            if column >= 0:
                return number, column + 1
        return None


def shorten(text: str) -> str:
    """Cut the middle out of a long message, which may quote anything."""
    if len(text) <= _MAX_MESSAGE:
        return text
    return f"{text[: _MAX_MESSAGE - 200]} ... {text[-200:]}"


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    encoding = "latin-1" if _LATIN_1.match(data) else "utf-8"
    return data.decode(encoding, errors="replace")
