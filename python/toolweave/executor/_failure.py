r"""Result texts of failed calls.

Each is one line that helps the model to continue. It shows no internals of the program: no
exception type, no traceback, no path in the file system.

Example:
    >>> tool_error(ValueError("no such city\n(see the log)")).text
    'Error executing tool: no such city'
    >>> unknown_tool("Wether", ["Weather", "Add"]).text
    "Tool 'Wether' not found. Available tools: Weather, Add. Did you mean 'Weather'?"
"""

from __future__ import annotations

import difflib
import itertools
import logging
import os
import re
import secrets
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._core import ToolResult
from .._exception_text import exception_text
from ..exceptions import ToolError, ToolFailed
from ..kinds import ErrorCode
from ._results import truncate, utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._core import InvalidToolCall, ToolCall, Violation
    from ..tools import Tool

ErrorDetail: TypeAlias = Literal["none", "message", "full"]
"""Part of an exception that the model reads: nothing, its first line, or the whole traceback."""

MAX_MESSAGE = 500
"""Maximum length of an exception's first line, in characters."""

MAX_NAMES = 50
"""Maximum number of tools listed in the result of a call of an unknown tool."""

MAX_REFUSALS = 16_384
"""Budget for the texts on refused calls of a reply, beyond the length of the calls, in characters.
"""

_BEGINNING = 200

FAILED = "Error executing tool"
"""Start of every result text about an unexpected exception in a tool."""

REFERENCES = "references"
"""Metadata field of a message with the references of failed calls, by the ids of the calls."""

_log = logging.getLogger("toolweave.executor")

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


@dataclass(frozen=True)
class CallFailure:
    """Text and error code of a failed call's result."""

    text: str
    """Text that the model reads."""
    code: ErrorCode
    """Reason, for programs."""

    def result(
        self,
        call: ToolCall,
        *,
        value: Any = None,
        duration: float | None = None,
        exception: BaseException | None = None,
        reference: str | None = None,
    ) -> ToolResult:
        """Return the result of a call that failed."""
        return ToolResult(
            call.id,
            call.name,
            self.text,
            value=value,
            is_error=True,
            error_code=self.code,
            duration=duration,
            exception=exception,
            reference=reference,
        )


class NestedFailure(ToolFailed):
    """A nested call failed. Raised in the tool that made the call.

    Args:
        result: The result of that call.
    """

    def __init__(self, result: ToolResult) -> None:
        super().__init__(result.result)
        self.reference = result.reference
        """Reference of the exception in the log; None for a `ToolError`."""


def strip_package_frames(error: BaseException) -> None:
    """Remove the frames of this package from the start of a traceback.

    These frames refer to the run, whose results refer to the exception.
    """
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        entry = entry.tb_next
    if entry is not None:
        error.__traceback__ = entry


def log_failure(error: BaseException, log_fields: Mapping[str, object]) -> str | None:
    """Log an exception of a tool, with its traceback unless it is a `ToolError`.

    Args:
        error: The exception.
        log_fields: Fields of the log record about the call.

    Returns:
        The reference of the log record; None for a `ToolError`.
    """
    log_fields = {**log_fields, "error_type": type(error).__name__}
    if isinstance(error, ToolError):
        reference = error.reference if isinstance(error, NestedFailure) else None
        _log.info("a tool failed", extra={**log_fields, "reference": reference})
        return reference
    reference = secrets.token_hex(4)
    _log.warning(
        "a tool failed (reference %s)",
        reference,
        exc_info=error,
        extra={**log_fields, "reference": reference},
    )
    return reference


def references_of(results: Iterable[ToolResult]) -> dict[str, str]:
    """Return the references of results that have one, by the ids of their calls."""
    return {each.tool_call_id: each.reference for each in results if each.reference is not None}


def add_references(metadata: Mapping[str, Any], results: Iterable[ToolResult]) -> dict[str, Any]:
    """Return the metadata of a message with the references of results added to it."""
    references = references_of(results)
    if not references:
        return dict(metadata)
    known: Mapping[str, str] = metadata.get(REFERENCES, {})
    return {**metadata, REFERENCES: {**known, **references}}


def tool_error(
    error: BaseException,
    *,
    detail: ErrorDetail = "message",
    max_chars: int | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> CallFailure:
    """Return the failure of a tool that raised.

    The text of a `ToolError` is meant for the model and passed on whole. Of any other exception,
    the model reads the first line. Absolute paths in it are cut to their last part, unless the
    model itself wrote them in the arguments, and secrets are hidden.

    Args:
        error: The exception.
        detail: Part of the exception that the model reads.
        max_chars: Maximum length of a `ToolError`'s text, or of the full detail.
        arguments: The arguments of the call.
    """
    if isinstance(error, ToolError):
        text = utf8(exception_text(error)) or f"{FAILED}."
        return CallFailure(truncate(text, max_chars), ErrorCode.TOOL_ERROR)
    if detail == "none":
        return CallFailure(f"{FAILED}.", ErrorCode.TOOL_ERROR)
    if detail == "full":
        text = redact_secrets(_full(error), arguments)
        return CallFailure(truncate(text, max_chars), ErrorCode.TOOL_ERROR)
    line = redact_secrets(_first_line(exception_text(error)), arguments)
    line = redact_paths(line, arguments)
    if len(line) > MAX_MESSAGE:
        line = line[: MAX_MESSAGE - 1] + "…"
    return CallFailure(f"{FAILED}: {line}" if line else f"{FAILED}.", ErrorCode.TOOL_ERROR)


def unknown_tool(name: str, available: Iterable[str]) -> CallFailure:
    """Return the failure of a call of an unknown tool.

    Args:
        name: Name in the call.
        available: Names of the available tools.
    """
    names = list(available)
    text = f"Tool '{_shorten(name)}' not found."
    if names:
        listed = ", ".join(names[:MAX_NAMES])
        more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        text += f" Available tools: {listed}{more}"
        meant = _closest(name, names)
        if meant is not None:
            text += f". Did you mean '{meant}'?"
    else:
        text += " There are no tools."
    return CallFailure(text, ErrorCode.UNKNOWN_TOOL)


def invalid_arguments(name: str, violations: Sequence[Violation]) -> CallFailure:
    """Return the failure of a call whose arguments are not JSON or violate the schema.

    Args:
        name: The tool.
        violations: The violations.
    """
    sentences = "; ".join(violation.message for violation in violations)
    return CallFailure(
        f"Invalid arguments for tool '{_shorten(name)}': {sentences}", ErrorCode.INVALID_ARGUMENTS
    )


def invalid_call(
    call: InvalidToolCall, available: Iterable[str] = (), tool: Tool[..., Any] | None = None
) -> CallFailure:
    """Return the failure of a call that a parser marked as invalid.

    Args:
        call: The call.
        available: Names of the available tools.
        tool: The tool of the call. Violations of its types are reported as well.
    """
    if call.kind == "unknown_tool":
        return unknown_tool(call.name, available)
    if call.kind == "refused":
        reasons = "; ".join(violation.message for violation in call.violations)
        text = f"The call of tool '{_shorten(call.name)}' was refused: {reasons}"
        return CallFailure(text, ErrorCode.DENIED)
    violations = call.violations
    if tool is not None and call.arguments is not None:
        violations = tool.violations(call.arguments, violations)
    failure = invalid_arguments(call.name, violations)
    if call.kind == "too_large":
        return CallFailure(failure.text, ErrorCode.TOO_LARGE)
    if call.kind == "too_many":
        return CallFailure(failure.text, ErrorCode.TOO_MANY)
    return failure


class RefusalBudget:
    """Length budget for the texts on refused calls of one reply.

    A text may be many times longer than its call, since it lists tools and quotes arguments. Texts
    are whole until together they exceed the length of the calls plus `MAX_REFUSALS`. After that,
    each is truncated.
    """

    __slots__ = ("_remaining",)

    def __init__(self) -> None:
        self._remaining = MAX_REFUSALS

    def truncate(self, failure: CallFailure, call: ToolCall | InvalidToolCall) -> CallFailure:
        """Return the failure of a call, its text truncated if the budget is used up.

        Args:
            failure: The failure.
            call: The refused call, whose length adds to the budget.
        """
        text = failure.text
        self._remaining += len(call.raw)
        if len(text) > max(self._remaining, _BEGINNING):
            text = f"{text[: _BEGINNING - 1]}…"
        self._remaining -= len(text)
        return CallFailure(text, failure.code)


def timeout(name: str, seconds: float, *, idle: bool = False) -> CallFailure:
    """Return the failure of a call that timed out.

    Args:
        name: The tool.
        seconds: The time limit.
        idle: True if the idle timeout expired.
    """
    what = "reported nothing for" if idle else "did not finish within"
    return CallFailure(
        f"Tool '{_shorten(name)}' {what} {_format_seconds(seconds)} and was stopped.",
        ErrorCode.TIMEOUT,
    )


def cancelled(name: str) -> CallFailure:
    """Return the failure of a tool that cancelled itself."""
    return CallFailure(f"Tool '{_shorten(name)}' was cancelled.", ErrorCode.CANCELLED)


def interrupted(name: str, *, started: bool = True) -> CallFailure:
    """Return the failure of a call whose run ended before the tool did.

    Args:
        name: The tool.
        started: True if the tool had started and may have had effects.
    """
    how = "before it finished; it may have had effects" if started else "before it started"
    return CallFailure(f"Tool '{_shorten(name)}' was interrupted {how}.", ErrorCode.INTERRUPTED)


def denied(name: str, reason: str | None = None) -> CallFailure:
    """Return the failure of a call that was not approved.

    Args:
        name: The tool.
        reason: Reason that the approver gave.
    """
    why = f": {utf8(reason)}" if reason and reason.strip() else "."
    return CallFailure(
        f"Tool '{_shorten(name)}' was not run, since the call was not approved{why}",
        ErrorCode.DENIED,
    )


def rate_limited(name: str, seconds: float) -> CallFailure:
    """Return the failure of a call that exceeded a rate limit.

    Args:
        name: The tool.
        seconds: Seconds until it may be called again.
    """
    return CallFailure(
        f"Tool '{_shorten(name)}' is called too often. Try again in {_format_seconds(seconds)}.",
        ErrorCode.RATE_LIMITED,
    )


def redact_paths(text: str, arguments: Mapping[str, Any] | None = None) -> str:
    """Return a line without absolute paths and memory addresses.

    Args:
        text: The line.
        arguments: Arguments of the call. Paths in them are kept, since the model wrote them.
    """
    known = list(itertools.islice(_strings(arguments), 1000))

    def last_part(found: re.Match[str]) -> str:
        path = found[0]
        if any(path in each for each in known):
            return path
        return re.split(r"[/\\]", path.rstrip("/\\"))[-1]

    return _ADDRESS.sub("", _PATH.sub(last_part, text))


def redact_secrets(text: str, arguments: Mapping[str, Any] | None = None) -> str:
    """Return a text without credentials in URLs and without values whose name marks a secret.

    Takes linear time.

    Args:
        text: The text.
        arguments: Arguments of the call. Values in them are kept, since the model wrote them.
    """
    known = list(itertools.islice(_strings(arguments), 1000))

    def without_credentials(found: re.Match[str]) -> str:
        start, _, rest = found[0].partition("://")
        credentials, at, host = rest.rpartition("@")
        # An `@` in a path is not preceded by credentials, unless a password contains a slash.
        if not at or ("/" in credentials and ":" not in credentials.partition("/")[0]):
            return found[0]
        return f"{start}://{_HIDDEN}@{host}"

    def without_value(found: re.Match[str]) -> str:
        name, sign, value = found.groups()
        plain = value.strip("\"'")
        if not _SECRET.search(name) or any(plain in each for each in known):
            return found[0]
        return f"{name}{sign}{_HIDDEN}"

    return _PAIR.sub(without_value, _URL.sub(without_credentials, text))


_HIDDEN = "[hidden]"
# Both match only at the start of a word, so that a long word is scanned once.
_URL = re.compile(r"""(?<![^\s"'`<>()])[^\s"'`<>()]*://[^\s"'`<>()]*""")
_SECRET = re.compile(r"password|token|secret|key", re.IGNORECASE)
_PAIR = re.compile(
    r"""(?<![\w.-])([\w.-]+)(["']?\s*=\s*|["']\s*:\s*)("[^"]*"?|'[^']*'?|[^\s&;,"')\]}>]+)"""
)

# A path starts at the start of a word, which excludes URLs, fractions and dates, and has at least
# two parts, which excludes commands such as `/help`.
_PATH = re.compile(
    r"""(?<![^\s"'`(\[{<=,:;])         # at the beginning of a word
        (?:file:/{2,3}|~(?=/)|[A-Za-z]:(?=[/\\])|\\(?=\\))?
        (?:[/\\][^\s"'`()\[\]{}<>:;,|*?/\\]+){2,}
        [/\\]?""",
    re.VERBOSE,
)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def _strings(value: Any) -> Iterator[str]:
    inner: Any = value
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in inner.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in inner:
            yield from _strings(item)


def _first_line(text: str) -> str:
    # The limit is far above what is kept, even if most of the text is paths.
    for line in text[: 20 * MAX_MESSAGE].splitlines():
        if line.strip():
            return utf8(line.strip())
    return ""


def _full(error: BaseException) -> str:
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
    except Exception:  # noqa: BLE001 - the exception's own `__str__` may raise
        lines = [type(error).__name__]
    return f"{FAILED}: {utf8(''.join(lines)).rstrip()}"


def _shorten(name: str) -> str:
    line = " ".join(utf8(name).split())
    return line if len(line) <= 100 else f"{line[:99]}…"


def _format_seconds(seconds: float) -> str:
    rounded = f"{seconds:.0f}" if seconds >= 100 else f"{max(seconds, 0.001):.3g}"
    return f"{rounded} second" if rounded == "1" else f"{rounded} seconds"


def _closest(name: str, names: list[str]) -> str | None:
    folded = _fold(name)
    for each in names:
        if _fold(each) == folded:
            return each
    # Fuzzy matching is slow, so the number of candidates is limited.
    found = difflib.get_close_matches(name[:100], names[:500], n=1, cutoff=0.7)
    return found[0] if found else None


def _fold(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
