"""Asking the model, and telling of what comes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .._core import (
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
)
from ..executor import ToolQuestion, ToolStarted
from ..kinds import ErrorCode, FinishReason, SceneStatus, SceneStopReason
from ..models.fallback import Answer, answering
from ..natural.parts import PartNumbers
from .stage import Stop
from .steps import ExecutedTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from .. import Message
    from ..natural import NaturalToolUse, ReplyRun, UseEvent
    from ..protocols import ModelOptions
    from .scene import Scene
    from .stage import Stage

_log = logging.getLogger("toolweave.scenes")

_FAILED = "Error executing tool"


class Asking:
    """One request to the model, from the question to the last result of its calls.

    The calls wait until the model has ended and the reply is paid for. A reply that broke off, or
    was cancelled before that, is not kept. A reply that is empty is asked for once more, if there
    is something to pay it with.

    Args:
        stage: The run.
        use: What asks the model.
        scene: The scene that it is asked in.
        keep: Makes messages for the conversation of the reply.
        told: Whether text and calls are told of.
        runs: Whether its calls are run; otherwise they are only made.
    """

    def __init__(
        self,
        stage: Stage,
        use: NaturalToolUse,
        *,
        scene: Scene | None = None,
        keep: Callable[[ReplyRun], Iterable[Message]] | None = None,
        told: bool = True,
        runs: bool = True,
    ) -> None:
        self._stage = stage
        self._use = use
        self._scene = scene
        self._keep = keep
        self._told = told
        self._runs = runs
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._requested: set[str] = set()
        self._admitted: bool | None = None
        self._said = False
        self._numbers = PartNumbers()
        self._answered_by = Answer()
        self.requests = 0
        """How often the model was asked."""

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        offered: bool = True,
        options: ModelOptions | None = None,
        most: int = 2,
    ) -> ReplyRun:
        """Asks, and waits for the reply and the results.

        Args:
            messages: What the model reads.
            offered: Whether it is told of the tools.
            options: What the request asks for.
            most: How often the model may be asked, once or twice.

        Raises:
            ModelError: The model could not be asked, or broke off.
        """
        reply = await self._ask(messages, offered, options)
        if reply.is_empty and most > 1 and self._stage.ledger.overdrawn is None:
            _log.info("an empty reply is asked for once more", extra={"run_id": self._stage.run_id})
            self._admitted, self._said, self._numbers = None, False, PartNumbers()
            reply = await self._ask([*messages, reply.reminder], offered, options)
        return reply

    async def _ask(
        self, messages: Sequence[Message], offered: bool, options: ModelOptions | None
    ) -> ReplyRun:
        """Asks once."""
        stage = self._stage
        self.requests += 1
        stage.ledger.requests += 1
        # The request is made in a copy of this context.
        with answering() as self._answered_by:
            reply = self._use.open(
                messages,
                options=stage.rules.options if options is None else options,
                run_id=stage.run_id,
                chat_id=stage.key,
                offered=offered,
                admit=self._admit,
                # Calls that are only made have nothing to write down.
                journal=stage.journal if self._runs else None,
            )
        stage.reply, stage.generation_id = reply, reply.generation_id
        try:
            async with reply:
                async for event in reply:
                    if self._told:
                        self._tell(event, reply)
        finally:
            if self._admitted is None:
                self._charge(reply)
            elif self._told:
                # Stopped, it may have more to tell, and waits for nothing.
                async for event in reply:
                    self._tell(event, reply)
            if self._admitted is not None and (self._told or self._keep is not None):
                kept = reply.messages if self._keep is None else self._keep(reply)
                stage.messages += kept
                if self._scene is not None and reply.aggregate is not None:
                    self._track(reply.aggregate, self._scene)
        return reply

    def _admit(self, reply: ReplyRun) -> bool:
        self._charge(reply)
        self._admitted = self._stage.ledger.overdrawn is None
        return self._admitted and self._runs

    def _charge(self, reply: ReplyRun) -> None:
        model = self._answered_by.model or self._stage.cast.model
        self._stage.ledger.charge(model, reply)

    def _tell(self, event: UseEvent, reply: ReplyRun) -> None:
        if isinstance(event, ReasoningDelta):
            self._numbers.place("reasoning", event.text)
        elif isinstance(event, TextDelta):
            number = self._numbers.place("text", event.text)
            if self._stage.streaming and event.text:
                message_id = f"{reply.generation_id}.{number}"
                self._emit(SceneStatus.STREAMING, event.text, message_id=message_id)
        elif isinstance(event, ToolCall):
            self._calls[event.id] = event.arguments
        elif isinstance(event, (ToolStarted, ToolResult)):
            # The first of them: the model has ended, so that its text is whole.
            if not self._said and reply.text.strip():
                said = reply.text.strip()
                self._emit(SceneStatus.RUNNING, said, message_id=_first_text(reply))
            self._said = True
            if self._scene is None:
                return
            if not (self._admitted and self._runs):
                self._skip(event)
                return
            if isinstance(event, ToolStarted):
                self._request(event.name, event.tool_call_id, event.arguments)
            else:
                self._answer(event)
        elif isinstance(event, ToolQuestion):
            # It is asked while the tool runs, which goes on when `SceneManager.resolve` is told.
            self._emit(
                SceneStatus.AWAITING_CLIENT,
                event.question,
                call_id=event.tool_call_id,
                interaction_id=event.key,
            )

    def _request(self, name: str, call_id: str, arguments: Mapping[str, Any] | None) -> None:
        if call_id in self._requested:
            return
        self._requested.add(call_id)
        if arguments is not None:
            self._calls[call_id] = arguments
        if self._scene is not None and name in self._scene.client_tools:
            # It is announced when the run is saved.
            return
        self._emit(
            SceneStatus.FUNCTION_REQUEST,
            f"Executing tool: {name}",
            function=name,
            call_id=call_id,
            arguments=arguments,
        )

    def _answer(self, result: ToolResult) -> None:
        name, call_id = result.name, result.tool_call_id
        if result.error_code is ErrorCode.UNKNOWN_TOOL:
            message = f"Tool '{name}' not found"
        else:
            # One that was refused, or answered from the cache, has not been started.
            self._request(name, call_id, self._calls.get(call_id))
            message = (
                failed(result) if result.is_error else f"Tool {name} executed: {result.result}"
            )
        self._emit(
            SceneStatus.ERROR if result.is_error else SceneStatus.FUNCTION_COMPLETED,
            message,
            function=name,
            call_id=call_id,
            arguments=self._calls.get(call_id),
            result=result.result,
            error=result.result if result.is_error else None,
            duration=result.duration,
            reference=result.reference,
        )

    def _skip(self, event: ToolStarted | ToolResult) -> None:
        name, call_id = event.name, event.tool_call_id
        self._emit(
            SceneStatus.TOOL_SKIPPED,
            f"Tool {name} skipped",
            function=name,
            call_id=call_id,
            arguments=self._calls.get(call_id),
            lifecycle=True,
        )

    def _track(self, aggregate: ToolAggregateMessage, scene: Scene) -> None:
        results = {result.tool_call_id: result for result in aggregate.tool_results}
        for call in aggregate.tool_calls:
            result = results.get(call.id)
            if result is not None:
                self._stage.executed.append(
                    ExecutedTool(
                        scene.name,
                        call.name,
                        call.id,
                        call.arguments,
                        result.result,
                        result.is_error,
                    )
                )

    def _emit(self, status: SceneStatus, message: str, **more: Any) -> None:
        self._stage.emit(
            status, message, scene=None if self._scene is None else self._scene.name, **more
        )


def failed(result: ToolResult) -> str:
    """The sentence about a tool that failed."""
    text = result.result
    return text if text.startswith(_FAILED) else f"{_FAILED}: {text}"


def answered(stage: Stage, reply: ReplyRun, scene: Scene | None = None) -> str:
    """Tells of a reply without calls, which is the answer.

    Raises:
        Stop: There is none, only a part of one, or it was too expensive.
    """
    text = reply.text.strip()
    if text:
        stage.text = text
        stage.say(text, None if scene is None else scene.name, message_id=_first_text(reply))
    if reply.finish_reason in _CUT:
        raise Stop(SceneStopReason.ERROR, _CUT[reply.finish_reason])
    if not text:
        raise Stop(SceneStopReason.ERROR, "No response from LLM")
    stage.check_budget()
    return text


def _first_text(reply: ReplyRun) -> str | None:
    return next((each.id for each in reply.messages if isinstance(each, TextMessage)), None)


_CUT = {
    FinishReason.LENGTH: "The reply was cut off at the limit of tokens",
    FinishReason.CONTENT_FILTER: "The provider withheld the rest of the reply",
}
