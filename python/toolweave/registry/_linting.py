"""Checks of a registry that need more than its text, such as its handlers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from .._core import Diagnostic
from ._files import SourceText, sort_diagnostics
from ._handler_code import (
    HandlerResolver,
    RequiredParameters,
    is_allowed,
    quoted,
    required_by_definition,
    required_parameters,
)
from ._purpose import purpose
from ._registrations import handler_for

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .._core import RegistrySnapshot, ToolEntry
    from ._registrations import RegistryState

# Codes of the core: a tool without a handler, and one whose known handler reads more parameters.
NO_HANDLER = "TW115"
MISSING_PARAMETER = "TW117"

NOT_FOUND = "TW201"
NOT_ALLOWED = "TW202"
NOT_GIVEN = "TW203"
NO_PURPOSE = "TW204"
RELATIVE_PATH = "TW205"


class _HandlerFault(NamedTuple):
    """Reason why a handler cannot run. Tools may share one, such as a missing package."""

    code: str
    reason: str
    hint: str


def is_relative(url: str) -> bool:
    """Return True if a URL is not an absolute URL with http or https."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() not in ("http", "https") or not parts.netloc


class Linter:
    """Finder of warnings about a document of a registry.

    Args:
        state: The registry, with the registrations in Python.
        part: The snapshot of the document. If it is the whole file, entries changed in Python are
            checked as well.
        allowed: Dotted prefixes that may be imported.
        source: The text of the document, or its bytes.
        base_url: The base URL of relative paths, if any.
    """

    def __init__(
        self,
        state: RegistryState,
        part: RegistrySnapshot,
        allowed: Collection[str],
        source: str | bytes,
        base_url: str | None,
    ) -> None:
        self._state = state
        self._part = part
        self._base_url = base_url
        self._allowed = allowed
        self._source = SourceText(source)
        self._handlers = HandlerResolver(allowed)
        self._entries = state.snapshot.entries if part is state.file else part.entries
        self._starts = sorted({entry.line for entry in self._entries if entry.line is not None})
        self._faults: dict[str, _HandlerFault | None] = {}

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return all warnings, by position."""
        return sort_diagnostics(self._findings())

    def _findings(self) -> list[Diagnostic]:
        served = {entry.line for entry in self._entries if self._registered(entry) is not None}
        found: list[Diagnostic] = []
        reported: set[int | None] = set()
        for one in self._part.diagnostics:
            start = self._start(one.line)
            if one.code in (NO_HANDLER, MISSING_PARAMETER) and start in served:
                # A handler registered in Python runs instead.
                continue
            if one.code == MISSING_PARAMETER:
                reported.add(start)
            found.append(one)
        shared: dict[_HandlerFault, list[ToolEntry]] = {}
        for entry in self._entries:
            if not entry.enabled:
                continue
            found.extend(self._without_purpose(entry))
            registered = self._registered(entry)
            needs: RequiredParameters | None = None
            if registered is not None:
                needs = required_parameters(registered)
            elif entry.handler:
                fault = self._fault(entry.handler)
                if fault is not None:
                    shared.setdefault(fault, []).append(entry)
                    continue
                definition = self._handlers.definition_of(entry.handler)
                needs = None if definition is None else required_by_definition(definition)
            elif entry.method.lower() == "url" and self._base_url is None:
                found.extend(self._relative_path(entry))
            if needs is not None and entry.line not in reported:
                found.extend(self._missing_parameters(entry, needs))
        found.extend(self._cannot_run(fault, entries) for fault, entries in shared.items())
        return found

    def _registered(self, entry: ToolEntry) -> object | None:
        return handler_for(entry, self._state.snapshot, self._state.handlers)

    def _fault(self, path: str) -> _HandlerFault | None:
        if path not in self._faults:
            self._faults[path] = self._check_handler(path)
        return self._faults[path]

    def _check_handler(self, path: str) -> _HandlerFault | None:
        if self._allowed and not is_allowed(path, self._allowed):
            return _HandlerFault(
                NOT_ALLOWED,
                f"is not allowed: {quoted(path)} is not under {', '.join(self._allowed)}",
                "Allow the module that it is in, or register a handler in Python.",
            )
        reason = self._handlers.find_error(path)
        if reason is None:
            return None
        return _HandlerFault(
            NOT_FOUND,
            f"cannot be imported: {reason}",
            "Correct the path, install what it is in or say in which folder it is (--path), or "
            "register a handler in Python.",
        )

    def _cannot_run(self, fault: _HandlerFault, entries: Sequence[ToolEntry]) -> Diagnostic:
        """Return one diagnostic for all tools with a fault, at the handler of the first."""
        first, others = entries[0], len(entries) - 1
        message = f"the handler of the tool {quoted(first.name)} {fault.reason}"
        if others:
            message += f"; so with {others} other {'tool' if others == 1 else 'tools'}"
        return self._at_handler(first, fault.code, message, fault.hint)

    def _missing_parameters(
        self, entry: ToolEntry, needs: RequiredParameters
    ) -> Sequence[Diagnostic]:
        if not isinstance(entry.return_struc, dict):
            # It has no structure, which is reported elsewhere.
            return ()
        known = cast("Mapping[str, Any]", entry.parameters).get("properties", {})
        missing = [quoted(name) for name in needs.missing(known)]
        if not missing:
            return ()
        message = (
            f"the handler of the tool {quoted(entry.name)} reads {' and '.join(missing)}, which "
            "its returnStruc never yields"
        )
        hint = "Add what it reads to returnStruc, or let the handler do without."
        return (self._at_handler(entry, NOT_GIVEN, message, hint),)

    def _relative_path(self, entry: ToolEntry) -> Sequence[Diagnostic]:
        if not entry.path or not is_relative(entry.path):
            return ()
        message = (
            f"the tool {quoted(entry.name)} cannot run: its path {quoted(entry.path)} is relative, "
            "and there is no base_url"
        )
        hint = "Write the whole URL, or load the registry with base_url=."
        return (self._at(entry, (entry.path, "Tool"), RELATIVE_PATH, message, hint),)

    def _without_purpose(self, entry: ToolEntry) -> Sequence[Diagnostic]:
        # The core reports a missing prompt; entries added in Python have no position.
        if not entry.prompt or entry.line is None or purpose(entry.prompt, entry.name):
            return ()
        message = f"the prompt of the tool {quoted(entry.name)} says nothing of what the tool does"
        hint = "Say what it is for, beside the query and the demand for a score."
        return (self._at(entry, ("prompt", "Tool"), NO_PURPOSE, message, hint),)

    def _at_handler(self, entry: ToolEntry, code: str, message: str, hint: str) -> Diagnostic:
        """Return a diagnostic at the handler of a tool, or else at its first line."""
        return self._at(entry, (entry.handler or "", "Tool"), code, message, hint)

    def _at(
        self, entry: ToolEntry, texts: Sequence[str], code: str, message: str, hint: str
    ) -> Diagnostic:
        """Return a diagnostic at the first of some texts in the element of a tool."""
        line, column, length = entry.line or 1, 1, 1
        if entry.line is not None:
            index = bisect_right(self._starts, entry.line)
            following = self._starts[index : index + 1] or [len(self._source.lines) + 1]
            for text in texts:
                place = self._source.find(text, entry.line, following[0]) if text else None
                if text and place is not None:
                    (line, column), length = place, len(text)
                    break
        return Diagnostic(code, "warning", message, line, column, length=length, hint=hint)

    def _start(self, line: int) -> int | None:
        """Return the first line of the tool that contains a line."""
        index = bisect_right(self._starts, line)
        return self._starts[index - 1] if index else None
