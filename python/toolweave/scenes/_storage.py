"""The conversation of a run: loaded, shortened, continued with results of the client, and saved."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from .._core import ToolCall
from ..agent._loop import merge_late_results
from ..executor import DeferredResults
from ..kinds import SceneStatus, SceneStopReason
from ..models import as_messages
from ._ends import StopRun, failure, model_failure_text
from ._request import ClientResult
from ._scene_queue import SceneQueue

if TYPE_CHECKING:
    from ..conversations import Interaction
    from ._request import ClientResults
    from ._state import RunState

_log = logging.getLogger("toolweave.scenes")

_QUEUE_KEY = "toolweave.agenda"
"""Metadata key of a conversation for the scene queue of a paused run."""

_NO_RESULT = "Error: No result received from client for this tool"


async def load(state: RunState) -> None:
    """Load the conversation, the calls that wait for the client, and the queue to resume with.

    Raises:
        MessageError: The history of the request is invalid.
        StopRun: The conversation belongs to another user.
    """
    conversation = await state.settings.store.load(state.key)
    if conversation is None:
        state.messages = as_messages(state.request.history)
        state.conversation.user = state.request.user
        return
    if conversation.user is not None and conversation.user != state.request.user:
        raise StopRun(SceneStopReason.UNAUTHORIZED, "This conversation belongs to another user.")
    state.conversation = conversation
    state.messages = list(conversation.messages)
    state.costs.previous = conversation.cost
    state.waiting = tuple(conversation.pending)
    saved = conversation.metadata.get(_QUEUE_KEY)
    if saved is not None:
        try:
            state.queue = SceneQueue.from_dict(saved)
        except ValueError:
            # Perhaps another version wrote it. The conversation continues without it.
            _log.warning("a scene queue cannot be read", extra={"conversation": state.key})


async def save(state: RunState) -> None:
    """Save the conversation, with the queue if calls wait for the client."""
    conversation = state.conversation
    conversation.messages = list(state.messages)
    conversation.cost = state.costs.conversation_total
    conversation.pending = list(state.waiting)
    conversation.scene = state.waiting[0].scene if state.waiting else None
    conversation.metadata.pop(_QUEUE_KEY, None)
    if state.waiting and state.queue is not None:
        conversation.metadata[_QUEUE_KEY] = state.queue.to_dict()
    await state.settings.store.save(conversation)


async def shorten(state: RunState) -> None:
    """Summarize the conversation if it is long. If that fails, it stays as it is.

    Raises:
        StopRun: The budget is exceeded.
    """
    summarizer = state.settings.summarizer
    if summarizer is None or state.limit_error or not summarizer.is_due(state.messages):
        return
    state.emit(SceneStatus.SUMMARIZING, "Summarizing cached conversation", lifecycle=True)
    state.costs.requests += 1
    shortened = await summarizer.shorten(state.messages)
    if shortened is None:
        return
    if (error := shortened.error) is not None:
        what = "a conversation could not be summarized"
        state.emit_stop(failure(error, model_failure_text(error), what))
    state.messages = list(shortened.messages)
    state.conversation.summary = shortened.summary or state.conversation.summary
    state.check_budget()


def results_of(state: RunState, given: ClientResults) -> dict[str, ClientResult]:
    """Return the results of the client by interaction id.

    Raises:
        StopRun: The conversation does not wait for one of them. The message lists the pending ids.
    """
    if isinstance(given, Mapping):
        results = {
            key: each if isinstance(each, ClientResult) else ClientResult(key, each)
            for key, each in cast("Mapping[str, Any]", given).items()
        }
    else:
        results = {each.interaction_id: each for each in given}
    if not state.waiting:
        raise StopRun(
            SceneStopReason.ERROR,
            f"No pending client interaction found for conversation '{state.key}'. "
            "The conversation key may be invalid or expired.",
        )
    known = [each.interaction_id for each in state.waiting]
    for each in results:
        if each not in known:
            raise StopRun(
                SceneStopReason.ERROR,
                f"No pending client interaction '{each}' in conversation '{state.key}'; "
                f"pending: {', '.join(known)}",
            )
    return results


async def add_results(
    state: RunState, results: Mapping[str, ClientResult], *, complete: bool = False
) -> None:
    """Add results of the client to the conversation, and emit their steps.

    Args:
        state: The run.
        results: The results by interaction id.
        complete: True to add an error in place of each result that is missing.
    """
    arrived = DeferredResults()
    delivered: dict[str, Interaction] = {}
    for each in state.waiting:
        key = each.interaction_id
        result = results.get(key)
        if result is None and complete:
            result = ClientResult(key, _NO_RESULT, is_error=True)
        if result is not None:
            arrived.add(ToolCall(each.call_id, each.function, dict(each.arguments)), key)
            arrived.resolve(key, result.result, is_error=result.is_error)
            delivered[each.call_id] = each
    if not delivered:
        return
    state.waiting = tuple(each for each in state.waiting if each.call_id not in delivered)
    merged = await merge_late_results(
        state.messages, arrived.merge_results, state.journal, state.changed
    )
    for message, late in merged:
        # These steps belong to the reply that made the calls.
        state.generation_id = message.generation_id
        for call, outcome in late:
            waiting = delivered[call.id]
            state.emit_result(
                outcome,
                scene=waiting.scene,
                message_id=message.id,
                arguments=call.arguments,
                interaction_id=waiting.interaction_id,
            )
            state.add_executed(waiting.scene, call, outcome)
