"""Deferred results, which may be delivered in another process.

A tool returns `Deferred`, and its call stays pending until the key is resolved. Pending results
are plain data: save `to_dict`, and restore them with `from_dict` after a restart.

Example:
    >>> results = DeferredResults()
    >>> key = results.add(ToolCall("call_0", "book", {"table": 4}), "booking-17")
    >>> results = DeferredResults.from_dict(results.to_dict())
    >>> results.resolve("booking-17", {"confirmed": True})
    <Outcome.RESOLVED: 'resolved'>
"""

from __future__ import annotations

import asyncio
import copy
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .._aio.loops import running_loop
from .._aio.single_flight import ResultCache
from .._checks import check_text
from .._core import ToolAggregateMessage, ToolCall, ToolResult, Validator
from ..kinds import ErrorCode, Outcome
from ._results import to_json_value, to_text, truncate

if TYPE_CHECKING:
    from collections.abc import Mapping

METADATA = "deferred"
"""Metadata field of an aggregate with the keys of its pending calls, by the ids of the calls."""


@dataclass(frozen=True)
class Deferred:
    """Return value of a tool whose result is delivered later."""

    key: str | None = None
    """Key that resolves the result; None to derive one from the id of the call."""
    note: str | None = None
    """Note for readers of the pending results."""

    def __post_init__(self) -> None:
        check_text("key", self.key, none=True)
        check_text("note", self.note, none=True)


@dataclass(frozen=True)
class Resolution:
    """Deferred result that has been delivered."""

    value: Any
    """The result, as JSON values."""
    is_error: bool = False
    """True if the call failed."""


@dataclass(frozen=True)
class PendingResult:
    """Pending result of a call, or pending answer to a question."""

    key: str
    """Key that resolves it."""
    call: ToolCall
    """The deferred call, or the call whose tool asks the question."""
    note: str | None = None
    """Note of the tool."""
    question: str | None = None
    """Question of the tool; None if the result of the call is pending."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the answer."""


class DeferredResults:
    """Pending results and the ones that have been delivered. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, PendingResult] = {}
        self._resolved: dict[str, Resolution] = {}
        self._waiting: dict[str, list[asyncio.Future[Resolution]]] = {}
        # The last suffix used for each call id.
        self._numbers: dict[str, int] = {}

    def add(
        self,
        call: ToolCall,
        key: str | None = None,
        *,
        note: str | None = None,
        question: str | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> str:
        """Add a pending result.

        Args:
            call: The call.
            key: Key that resolves it; None to derive one from the id of the call.
            note: Note of the tool.
            question: Question of the tool, if it asks one.
            schema: JSON Schema of the answer.

        Returns:
            The key.

        Raises:
            ValueError: The key is already in use.
            SchemaError: The schema is invalid.
        """
        if schema is not None:
            Validator(schema)
            schema = copy.deepcopy(dict(schema))
        # Copy the arguments, since the tool may modify its own.
        call = ToolCall(call.id, call.name, call.arguments)
        with self._lock:
            if key is None:
                key = self._unused_key(call.id)
            elif key in self._entries:
                taken = self._entries[key].call
                raise ValueError(
                    f"key must be unused, got {key!r}, which belongs to call {taken.id!r} of "
                    f"tool {taken.name!r}"
                )
            self._entries[key] = PendingResult(key, call, note, question, schema)
        return key

    @property
    def pending(self) -> tuple[PendingResult, ...]:
        """Results that have not been delivered, oldest first."""
        with self._lock:
            return tuple(entry for key, entry in self._entries.items() if key not in self._resolved)

    def resolve(self, key: str, result: object, *, is_error: bool = False) -> Outcome:
        """Deliver a result. Thread-safe; only the first result of a key counts.

        Args:
            key: Key of the pending result.
            result: JSON values, or a value that `to_json_value` can convert.
            is_error: True if the call failed.

        Raises:
            ValidationError: The answer does not match the question's schema. The question stays
                pending.
            ResultError: The result cannot be converted to JSON.
        """
        resolution = Resolution(to_json_value(result), is_error)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return Outcome.NOT_FOUND
            earlier = self._resolved.get(key)
            if earlier is not None:
                return (
                    Outcome.DUPLICATE if _is_same_result(earlier, resolution) else Outcome.CONFLICT
                )
            if entry.schema is not None and not is_error:
                Validator(entry.schema).validate(resolution.value)
            self._resolved[key] = resolution
            waiting = self._waiting.pop(key, [])
        for future in waiting:
            _wake(future, resolution)
        return Outcome.RESOLVED

    def get(self, key: str) -> PendingResult | None:
        """Return the entry of a key, whether or not its result has been delivered."""
        with self._lock:
            return self._entries.get(key)

    def restore(self, entry: PendingResult) -> None:
        """Restore a pending result, such as one of another process.

        If the entry exists already, it is kept together with its result.

        Args:
            entry: The pending result.

        Raises:
            ValueError: The key belongs to another call.
        """
        with self._lock:
            known = self._entries.setdefault(entry.key, entry)
        if known is not entry and _identity(known.call) != _identity(entry.call):
            raise ValueError(
                f"key must be unused, got {entry.key!r}, which belongs to call "
                f"{known.call.id!r} of tool {known.call.name!r}"
            )

    def result_of(self, key: str) -> Resolution | None:
        """Return the result delivered for a key, if any."""
        with self._lock:
            return self._resolved.get(key)

    async def wait(self, key: str) -> Resolution:
        """Wait for the result of a key.

        Raises:
            KeyError: The key is not pending, or was discarded while waiting.
        """
        with self._lock:
            found = self._resolved.get(key)
            if found is not None:
                return found
            if key not in self._entries:
                raise KeyError(key)
            future: asyncio.Future[Resolution] = running_loop().create_future()
            self._waiting.setdefault(key, []).append(future)
        try:
            return await future
        finally:
            with self._lock:
                others = self._waiting.get(key, [])
                if future in others:
                    others.remove(future)
                    if not others:
                        del self._waiting[key]

    def discard(self, key: str) -> None:
        """Remove a key and its result, for instance after its run has ended."""
        with self._lock:
            self._entries.pop(key, None)
            self._resolved.pop(key, None)
            waiting = self._waiting.pop(key, [])
        for future in waiting:
            _wake(future, KeyError(key))

    def merge_results(
        self, aggregate: ToolAggregateMessage, *, max_result_chars: int | None = None
    ) -> ToolAggregateMessage:
        """Return the aggregate with delivered results filled in for its pending calls.

        Results that it already has are unchanged.

        Args:
            aggregate: Calls, some of them without a result.
            max_result_chars: Maximum length of a result's text, in characters.
        """
        results = {result.tool_call_id: result for result in aggregate.tool_results}
        keys = self._keys_of(aggregate)
        found = len(results)
        for call in aggregate.tool_calls:
            resolution = None if call.id in results else self.result_of(keys.get(call.id, ""))
            if resolution is not None:
                results[call.id] = ToolResult(
                    call.id,
                    call.name,
                    truncate(to_text(resolution.value), max_result_chars),
                    value=resolution.value,
                    is_error=resolution.is_error,
                    error_code=ErrorCode.TOOL_ERROR if resolution.is_error else None,
                )
        if len(results) == found:
            return aggregate
        ordered = [results[call.id] for call in aggregate.tool_calls if call.id in results]
        return aggregate.__replace__(tool_results=ordered)

    def to_dict(self) -> dict[str, Any]:
        """Return all entries and results as JSON values."""
        with self._lock:
            entries = [
                _entry_to_dict(entry, self._resolved.get(key))
                for key, entry in self._entries.items()
            ]
        return {"entries": copy.deepcopy(entries)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> DeferredResults:
        """Load what `to_dict` returned.

        Raises:
            ValueError: The data has another form.
        """
        results = cls()
        try:
            for each in copy.deepcopy(fields["entries"]):
                entry, resolution = _entry_from_dict(each)
                results._entries[entry.key] = entry
                if resolution is not None:
                    results._resolved[entry.key] = resolution
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                "fields must be the output of DeferredResults.to_dict, got other data: "
                f"{type(error).__name__}: {error}"
            ) from error
        return results

    def _unused_key(self, base: str) -> str:
        if base not in self._entries:
            return base
        number = self._numbers.get(base, 1) + 1
        while (key := f"{base}#{number}") in self._entries:
            number += 1
        self._numbers[base] = number
        return key

    def _keys_of(self, aggregate: ToolAggregateMessage) -> dict[str, str]:
        """Return the keys of an aggregate's calls, from its metadata or else the last added."""
        with self._lock:
            keys = {
                _identity(entry.call): entry.key
                for entry in self._entries.values()
                if entry.question is None
            }
        recorded: object = aggregate.metadata.get(METADATA)
        found = {call.id: keys.get(_identity(call), "") for call in aggregate.tool_calls}
        if isinstance(recorded, dict):
            found.update(cast("dict[str, str]", recorded))
        return found


def _identity(call: ToolCall) -> tuple[str, str]:
    return call.id, ResultCache.key(call.name, call.arguments)


def _is_same_result(one: Resolution, other: Resolution) -> bool:
    # Compared as JSON, since 1 == True in Python.
    return one.is_error == other.is_error and ResultCache.key(
        "", {"value": one.value}
    ) == ResultCache.key("", {"value": other.value})


def _wake(future: asyncio.Future[Resolution], found: Resolution | KeyError) -> None:
    def wake() -> None:
        if future.done():
            return
        if isinstance(found, Resolution):
            future.set_result(found)
        else:
            future.set_exception(found)

    try:
        future.get_loop().call_soon_threadsafe(wake)
    except RuntimeError:
        # The loop is closed, so nothing is waiting.
        return


def _entry_to_dict(entry: PendingResult, resolution: Resolution | None) -> dict[str, Any]:
    call = entry.call
    fields: dict[str, Any] = {
        "key": entry.key,
        "call": {"id": call.id, "name": call.name, "arguments": call.arguments},
    }
    for name in ("note", "question", "schema"):
        if getattr(entry, name) is not None:
            fields[name] = getattr(entry, name)
    if resolution is not None:
        fields["result"] = {"value": resolution.value, "isError": resolution.is_error}
    return fields


def _entry_from_dict(fields: Mapping[str, Any]) -> tuple[PendingResult, Resolution | None]:
    call = fields["call"]
    entry = PendingResult(
        fields["key"],
        ToolCall(call["id"], call["name"], call["arguments"]),
        fields.get("note"),
        fields.get("question"),
        fields.get("schema"),
    )
    result = fields.get("result")
    return entry, None if result is None else Resolution(result["value"], result["isError"])
