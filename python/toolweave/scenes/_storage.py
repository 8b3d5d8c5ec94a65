"""Results of client tools, and the metadata of conversations between runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from .._core import ToolAggregateMessage, ToolCall
from ..executor import DeferredResults
from ..kinds import SceneStatus, SceneStopReason
from ._model_turn import failure_text
from ._request import ClientResult
from ._state import StopRun
from ._steps import ExecutedTool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import ToolResult
    from ..conversations import Interaction
    from ._request import ClientResults
    from ._state import RunState

QUEUE_KEY = "toolweave.agenda"
"""Metadata key of a conversation for the scene queue of a paused run."""

USER_KEY = "toolweave.user"
"""Metadata key of a conversation for its user."""

NO_RESULT = "No result received from client for this tool"


def results_of(given: ClientResults) -> dict[str, ClientResult]:
    """Return the results of the client by interaction id."""
    if isinstance(given, Mapping):
        return {
            key: each if isinstance(each, ClientResult) else ClientResult(key, each)
            for key, each in cast("Mapping[str, Any]", given).items()
        }
    return {each.interaction_id: each for each in given}


def missing_results(waiting: Sequence[Interaction]) -> dict[str, ClientResult]:
    """Return errors in place of results that the client did not deliver."""
    return {
        each.interaction_id: ClientResult(each.interaction_id, f"Error: {NO_RESULT}", is_error=True)
        for each in waiting
    }


def check_results(
    key: str, waiting: Sequence[Interaction], results: Mapping[str, ClientResult]
) -> None:
    """Check that the conversation waits for these results.

    Raises:
        StopRun: It does not wait for one of them. The message lists the pending ids.
    """
    if not waiting:
        raise StopRun(
            SceneStopReason.ERROR,
            f"No pending client interaction found for conversation '{key}'. "
            "The conversation key may be invalid or expired.",
        )
    known = [each.interaction_id for each in waiting]
    for each in results:
        if each not in known:
            raise StopRun(
                SceneStopReason.ERROR,
                f"No pending client interaction '{each}' in conversation '{key}'; "
                f"pending: {', '.join(known)}",
            )


async def apply_client_results(
    state: RunState, waiting: Sequence[Interaction], results: Mapping[str, ClientResult]
) -> tuple[Interaction, ...]:
    """Merge results of the client into the conversation, record them and emit their steps.

    Returns:
        The calls that are still waiting.
    """
    arrived = DeferredResults()
    for each in waiting:
        result = results.get(each.interaction_id)
        if result is not None:
            call = ToolCall(each.call_id, each.function, dict(each.arguments))
            arrived.add(call, each.interaction_id)
            arrived.resolve(each.interaction_id, result.result, is_error=result.is_error)
    found: dict[str, ToolResult] = {}
    messages: dict[str, ToolAggregateMessage] = {}
    for position, message in enumerate(state.messages):
        if isinstance(message, ToolAggregateMessage):
            filled = arrived.merge_results(message)
            if filled is not message:
                state.messages[position] = filled
                state.changed.append(filled)
                found.update((result.tool_call_id, result) for result in filled.tool_results)
                messages.update((call.id, filled) for call in filled.tool_calls)
    for each in waiting:
        answer = found.get(each.call_id)
        if answer is not None and each.interaction_id in results:
            if state.journal is not None:
                call = ToolCall(each.call_id, each.function, dict(each.arguments))
                await state.journal.finished(call, answer)
            # These steps belong to the reply that made the call.
            message = messages[each.call_id]
            state.generation_id = message.generation_id
            _emit_result(state, each, answer, message.id)
    return tuple(each for each in waiting if each.interaction_id not in results)


def _emit_result(
    state: RunState, waiting: Interaction, result: ToolResult, message_id: str | None
) -> None:
    name = waiting.function
    text = failure_text(result) if result.is_error else f"Tool {name} executed: {result.result}"
    state.emit(
        SceneStatus.ERROR if result.is_error else SceneStatus.FUNCTION_COMPLETED,
        text,
        scene=waiting.scene,
        function=name,
        call_id=waiting.call_id,
        message_id=message_id,
        arguments=waiting.arguments,
        result=result.result,
        error=result.result if result.is_error else None,
        interaction_id=waiting.interaction_id,
    )
    state.executed.append(
        ExecutedTool(
            waiting.scene, name, waiting.call_id, waiting.arguments, result.result, result.is_error
        )
    )
