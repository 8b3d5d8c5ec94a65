"""Putting native calls together from their fragments."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._core import Discarded, ToolCallDelta, ToolCallStart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .. import Event, Parser, ToolCallUpdate

_log = logging.getLogger("toolweave.natural")

# An escape that is not whole yet, at the end of a text: what stands before it is pairs of
# backslashes. The high half of a surrogate pair waits for the low one.
_HALF_ESCAPE = re.compile(
    r"(?<!\\)(?:\\\\)*(?P<half>\\(?:u[0-9a-fA-F]{0,3}"
    r"|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?)\Z"
)
_LONGEST_HALF = len(r"\ud83d\u000")


@dataclass
class _Call:
    index: int
    """The position among the calls of the reply."""
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    shown: int = 0
    """How many of the pieces are in deltas."""
    held: str = ""
    """The half of an escape that waits for the other."""
    begun: bool = False
    settled: bool = False

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class NativeCalls:
    """The native calls of one reply.

    The id may be on the first fragment only; the index stands for it from then on. A call is whole
    as soon as another begins, if its arguments are a JSON object by then, and at the end.

    Args:
        judge: Mends and validates the arguments.
        number: Gives the position of a new call among those of the reply.
        call_id: Gives an id to the call at a position, where the provider gave none.
        deltas: Whether arguments are reported while they arrive.
    """

    def __init__(
        self,
        judge: Parser,
        *,
        number: Callable[[], int],
        call_id: Callable[[int], str],
        deltas: bool,
    ) -> None:
        self._judge = judge
        self._number = number
        self._call_id = call_id
        self._deltas = deltas
        self._calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[int, _Call] = {}

    def push(self, update: ToolCallUpdate) -> Iterator[Event]:
        """Takes the next fragment and gives what it makes certain."""
        name = update.function_name or ""
        call = self._find(update.tool_call_id or None, update.index, named=bool(name))
        if call is None:
            last = self._calls[-1] if self._calls else None
            call = _Call(self._number())
            self._calls.append(call)
            if last is not None and not last.settled and _is_whole(last.arguments):
                yield from self._settle(last, truncated=False)
        self._alias(call, update)
        fragment = update.function_args or ""
        if call.settled:
            _log.warning("a fragment came after its call", extra={"tool_call_id": call.id})
            if fragment:
                yield Discarded(fragment, "late_fragment")
            return
        if name and name != call.name:
            if call.pieces:
                _log.warning(
                    "a native call was renamed",
                    extra={"tool_call_id": call.id, "tool": call.name, "other": name},
                )
            else:
                call.name += name
        if fragment:
            call.pieces.append(fragment)
            if call.name:
                yield from self._show(call)

    def finish(self, *, truncated: bool) -> Iterator[Event]:
        """Ends the reply: judges every call that is still open."""
        for call in self._calls:
            if not call.settled:
                yield from self._settle(call, truncated=truncated)

    def _find(self, id: str | None, index: int | None, *, named: bool) -> _Call | None:  # noqa: A002
        by_index = None if index is None else self._by_index.get(index)
        if id is not None:
            known = self._by_id.get(id)
            if known is None and by_index is not None and not by_index.id:
                return by_index
            # With another id, the provider uses the index again for a new call.
            return known
        if index is not None:
            return by_index
        # Neither id nor index: more of the latest call, unless a new name begins one.
        return None if named or not self._calls else self._calls[-1]

    def _alias(self, call: _Call, update: ToolCallUpdate) -> None:
        if update.tool_call_id and not call.id:
            call.id = update.tool_call_id
            self._by_id[call.id] = call
        if update.index is not None:
            self._by_index[update.index] = call

    def _begin(self, call: _Call) -> ToolCallStart:
        call.begun = True
        call.id = call.id or self._call_id(call.index)
        return ToolCallStart(call.index, call.id, call.name)

    def _show(self, call: _Call) -> Iterator[Event]:
        if not call.begun:
            yield self._begin(call)
        if not self._deltas:
            return
        text = call.held + "".join(call.pieces[call.shown :])
        call.shown = len(call.pieces)
        call.held = ""
        if "\\" in text[-_LONGEST_HALF:]:
            found = _HALF_ESCAPE.search(text)
            if found is not None:
                call.held = found["half"]
                text = text[: found.start("half")]
        if text:
            yield ToolCallDelta(call.index, text)

    def _settle(self, call: _Call, *, truncated: bool) -> Iterator[Event]:
        if not call.begun:
            yield self._begin(call)
        if self._deltas:
            yield from self._show(call)
            if call.held:
                yield ToolCallDelta(call.index, call.held)
        call.settled = True
        arguments = call.arguments
        call.pieces.clear()
        yield self._judge.native_call(
            call.id, call.name, arguments, index=call.index, truncated=truncated
        )


def _is_whole(arguments: str) -> bool:
    """Whether this is a JSON object: none is the beginning of another."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
