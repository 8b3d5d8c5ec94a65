"""What a tool's context asks of the executor."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..exceptions import ToolFailed
from .events import ToolQuestion
from .nested import call_nested
from .results import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolCall
    from .call import Execution


class CallHost:
    """The host of one running call; see `ToolContext`."""

    __slots__ = ("_execution",)

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more."""
        return self._execution.stopped is not None or self._execution.finished

    def progress(self, call: ToolCall, value: Any) -> None:  # noqa: ARG002 - the execution has it
        """Shows a value to whoever watches, from any thread."""
        execution = self._execution
        if threading.get_ident() == execution.run.thread:
            execution.progress(value)
        else:
            execution.run.progress_from_thread(execution, value)

    async def ask(self, call: ToolCall, question: str, schema: Mapping[str, Any] | None) -> Any:
        """Asks the user; the time until the answer does not count as the tool's."""
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
        """Runs another tool for the one that serves `parent`."""
        return await call_nested(self._execution, name, arguments)
