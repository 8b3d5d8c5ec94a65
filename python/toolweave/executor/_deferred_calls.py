"""Deferred calls of one reply: those whose results are delivered later."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ._events import ToolDeferred

if TYPE_CHECKING:
    from .._core import ToolAggregateMessage, ToolResult
    from ._call import Execution
    from ._deferred import Deferred, DeferredResults

_log = logging.getLogger("toolweave.executor")


class DeferredCalls:
    """The deferred calls of a reply, with the keys that resolve them.

    Args:
        deferred: The deferred results of the executor.
    """

    __slots__ = ("_deferred", "keys")

    def __init__(self, deferred: DeferredResults) -> None:
        self._deferred = deferred
        self.keys: dict[str, str] = {}
        """Keys by the ids of the calls, for the metadata of the aggregate."""

    def add(self, execution: Execution, outcome: Deferred) -> Deferred | ToolResult:
        """Register a deferred call. An invalid or taken key fails the call instead."""
        call = execution.call
        try:
            key = self._deferred.add(call, outcome.key, note=outcome.note)
        except Exception as error:  # noqa: BLE001 - the tool chose the key
            return execution.error_result(error)
        _log.info("a call is deferred", extra=execution.log_fields())
        execution.deferred_key, execution.is_deferred = key, True
        if execution.parent is None:
            self.keys[call.id] = key
        return outcome

    def discard(self, execution: Execution) -> None:
        """Stop waiting for the result of a call."""
        if execution.is_deferred:
            execution.is_deferred = False
            self.keys.pop(execution.call.id, None)
            self._deferred.discard(execution.deferred_key)

    def event(self, execution: Execution) -> ToolDeferred:
        """Return the event of a deferred call."""
        return ToolDeferred(execution.call.id, execution.call.name, execution.deferred_key)

    def merge_resolved(
        self, aggregate: ToolAggregateMessage, max_result_chars: int | None
    ) -> tuple[ToolAggregateMessage, list[ToolResult]]:
        """Merge results that were resolved while other calls ran.

        Returns:
            The aggregate with these results, and the results that were added.
        """
        merged = self._deferred.merge_results(aggregate, max_result_chars=max_result_chars)
        known = {result.tool_call_id for result in aggregate.tool_results}
        return merged, [each for each in merged.tool_results if each.tool_call_id not in known]
