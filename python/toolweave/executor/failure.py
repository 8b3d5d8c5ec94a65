r"""What the model reads when a call fails.

One line, in words that help it to go on, and nothing of the program's inside: no type, no
traceback, no place in the file system.

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

from .._exception_text import exception_text
from ..exceptions import ToolError, ToolFailed
from ..kinds import ErrorCode
from .results import truncate, utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._core import InvalidToolCall, ToolCall, ToolResult, Violation
    from ..tools import Tool

ErrorDetail: TypeAlias = Literal["none", "message", "full"]
"""How much of an exception the model reads: nothing, its first line, or all with the traceback."""

MAX_MESSAGE = 500
"""How much of an exception's first line is kept, in characters."""

MAX_NAMES = 50
"""How many tools are named to a model that asked for one that does not exist."""

MAX_REFUSALS = 16_384
"""How long all sentences on refused calls of a reply may be beyond what it wrote, in characters."""

_BEGINNING = 200

FAILED = "Error executing tool"
"""The beginning of every text about a tool that failed without meaning to."""

REFERENCES = "references"
"""Where a message's metadata holds the references of failed calls, by the ids of the calls."""

_log = logging.getLogger("toolweave.executor")

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


@dataclass(frozen=True)
class Failure:
    """What a failed call's result says."""

    text: str
    """What the model reads."""
    code: ErrorCode
    """Why, for programs."""


class NestedFailure(ToolFailed):
    """The failure of a call that a tool has made, raised in that tool.

    Args:
        result: The result of that call.
    """

    def __init__(self, result: ToolResult) -> None:
        super().__init__(result.result)
        self.reference = result.reference
        """The reference of the exception in the log; None where it was raised on purpose."""


def strip_package_frames(error: BaseException) -> None:
    """Let the traceback of what a tool raised begin in the tool.

    Our frames hold the run, whose results hold the exception.
    """
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        entry = entry.tb_next
    if entry is not None:
        error.__traceback__ = entry


def log_failure(error: BaseException, log_fields: Mapping[str, object]) -> str | None:
    """Log what a tool raised, with its traceback unless it was raised on purpose.

    Args:
        error: What it raised.
        log_fields: The call, for the record.

    Returns:
        The id under which the log has the exception; None if it was raised on purpose.
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
    """The references of those results that have one, by the ids of their calls."""
    return {each.tool_call_id: each.reference for each in results if each.reference is not None}


def add_references(metadata: Mapping[str, Any], results: Iterable[ToolResult]) -> dict[str, Any]:
    """The metadata of a message, with the references of results that are put into it."""
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
) -> Failure:
    """The tool raised.

    A `ToolError` was raised for the model, so its text is handed over whole. Of anything else the
    model reads the first line: absolute paths in it are cut down to their last part, except for
    those that the model itself wrote in the arguments, and secrets are hidden.

    Args:
        error: What it raised.
        detail: How much of it the model reads.
        max_chars: How much of a `ToolError`'s text, or of the full detail, is kept.
        arguments: The arguments of the call.
    """
    if isinstance(error, ToolError):
        text = utf8(exception_text(error)) or f"{FAILED}."
        return Failure(truncate(text, max_chars), ErrorCode.TOOL_ERROR)
    if detail == "none":
        return Failure(f"{FAILED}.", ErrorCode.TOOL_ERROR)
    if detail == "full":
        text = redact_secrets(_full(error), arguments)
        return Failure(truncate(text, max_chars), ErrorCode.TOOL_ERROR)
    line = redact_secrets(_first_line(exception_text(error)), arguments)
    line = redact_paths(line, arguments)
    if len(line) > MAX_MESSAGE:
        line = line[: MAX_MESSAGE - 1] + "…"
    return Failure(f"{FAILED}: {line}" if line else f"{FAILED}.", ErrorCode.TOOL_ERROR)


def unknown_tool(name: str, available: Iterable[str]) -> Failure:
    """There is no tool of that name.

    Args:
        name: What the model asked for.
        available: The names of the tools that there are.
    """
    names = list(available)
    text = f"Tool '{_short(name)}' not found."
    if names:
        listed = ", ".join(names[:MAX_NAMES])
        more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        text += f" Available tools: {listed}{more}"
        meant = _closest(name, names)
        if meant is not None:
            text += f". Did you mean '{meant}'?"
    else:
        text += " There are no tools."
    return Failure(text, ErrorCode.UNKNOWN_TOOL)


def invalid_arguments(name: str, violations: Sequence[Violation]) -> Failure:
    """The arguments are no JSON or do not fit the schema.

    Args:
        name: The tool.
        violations: In which ways.
    """
    sentences = "; ".join(violation.message for violation in violations)
    return Failure(
        f"Invalid arguments for tool '{_short(name)}': {sentences}", ErrorCode.INVALID_ARGUMENTS
    )


def invalid_call(
    call: InvalidToolCall, available: Iterable[str] = (), tool: Tool[..., Any] | None = None
) -> Failure:
    """The call cannot be run, for one of the reasons that parsers give.

    Args:
        call: The call.
        available: The names of the tools that there are.
        tool: The tool of the call; what its types refuse is told as well.
    """
    if call.kind == "unknown_tool":
        return unknown_tool(call.name, available)
    violations = call.violations
    if tool is not None and call.arguments is not None:
        violations = tool.violations(call.arguments, violations)
    failure = invalid_arguments(call.name, violations)
    if call.kind == "too_large":
        return Failure(failure.text, ErrorCode.TOO_LARGE)
    if call.kind == "too_many":
        return Failure(failure.text, ErrorCode.TOO_MANY)
    return failure


class RefusalBudget:
    """What the model reads of refused calls: for a whole reply, hardly more than it wrote.

    A sentence on a call may be many times longer than the call, since it names tools and quotes
    arguments. The first ones stand as they are; when all together become longer than what the model
    wrote, only the beginning of each.
    """

    __slots__ = ("_room",)

    def __init__(self) -> None:
        self._room = MAX_REFUSALS

    def truncate(self, text: str, call: ToolCall | InvalidToolCall) -> str:
        """Return the text, or its beginning.

        Args:
            text: What the model is to read.
            call: What it wrote.
        """
        self._room += len(call.raw)
        if len(text) > max(self._room, _BEGINNING):
            text = f"{text[: _BEGINNING - 1]}…"
        self._room -= len(text)
        return text


def timeout(name: str, seconds: float, *, idle: bool = False) -> Failure:
    """The tool took too long.

    Args:
        name: The tool.
        seconds: The limit.
        idle: Whether the limit was on the time without any progress.
    """
    what = "reported nothing for" if idle else "did not finish within"
    return Failure(
        f"Tool '{_short(name)}' {what} {_span(seconds)} and was stopped.", ErrorCode.TIMEOUT
    )


def cancelled(name: str) -> Failure:
    """The tool cancelled itself."""
    return Failure(f"Tool '{_short(name)}' was cancelled.", ErrorCode.CANCELLED)


def interrupted(name: str, *, started: bool = True) -> Failure:
    """The run ended before the tool did.

    Args:
        name: The tool.
        started: Whether it had begun; it may have had effects then.
    """
    how = "before it finished; it may have had effects" if started else "before it started"
    return Failure(f"Tool '{_short(name)}' was interrupted {how}.", ErrorCode.INTERRUPTED)


def denied(name: str, reason: str | None = None) -> Failure:
    """The call was not approved.

    Args:
        name: The tool.
        reason: Why, in the approver's words.
    """
    why = f": {utf8(reason)}" if reason and reason.strip() else "."
    return Failure(
        f"Tool '{_short(name)}' was not run, since the call was not approved{why}",
        ErrorCode.DENIED,
    )


def rate_limited(name: str, seconds: float) -> Failure:
    """The tool runs too often.

    Args:
        name: The tool.
        seconds: When it may be called again.
    """
    return Failure(
        f"Tool '{_short(name)}' is called too often. Try again in {_span(seconds)}.",
        ErrorCode.RATE_LIMITED,
    )


def redact_paths(text: str, arguments: Mapping[str, Any] | None = None) -> str:
    """A line without absolute paths and addresses in memory.

    Args:
        text: The line.
        arguments: What the model wrote: paths that stand in there are no secret to it.
    """
    known = list(itertools.islice(_strings(arguments), 1000))

    def last_part(found: re.Match[str]) -> str:
        path = found[0]
        if any(path in each for each in known):
            return path
        return re.split(r"[/\\]", path.rstrip("/\\"))[-1]

    return _ADDRESS.sub("", _PATH.sub(last_part, text))


def redact_secrets(text: str, arguments: Mapping[str, Any] | None = None) -> str:
    """A text without the credentials of URLs, and without what is named as a secret.

    Takes time proportional to the text.

    Args:
        text: The text.
        arguments: What the model wrote: values that stand in there are no secret to it.
    """
    known = list(itertools.islice(_strings(arguments), 1000))

    def without_credentials(found: re.Match[str]) -> str:
        start, _, rest = found[0].partition("://")
        credentials, at, host = rest.rpartition("@")
        # An `@` in a path follows no credentials, unless a password holds a slash.
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
# Both begin where a word does, so that a long word is looked at once.
_URL = re.compile(r"""(?<![^\s"'`<>()])[^\s"'`<>()]*://[^\s"'`<>()]*""")
_SECRET = re.compile(r"password|token|secret|key", re.IGNORECASE)
_PAIR = re.compile(
    r"""(?<![\w.-])([\w.-]+)(["']?\s*=\s*|["']\s*:\s*)("[^"]*"?|'[^']*'?|[^\s&;,"')\]}>]+)"""
)

# A path begins where a word does, so that URLs, fractions and dates are none, and has two parts at
# least, so that commands such as `/help` are none either.
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
    # What is cut off here is far beyond what is kept, however much of it are paths.
    for line in text[: 20 * MAX_MESSAGE].splitlines():
        if line.strip():
            return utf8(line.strip())
    return ""


def _full(error: BaseException) -> str:
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
    except Exception:  # noqa: BLE001 - it asks the exception for its text
        lines = [type(error).__name__]
    return f"{FAILED}: {utf8(''.join(lines)).rstrip()}"


def _short(name: str) -> str:
    line = " ".join(utf8(name).split())
    return line if len(line) <= 100 else f"{line[:99]}…"


def _span(seconds: float) -> str:
    rounded = f"{seconds:.0f}" if seconds >= 100 else f"{max(seconds, 0.001):.3g}"
    return f"{rounded} second" if rounded == "1" else f"{rounded} seconds"


def _closest(name: str, names: list[str]) -> str | None:
    folded = _fold(name)
    for each in names:
        if _fold(each) == folded:
            return each
    # Comparing spellings is slow, so only so many are compared.
    found = difflib.get_close_matches(name[:100], names[:500], n=1, cutoff=0.7)
    return found[0] if found else None


def _fold(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
