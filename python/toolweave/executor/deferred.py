"""Results that come later, perhaps in another process.

A tool returns `Deferred` and its call stays pending until somebody resolves the key. What is
awaited is plain data: write `to_dict` down, and go on with `from_dict` after a restart.

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

from .._checks import check_text
from .._core import ToolAggregateMessage, ToolCall, ToolResult, Validator
from .._loops import running_loop
from .._single_flight import ResultCache
from ..kinds import ErrorCode, Outcome
from .results import to_json_value, to_text, truncate

if TYPE_CHECKING:
    from collections.abc import Mapping

METADATA = "deferred"
"""Where an aggregate's metadata holds the keys of its pending calls, by the ids of the calls."""


@dataclass(frozen=True)
class Deferred:
    """What a tool returns when its result comes later."""

    key: str | None = None
    """What to resolve; None for one made of the id of the call."""
    note: str | None = None
    """Anything about it, for whoever looks at what is pending."""

    def __post_init__(self) -> None:
        check_text("key", self.key, none=True)
        check_text("note", self.note, none=True)


@dataclass(frozen=True)
class Resolution:
    """A result that came later."""

    value: Any
    """The result: JSON values."""
    is_error: bool = False
    """Whether it says that the call failed."""


@dataclass(frozen=True)
class PendingResult:
    """What somebody waits for: the result of a call, or the answer to a question."""

    key: str
    """What to resolve."""
    call: ToolCall
    """The call, or the one whose tool asks."""
    note: str | None = None
    """What the tool said about it."""
    question: str | None = None
    """What the tool wants to know; None where the result itself is awaited."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of the answer."""


class DeferredResults:
    """Which results are awaited, and which have come. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, PendingResult] = {}
        self._resolved: dict[str, Resolution] = {}
        self._waiting: dict[str, list[asyncio.Future[Resolution]]] = {}
        # The last number that was given to calls with the same id.
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
        """Waits for a result.

        Args:
            call: The call.
            key: What to resolve; None for one made of the id of the call.
            note: What the tool says about it.
            question: What the tool wants to know, where it asks.
            schema: The JSON Schema of the answer.

        Returns:
            The key.

        Raises:
            ValueError: The key is taken already.
            SchemaError: The schema is wrong.
        """
        if schema is not None:
            Validator(schema)
            schema = copy.deepcopy(dict(schema))
        # Its arguments are copied, whatever the tool does to those that it was given.
        call = ToolCall(call.id, call.name, call.arguments)
        with self._lock:
            if key is None:
                key = self._free(call.id)
            elif key in self._entries:
                taken = self._entries[key].call
                raise ValueError(
                    f"the key {key!r} is taken by the call {taken.id!r} of the tool {taken.name!r}"
                )
            self._entries[key] = PendingResult(key, call, note, question, schema)
        return key

    @property
    def pending(self) -> tuple[PendingResult, ...]:
        """What is awaited, the oldest first."""
        with self._lock:
            return tuple(entry for key, entry in self._entries.items() if key not in self._resolved)

    def resolve(self, key: str, result: object, *, is_error: bool = False) -> Outcome:
        """Says what the result is. Any thread may; only the first result counts.

        Args:
            key: What is awaited.
            result: JSON values, or what `to_json_value` can make into them.
            is_error: Whether the result says that the call failed.

        Raises:
            ValidationError: The answer to a question does not fit its schema; it is awaited still.
            ResultError: The result cannot be written as JSON.
        """
        resolution = Resolution(to_json_value(result), is_error)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return Outcome.NOT_FOUND
            earlier = self._resolved.get(key)
            if earlier is not None:
                return Outcome.DUPLICATE if _same(earlier, resolution) else Outcome.CONFLICT
            if entry.schema is not None and not is_error:
                Validator(entry.schema).validate(resolution.value)
            self._resolved[key] = resolution
            waiting = self._waiting.pop(key, [])
        for future in waiting:
            _wake(future, resolution)
        return Outcome.RESOLVED

    def get(self, key: str) -> PendingResult | None:
        """What is awaited under a key, whether the result has come or not."""
        with self._lock:
            return self._entries.get(key)

    def restore(self, entry: PendingResult) -> None:
        """Waits again for what was awaited before, perhaps by another process.

        An entry that is there already stays as it is, with what has come for it.

        Args:
            entry: What was awaited, under its key.

        Raises:
            ValueError: The key is taken by another call.
        """
        with self._lock:
            known = self._entries.setdefault(entry.key, entry)
        if known is not entry and _identity(known.call) != _identity(entry.call):
            raise ValueError(
                f"the key {entry.key!r} is taken by the call {known.call.id!r} of the tool "
                f"{known.call.name!r}"
            )

    def result_of(self, key: str) -> Resolution | None:
        """What has come for a key, if it has."""
        with self._lock:
            return self._resolved.get(key)

    async def wait(self, key: str) -> Resolution:
        """Waits for the result.

        Raises:
            KeyError: Nobody waits for that key, or nobody does any more.
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
        """Forgets a key and its result, such as one whose run is over."""
        with self._lock:
            self._entries.pop(key, None)
            self._resolved.pop(key, None)
            waiting = self._waiting.pop(key, [])
        for future in waiting:
            _wake(future, KeyError(key))

    def merge_results(
        self, aggregate: ToolAggregateMessage, *, max_result_chars: int | None = None
    ) -> ToolAggregateMessage:
        """The aggregate with the results that have come for its pending calls.

        Results that it has already stay as they are.

        Args:
            aggregate: Calls, some of them without a result.
            max_result_chars: How much of a result the model reads.
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
        """Everything, as JSON values."""
        with self._lock:
            entries = [
                _entry_to_dict(entry, self._resolved.get(key))
                for key, entry in self._entries.items()
            ]
        return {"entries": copy.deepcopy(entries)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> DeferredResults:
        """Reads what `to_dict` wrote.

        Raises:
            ValueError: It is something else.
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
                f"not what DeferredResults.to_dict writes: {type(error).__name__}: {error}"
            ) from error
        return results

    def _free(self, base: str) -> str:
        if base not in self._entries:
            return base
        number = self._numbers.get(base, 1) + 1
        while (key := f"{base}#{number}") in self._entries:
            number += 1
        self._numbers[base] = number
        return key

    def _keys_of(self, aggregate: ToolAggregateMessage) -> dict[str, str]:
        """The keys of an aggregate's calls: as it says itself, or those added last for each."""
        with self._lock:
            keys = {
                _identity(entry.call): entry.key
                for entry in self._entries.values()
                if entry.question is None
            }
        said: object = aggregate.metadata.get(METADATA)
        found = {call.id: keys.get(_identity(call), "") for call in aggregate.tool_calls}
        if isinstance(said, dict):
            found.update(cast("dict[str, str]", said))
        return found


def _identity(call: ToolCall) -> tuple[str, str]:
    return call.id, ResultCache.key(call.name, call.arguments)


def _same(one: Resolution, other: Resolution) -> bool:
    # By their JSON: in Python 1 and True are equal.
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
        # The loop is closed: nobody waits any more.
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
