"""Agents as tools of other agents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._aio.tasks import cancel_and_wait
from .._checks import check_text
from ..costs._spending import current_meter
from ..exceptions import ToolFailed
from ..executor import ToolProgress, ToolQuestion, ToolStarted
from ..executor._results import to_text
from ..kinds import StopReason
from ..tools import ToolContext, tool
from ..tools._names import provider_name
from ._handoff import HandoffEvent
from ._limits import RunUsage

if TYPE_CHECKING:
    from ..executor import DeferredResults
    from ..tools import Tool, ToolOptions
    from ._handoff import AgentSource
    from ._run import AgentEvent, AgentRun

_MAX_SHOWN = 500


def agent_tool(
    source: AgentSource[Any],
    name: str | None,
    description: str | None,
    input_type: Any,
    options: ToolOptions,
) -> Tool[..., Any]:
    """Return a tool that runs an agent; see `Agent.as_tool`."""
    check_text("name", name, none=True, empty=False)
    check_text("description", description, none=True)
    agent = source.name
    if name is None and agent is not None:
        name = provider_name(agent, default="agent")
    if name is None:
        raise ValueError(
            "an agent without a name needs one as a tool: as_tool(name=...), or Agent(name=...)"
        )
    if description is None:
        description = f"Give a task to the agent {agent or name!r} and return its answer."

    async def run_agent(input: Any, context: ToolContext[Any]) -> Any:  # noqa: A002
        """Run the agent.

        Args:
            input: The task, with everything that the agent has to know for it.
            context: The context of the call.
        """
        _check_depth(source.executor.max_call_depth, name)
        task = input if isinstance(input, str) else to_text(input)
        run: AgentRun[Any, Any] = source.open(task, deps=context.deps)
        questions = _Questions(context)
        try:
            async with run:
                async for event in run:
                    if isinstance(event, ToolQuestion):
                        questions.relay(event, run.deferred)
                    else:
                        _report(event, context)
        finally:
            await questions.close()
        result = run.result
        if result is None or result.stop_reason is not StopReason.COMPLETED:
            reason = "unknown" if result is None else result.stop_reason.value
            detail = "" if result is None else result.error or result.text
            raise ToolFailed(
                f"The agent {name!r} did not finish ({reason})"
                + (f": {detail[:_MAX_SHOWN]}" if detail else ".")
            )
        return result.output

    run_agent.__annotations__ = {"input": input_type, "context": ToolContext, "return": Any}
    made: Tool[..., Any] = tool(run_agent, name=name, description=description, **options)
    return made


class _Questions:
    """Questions of the tools of an agent, which the call of the agent asks in its own run.

    They are asked one at a time, since the call releases its slot for each of them.
    """

    def __init__(self, context: ToolContext[Any]) -> None:
        self._context = context
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def relay(self, question: ToolQuestion, deferred: DeferredResults) -> None:
        """Ask a question in the background, and resolve its key with the answer."""
        task = asyncio.create_task(self._ask(question, deferred))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Withdraw the questions without an answer."""
        await cancel_and_wait(*self._tasks)

    async def _ask(self, question: ToolQuestion, deferred: DeferredResults) -> None:
        async with self._turn:
            try:
                answer = await self._context.ask(question.question, question.schema)
            except ToolFailed as failed:
                deferred.resolve(question.key, str(failed), is_error=True)
            else:
                deferred.resolve(question.key, answer)


def _check_depth(limit: int, name: str) -> None:
    """Raise if too many runs are inside of each other."""
    around = current_meter.get()
    if isinstance(around, RunUsage) and around.depth > limit:
        raise ToolFailed(
            f"The agent {name!r} was not called: agents call agents at most {limit} deep."
        )


def _report(event: AgentEvent[Any], context: ToolContext[Any]) -> None:
    """Report an event of the agent as progress of the call."""
    if isinstance(event, ToolStarted):
        context.progress(f"Calling {event.name}")
    elif isinstance(event, ToolProgress):
        context.progress(event.value)
    elif isinstance(event, HandoffEvent):
        context.progress(f"Transferring to {event.to_agent}")
