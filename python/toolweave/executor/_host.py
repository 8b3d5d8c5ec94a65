"""Implementation of `ToolContext` by the executor."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..exceptions import ToolFailed
from ._events import ToolQuestion
from ._nested import call_nested
from ._results import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolCall
    from ._call import Execution


class CallHost:
    """Host of one running call; see `ToolContext`."""

    __slots__ = ("_execution",)

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    @property
    def cancelled(self) -> bool:
        """True if the result is no longer needed."""
        return self._execution.stopped is not None or self._execution.finished

    def progress(self, call: ToolCall, value: Any) -> None:  # noqa: ARG002 - the execution has it
        """Report progress. Thread-safe."""
        execution = self._execution
        if threading.get_ident() == execution.run.thread:
            execution.progress(value)
        else:
            execution.run.progress_from_thread(execution, value)

    async def ask(self, call: ToolCall, question: str, schema: Mapping[str, Any] | None) -> Any:
        """Ask the user. The tool's timeouts are paused until the answer."""
        execution = self._execution
        run = execution.run
        key = run.deferred.add(call, question=question, schema=schema)
        try:
            run.publisher.publish(ToolQuestion(call.id, key, question, schema), call)
            async with execution.suspended():
                answer = await run.deferred.wait(key)
        finally:
            run.deferred.discard(key)
        if answer.is_error:
            raise ToolFailed(to_text(answer.value))
        return answer.value

    async def call(self, parent: ToolCall, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ARG002 - as above
        """Run another tool on behalf of the tool that serves `parent`."""
        return await call_nested(self._execution, name, arguments)
