"""Asking the model, and telling of what comes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .._core import (
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallStart,
    ToolResult,
)
from ..executor import ToolProgress, ToolQuestion, ToolStarted
from ..executor.results import shown
from ..kinds import ErrorCode, FinishReason, SceneStatus, SceneStopReason
from ..models.fallback import CapturedModel, capture_model
from ..natural.parts import calls_id
from .outline import Outline
from .stage import Stop
from .steps import ExecutedTool
from .strays import Stray, split
from .streams import HeldText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from .. import Message
    from ..natural import NaturalToolUse, ReplyRun, ToolUseEvent
    from ..protocols import ModelOptions
    from .scene import Scene
    from .stage import Stage
    from .strays import Names

_log = logging.getLogger("toolweave.scenes")

_FAILED = "Error executing tool"

_MOST_NAMED = 5
_LONGEST_PROGRESS = 10_000


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
        refuses: Whether a call in text of what cannot be called is answered with an error, for the
            model to read; otherwise it stays text, with a notice. See `strays`.
    """

    def __init__(
        self,
        stage: Stage,
        use: NaturalToolUse,
        *,
        scene: Scene | None = None,
        keep: Callable[[Iterable[Message]], Iterable[Message]] | None = None,
        told: bool = True,
        runs: bool = True,
        refuses: Callable[[Stray], bool] | None = None,
    ) -> None:
        self._stage = stage
        self._use = use
        self._scene = scene
        self._keep = keep
        self._told = told
        self._runs = runs
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._requested: set[str] = set()
        self._functions: dict[str, str] = {}
        self._admitted: bool | None = None
        self._outline = Outline("")
        self._answered_by = CapturedModel()
        self.requests = 0
        """How often the model was asked."""
        self._refuses = refuses
        # The calls in text that are refused, and what they are answered, by the texts.
        self._strays: Mapping[str, Sequence[Stray]] = {}
        self._refusals: dict[str, ToolAggregateMessage] = {}
        self._names: Names | None = None
        self._texts: dict[str, str] | None = None
        self._noticed = False
        self._held: HeldText | None = None
        self.aggregate: ToolAggregateMessage | None = None
        """The calls with their results, those that are refused included."""
        self.refused: list[Stray] = []
        """The calls in text that are answered with an error."""
        self.notice: str | None = None
        """A notice about the text, where something is odd about it."""

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
            self._admitted, self._texts = None, None
            reply = await self._ask([*messages, reply.reminder], offered, options)
        return reply

    async def _ask(
        self, messages: Sequence[Message], offered: bool, options: ModelOptions | None
    ) -> ReplyRun:
        """Asks once."""
        stage = self._stage
        self.requests += 1
        if self._told and not self._use.parser.native:
            self._names = stage.cast.callable_names(self._use, offered=offered)
        if stage.streaming:
            self._held = HeldText(self._names)
        stage.ledger.requests += 1
        # The request is made in a copy of this context.
        with capture_model() as self._answered_by:
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
        self._outline = Outline(reply.generation_id)
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
            if self._told:
                if reply.aggregate is not None:
                    self._say(self._outline.rest(), reply)
                self._release(reply)
            self.aggregate = reply.aggregate
            if self._admitted is not None and self._told:
                kept = reply.messages if self._keep is None else self._keep(reply.messages)
                stage.messages += self._sorted(kept, reply)
                if self._scene is not None and self.aggregate is not None:
                    self._track(self.aggregate, self._scene)
        return reply

    def _admit(self, reply: ReplyRun) -> bool:
        self._charge(reply)
        self._admitted = self._stage.ledger.overdrawn is None
        return self._admitted and self._runs

    def _charge(self, reply: ReplyRun) -> None:
        model = self._answered_by.model or self._stage.cast.model
        self._stage.ledger.charge(model, reply)

    def _tell(self, event: ToolUseEvent, reply: ReplyRun) -> None:
        if isinstance(event, ReasoningDelta):
            self._outline.add(event)
        elif isinstance(event, TextDelta):
            message_id = self._outline.add(event)
            if self._held is not None and event.text:
                self._stream(self._held.take(message_id, event.text))
        elif isinstance(event, (ToolCallStart, ToolCall, InvalidToolCall)):
            self._outline.add(event)
            if self._held is not None:
                # What stands behind a call is told behind it.
                self._stream(self._held.close())
            if isinstance(event, ToolCall):
                self._calls[event.id] = event.arguments
        elif isinstance(event, (ToolStarted, ToolResult)):
            # The model has ended, so that its text is whole.
            call_id = event.tool_call_id
            if self._scene is None:
                self._say(self._outline.rest(), reply)
                return
            self._say(self._outline.before(call_id), reply)
            if not (self._admitted and self._runs):
                self._skip(event)
            elif isinstance(event, ToolStarted):
                self._request(event.name, call_id, event.arguments)
            else:
                self._answer(event)
            self._say(self._outline.behind(call_id), reply)
        elif isinstance(event, ToolProgress):
            if self._scene is not None:
                self._emit(
                    SceneStatus.FUNCTION_PROGRESS,
                    shown(event.value, _LONGEST_PROGRESS),
                    function=self._functions.get(event.tool_call_id),
                    call_id=event.tool_call_id,
                    message_id=self._outline.home(event.tool_call_id),
                )
        elif isinstance(event, ToolQuestion):
            # It is asked while the tool runs, which goes on when `SceneManager.resolve` is told.
            self._emit(
                SceneStatus.AWAITING_CLIENT,
                event.question,
                call_id=event.tool_call_id,
                message_id=self._outline.home(event.tool_call_id),
                interaction_id=event.key,
            )

    def _stream(self, pieces: Iterable[tuple[str, str]]) -> None:
        for message_id, piece in pieces:
            self._emit(SceneStatus.STREAMING, piece, message_id=message_id)

    def _say(self, message_ids: Iterable[str], reply: ReplyRun) -> None:
        """Report texts beside calls, and the calls in them that are refused."""
        texts = self._read(reply)
        for message_id in message_ids:
            text = texts.get(message_id, "")
            if self._held is not None:
                self._stream(self._held.release(message_id, text))
            if text.strip():
                notice = None if self._noticed else self.notice
                self._noticed = True
                self._emit(SceneStatus.RUNNING, text.strip(), message_id=message_id, notice=notice)
            refusal = self._refusals.get(message_id)
            if refusal is not None:
                for stray, result in zip(
                    self._strays[message_id], refusal.tool_results, strict=True
                ):
                    if self._scene is not None or stray.near not in self._stage.cast:
                        self._answer(result, home=refusal.id)

    def _release(self, reply: ReplyRun) -> None:
        """Report pieces of text that were held back; the model has ended."""
        for message_id, text in self._read(reply).items():
            if self._held is not None:
                self._stream(self._held.release(message_id, text))

    def _read(self, reply: ReplyRun) -> dict[str, str]:
        """The texts of a reply that is over, by their messages, without calls that are refused."""
        if self._texts is None:
            self._texts = {}
            refused: dict[str, list[Stray]] = {}
            noted: list[Stray] = []
            for message in reply.messages:
                if isinstance(message, TextMessage) and message.id is not None:
                    text, found = self._without_strays(message.text, reply, noted)
                    self._texts[message.id] = text
                    if found:
                        refused[message.id] = found
            self._refuse(refused, self._texts, reply)
            if noted:
                self.notice = notice_of(noted)
        return self._texts

    def _without_strays(
        self, text: str, reply: ReplyRun, noted: list[Stray]
    ) -> tuple[str, list[Stray]]:
        """The text, and the calls in it that are refused."""
        if self._names is None:
            return text, []
        kept: list[str] = []
        refused: list[Stray] = []
        for part in split(text, self._names):
            if isinstance(part, str):
                kept.append(part)
            elif self._admitted and reply.finish_reason not in CUT and self._can_refuse(part):
                refused.append(part)
            else:
                noted.append(part)
                kept.append(part.raw)
        return "".join(kept), refused

    def _can_refuse(self, stray: Stray) -> bool:
        return self._refuses is not None and self._refuses(stray)

    def _sorted(self, kept: Iterable[Message], reply: ReplyRun) -> list[Message]:
        """The messages of a reply; calls that are refused stand behind their text."""
        if not self.refused:
            return [*kept]
        self._say(self._outline.rest(), reply)
        texts = self._read(reply)
        messages: list[Message] = []
        for message in kept:
            if not isinstance(message, TextMessage) or message.id is None:
                messages.append(message)
                continue
            if texts[message.id].strip():
                messages.append(message.__replace__(text=texts[message.id]))
            refusal = self._refusals.get(message.id)
            last = messages[-1] if messages else None
            if refusal is None:
                continue
            if isinstance(last, ToolAggregateMessage) and last.id == refusal.id:
                messages[-1] = _joined([last, refusal])
            else:
                messages.append(refusal)
        own = [] if reply.aggregate is None else [reply.aggregate]
        self.aggregate = _joined([*own, *self._refusals.values()])
        return messages

    def _refuse(
        self, strays: Mapping[str, Sequence[Stray]], texts: Mapping[str, str], reply: ReplyRun
    ) -> None:
        """Answer calls in text, which are given by the ids of the texts.

        They stand behind the text, together with the calls before it if nothing is left of it.
        """
        self._strays = strays
        number = len(reply.calls)
        group = self._outline.groups
        for message_id, found in strays.items():
            home = self._outline.calls_before(message_id)
            if home is None or texts[message_id].strip():
                home = calls_id(reply.generation_id, group)
                group += 1
            calls: list[ToolCall] = []
            results: list[ToolResult] = []
            for stray in found:
                call_id = f"call_{reply.generation_id[:12]}_{number}"
                calls.append(ToolCall(call_id, stray.name, stray.arguments, stray.raw, number))
                text = self._stage.cast.refusal(stray, self._names, self._scene)
                results.append(
                    ToolResult(
                        call_id, stray.name, text, is_error=True, error_code=ErrorCode.UNKNOWN_TOOL
                    )
                )
                self._calls[call_id] = stray.arguments
                self.refused.append(stray)
                number += 1
            self._refusals[message_id] = ToolAggregateMessage(
                calls,
                results,
                id=home,
                generation_id=reply.generation_id,
                run_id=self._stage.run_id,
                chat_id=self._stage.key,
            )

    def _request(self, name: str, call_id: str, arguments: Mapping[str, Any] | None) -> None:
        if call_id in self._requested:
            return
        self._requested.add(call_id)
        self._functions[call_id] = name
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
            message_id=self._outline.home(call_id),
            arguments=arguments,
        )

    def _answer(self, result: ToolResult, *, home: str | None = None) -> None:
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
            message_id=home or self._outline.home(call_id),
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
            message_id=self._outline.home(call_id),
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


def _joined(parts: Sequence[ToolAggregateMessage]) -> ToolAggregateMessage:
    """Calls and results as one message, that of the first."""
    return parts[0].__replace__(
        tool_calls=[call for part in parts for call in part.tool_calls],
        tool_results=[result for part in parts for result in part.tool_results],
    )


def failed(result: ToolResult) -> str:
    """The sentence about a tool that failed."""
    text = result.result
    return text if text.startswith(_FAILED) else f"{_FAILED}: {text}"


def notice_of(strays: Sequence[Stray]) -> str:
    """The sentence about calls that are left in a text."""
    names = list(dict.fromkeys(stray.name for stray in strays))
    listed = ", ".join(f"'{name}'" for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"The text contains markup of calls, which were not run: no tool {listed}{more} here"


def answered(
    stage: Stage, reply: ReplyRun, scene: Scene | None = None, *, notice: str | None = None
) -> str:
    """Tells of a reply without calls, which is the answer.

    Args:
        stage: The run.
        reply: The reply.
        scene: The scene that it is of.
        notice: What is odd about its text.

    Raises:
        Stop: There is none, only a part of one, or it was too expensive.
    """
    text = reply.text.strip()
    if text:
        name = None if scene is None else scene.name
        stage.text, stage.notice, stage.said_in = text, notice, name
        stage.say(text, name, message_id=_first_text(reply), notice=notice)
    if reply.finish_reason in CUT:
        raise Stop(SceneStopReason.ERROR, CUT[reply.finish_reason])
    if not text:
        raise Stop(SceneStopReason.ERROR, "No response from LLM")
    stage.check_budget()
    return text


def _first_text(reply: ReplyRun) -> str | None:
    return next((each.id for each in reply.messages if isinstance(each, TextMessage)), None)


CUT = {
    FinishReason.LENGTH: "The reply was cut off at the limit of tokens",
    FinishReason.CONTENT_FILTER: "The provider withheld the rest of the reply",
}
