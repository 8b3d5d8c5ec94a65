"""Requests to the model, and the steps that report their replies."""

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
from ..agent._loop import ReplyLoop
from ..executor import ToolProgress, ToolQuestion, ToolStarted
from ..executor._results import progress_text
from ..kinds import ErrorCode, FinishReason, SceneStatus, SceneStopReason
from ..models.fallback import CapturedModel, capture_model
from ..natural._parts import calls_id
from ._holdback import TextHoldback
from ._reply_texts import ReplyOutline
from ._state import StopRun
from ._steps import ExecutedTool
from ._unregistered_calls import UnregisteredCall, split_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from .._messages import Message
    from ..natural import NaturalToolUse, ReplyRun, ToolUseEvent
    from ..protocols import ModelOptions
    from ._scene import Scene
    from ._state import RunState
    from ._unregistered_calls import NameMatcher

_log = logging.getLogger("toolweave.scenes")

_FAILED = "Error executing tool"

_MAX_NAMED = 5
_MAX_PROGRESS = 10_000


class ModelTurn:
    """One turn of the model: a request, its reply and the results of its calls.

    Calls start when the reply is complete and its cost has been charged. A reply that broke off or
    was cancelled before that is not added to the conversation. An empty reply is requested once
    more if the budget allows it.

    Args:
        state: The run.
        use: The client for the request.
        scene: The scene of the request; None outside of scenes.
        transform: Function from the messages of the reply to those added to the conversation.
        emits: True to emit steps for text and calls.
        executes: True to execute the calls; otherwise they are only recorded.
        should_refuse: Function that returns True for a call of an unavailable tool in the text
            that is answered with an error for the model to read. Other such calls stay in the
            text, with a notice. See `unregistered_calls`.
    """

    def __init__(
        self,
        state: RunState,
        use: NaturalToolUse,
        *,
        scene: Scene | None = None,
        transform: Callable[[Iterable[Message]], Iterable[Message]] | None = None,
        emits: bool = True,
        executes: bool = True,
        should_refuse: Callable[[UnregisteredCall], bool] | None = None,
    ) -> None:
        self._state = state
        self._use = use
        self._scene = scene
        self._transform = transform
        self._emits = emits
        self._executes = executes
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._requested: set[str] = set()
        self._functions: dict[str, str] = {}
        self._is_admitted: bool | None = None
        self._outline = ReplyOutline("")
        self._answered_by = CapturedModel()
        self._should_refuse = should_refuse
        # Refused calls in text and their results, both by the id of the text.
        self._unregistered: Mapping[str, Sequence[UnregisteredCall]] = {}
        self._refusals: dict[str, ToolAggregateMessage] = {}
        self._names: NameMatcher | None = None
        self._texts: dict[str, str] | None = None
        self._noticed = False
        self._holdback: TextHoldback | None = None
        self.aggregate: ToolAggregateMessage | None = None
        """The calls with their results, refused calls included."""
        self.refused: list[UnregisteredCall] = []
        """The calls in text that are answered with an error."""
        self.notice: str | None = None
        """A notice about unexpected markup in the text; None if there is none."""

    async def run(
        self,
        messages: Sequence[Message],
        *,
        with_tools: bool = True,
        options: ModelOptions | None = None,
        loop: ReplyLoop | None = None,
    ) -> ReplyRun:
        """Send the request and wait for the reply and the results.

        Args:
            messages: The messages of the request.
            with_tools: If true, the model is shown the tools.
            options: The options of the request; those of the manager if not given.
            loop: The loop that counts the requests; two requests if not given.

        Raises:
            ModelError: The request failed, or the reply broke off.
        """
        loop = ReplyLoop(2) if loop is None else loop
        while True:
            loop.iterations += 1
            reply = await self._run_once(messages, with_tools, options)
            if self._state.costs.budget_error is not None or not loop.should_retry(reply):
                return reply
            _log.info("an empty reply is requested once more", extra={"run_id": self._state.run_id})
            self._is_admitted, self._texts = None, None
            messages = [*messages, reply.reminder]

    async def _run_once(
        self, messages: Sequence[Message], with_tools: bool, options: ModelOptions | None
    ) -> ReplyRun:
        """Send one request."""
        state = self._state
        if self._emits and not self._use.parser.native:
            self._names = state.scenes.name_matcher(self._use, with_tools=with_tools)
        if state.streaming:
            self._holdback = TextHoldback(self._names)
        state.costs.requests += 1
        # The request runs in a copy of this context.
        with capture_model() as self._answered_by:
            reply = self._use.open(
                messages,
                options=state.settings.options if options is None else options,
                run_id=state.run_id,
                chat_id=state.key,
                with_tools=with_tools,
                admit=self._admit,
                # Calls that are not executed are not recorded in the journal.
                journal=state.journal if self._executes else None,
            )
        self._outline = ReplyOutline(reply.generation_id)
        state.reply, state.generation_id = reply, reply.generation_id
        try:
            async with reply:
                async for event in reply:
                    if self._emits:
                        self._handle(event, reply)
        finally:
            if self._is_admitted is None:
                self._charge(reply)
            elif self._emits:
                # A stopped reply may still have events; they are available without waiting.
                async for event in reply:
                    self._handle(event, reply)
            if self._emits:
                if reply.aggregate is not None:
                    self._emit_texts(self._outline.rest(), reply)
                self._flush(reply)
            self.aggregate = reply.aggregate
            if self._is_admitted is not None and self._emits:
                kept = (
                    reply.messages if self._transform is None else self._transform(reply.messages)
                )
                state.messages += self._with_refusals(kept, reply)
                if self._scene is not None and self.aggregate is not None:
                    self._record_executed(self.aggregate, self._scene)
        return reply

    def _admit(self, reply: ReplyRun) -> bool:
        self._charge(reply)
        self._is_admitted = self._state.costs.budget_error is None
        return self._is_admitted and self._executes

    def _charge(self, reply: ReplyRun) -> None:
        model = self._answered_by.model or self._state.scenes.model
        self._state.costs.charge(model, reply)

    def _handle(self, event: ToolUseEvent, reply: ReplyRun) -> None:
        if isinstance(event, ReasoningDelta):
            self._outline.add(event)
        elif isinstance(event, TextDelta):
            message_id = self._outline.add(event)
            if self._holdback is not None and event.text:
                self._emit_pieces(self._holdback.push(message_id, event.text))
        elif isinstance(event, (ToolCallStart, ToolCall, InvalidToolCall)):
            self._outline.add(event)
            if self._holdback is not None:
                # Text after a call is emitted after the steps of the call.
                self._emit_pieces(self._holdback.close())
            if isinstance(event, ToolCall):
                self._calls[event.id] = event.arguments
        elif isinstance(event, (ToolStarted, ToolResult)):
            # The reply has ended, so its text is complete.
            call_id = event.tool_call_id
            if self._scene is None:
                self._emit_texts(self._outline.rest(), reply)
                return
            self._emit_texts(self._outline.before(call_id), reply)
            if not (self._is_admitted and self._executes):
                self._emit_skipped(event)
            elif isinstance(event, ToolStarted):
                self._emit_request(event.name, call_id, event.arguments)
            else:
                self._emit_result(event)
            self._emit_texts(self._outline.after(call_id), reply)
        elif isinstance(event, ToolProgress):
            if self._scene is not None:
                self._emit(
                    SceneStatus.FUNCTION_PROGRESS,
                    progress_text(event.value, _MAX_PROGRESS),
                    function=self._functions.get(event.tool_call_id),
                    call_id=event.tool_call_id,
                    message_id=self._outline.message_of(event.tool_call_id),
                )
        elif isinstance(event, ToolQuestion):
            # The tool is running; it continues when `SceneManager.resolve` is called.
            self._emit(
                SceneStatus.AWAITING_CLIENT,
                event.question,
                call_id=event.tool_call_id,
                message_id=self._outline.message_of(event.tool_call_id),
                interaction_id=event.key,
            )

    def _emit_pieces(self, pieces: Iterable[tuple[str, str]]) -> None:
        for message_id, piece in pieces:
            self._emit(SceneStatus.STREAMING, piece, message_id=message_id)

    def _emit_texts(self, message_ids: Iterable[str], reply: ReplyRun) -> None:
        """Emit texts of the reply, and the results of refused calls in them."""
        texts = self._read_texts(reply)
        for message_id in message_ids:
            text = texts.get(message_id, "")
            if self._holdback is not None:
                self._emit_pieces(self._holdback.release(message_id, text))
            if text.strip():
                notice = None if self._noticed else self.notice
                self._noticed = True
                self._emit(SceneStatus.RUNNING, text.strip(), message_id=message_id, notice=notice)
            refusal = self._refusals.get(message_id)
            if refusal is not None:
                for unregistered, result in zip(
                    self._unregistered[message_id], refusal.tool_results, strict=True
                ):
                    if self._scene is not None or unregistered.nearest not in self._state.scenes:
                        self._emit_result(result, message_id=refusal.id)

    def _flush(self, reply: ReplyRun) -> None:
        """Emit text that was held back; the reply has ended."""
        for message_id, text in self._read_texts(reply).items():
            if self._holdback is not None:
                self._emit_pieces(self._holdback.release(message_id, text))

    def _read_texts(self, reply: ReplyRun) -> dict[str, str]:
        """Return the texts of a finished reply by message id, without refused calls."""
        if self._texts is None:
            self._texts = {}
            refused: dict[str, list[UnregisteredCall]] = {}
            leftovers: list[UnregisteredCall] = []
            for message in reply.messages:
                if isinstance(message, TextMessage) and message.id is not None:
                    text, found = self._split_unregistered(message.text, reply, leftovers)
                    self._texts[message.id] = text
                    if found:
                        refused[message.id] = found
            self._refuse(refused, self._texts, reply)
            if leftovers:
                self.notice = leftover_notice(leftovers)
        return self._texts

    def _split_unregistered(
        self, text: str, reply: ReplyRun, leftovers: list[UnregisteredCall]
    ) -> tuple[str, list[UnregisteredCall]]:
        """Return the text without its refused calls, and these calls."""
        if self._names is None:
            return text, []
        kept: list[str] = []
        refused: list[UnregisteredCall] = []
        for part in split_calls(text, self._names):
            if isinstance(part, str):
                kept.append(part)
            elif (
                self._is_admitted
                and reply.finish_reason not in CUT_OFF_MESSAGES
                and self._can_refuse(part)
            ):
                refused.append(part)
            else:
                leftovers.append(part)
                kept.append(part.raw)
        return "".join(kept), refused

    def _can_refuse(self, unregistered: UnregisteredCall) -> bool:
        return self._should_refuse is not None and self._should_refuse(unregistered)

    def _with_refusals(self, kept: Iterable[Message], reply: ReplyRun) -> list[Message]:
        """Return the messages of a reply, each refused call after its text."""
        if not self.refused:
            return [*kept]
        self._emit_texts(self._outline.rest(), reply)
        texts = self._read_texts(reply)
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
                messages[-1] = _merge([last, refusal])
            else:
                messages.append(refusal)
        own = [] if reply.aggregate is None else [reply.aggregate]
        self.aggregate = _merge([*own, *self._refusals.values()])
        return messages

    def _refuse(
        self,
        unregistered_calls: Mapping[str, Sequence[UnregisteredCall]],
        texts: Mapping[str, str],
        reply: ReplyRun,
    ) -> None:
        """Create errors as results of calls in text, which are given by the ids of the texts.

        The calls follow the text. If no text is left, they join the calls before it.
        """
        self._unregistered = unregistered_calls
        number = len(reply.calls)
        group = self._outline.groups
        for message_id, found in unregistered_calls.items():
            aggregate_id = self._outline.calls_before(message_id)
            if aggregate_id is None or texts[message_id].strip():
                aggregate_id = calls_id(reply.generation_id, group)
                group += 1
            calls: list[ToolCall] = []
            results: list[ToolResult] = []
            for unregistered in found:
                call_id = f"call_{reply.generation_id[:12]}_{number}"
                calls.append(
                    ToolCall(
                        call_id, unregistered.name, unregistered.arguments, unregistered.raw, number
                    )
                )
                text = self._state.scenes.refusal(unregistered, self._names, self._scene)
                results.append(
                    ToolResult(
                        call_id,
                        unregistered.name,
                        text,
                        is_error=True,
                        error_code=ErrorCode.UNKNOWN_TOOL,
                    )
                )
                self._calls[call_id] = unregistered.arguments
                self.refused.append(unregistered)
                number += 1
            self._refusals[message_id] = ToolAggregateMessage(
                calls,
                results,
                id=aggregate_id,
                generation_id=reply.generation_id,
                run_id=self._state.run_id,
                chat_id=self._state.key,
            )

    def _emit_request(self, name: str, call_id: str, arguments: Mapping[str, Any] | None) -> None:
        if call_id in self._requested:
            return
        self._requested.add(call_id)
        self._functions[call_id] = name
        if arguments is not None:
            self._calls[call_id] = arguments
        if self._scene is not None and name in self._scene.client_tools:
            # The step for it is emitted when the run is saved.
            return
        self._emit(
            SceneStatus.FUNCTION_REQUEST,
            f"Executing tool: {name}",
            function=name,
            call_id=call_id,
            message_id=self._outline.message_of(call_id),
            arguments=arguments,
        )

    def _emit_result(self, result: ToolResult, *, message_id: str | None = None) -> None:
        name, call_id = result.name, result.tool_call_id
        if result.error_code is ErrorCode.UNKNOWN_TOOL:
            message = f"Tool '{name}' not found"
        else:
            # A refused or cached call has not been started.
            self._emit_request(name, call_id, self._calls.get(call_id))
            message = (
                failure_text(result)
                if result.is_error
                else f"Tool {name} executed: {result.result}"
            )
        self._emit(
            SceneStatus.ERROR if result.is_error else SceneStatus.FUNCTION_COMPLETED,
            message,
            function=name,
            call_id=call_id,
            message_id=message_id or self._outline.message_of(call_id),
            arguments=self._calls.get(call_id),
            result=result.result,
            error=result.result if result.is_error else None,
            duration=result.duration,
            reference=result.reference,
        )

    def _emit_skipped(self, event: ToolStarted | ToolResult) -> None:
        name, call_id = event.name, event.tool_call_id
        self._emit(
            SceneStatus.TOOL_SKIPPED,
            f"Tool {name} skipped",
            function=name,
            call_id=call_id,
            message_id=self._outline.message_of(call_id),
            arguments=self._calls.get(call_id),
            lifecycle=True,
        )

    def _record_executed(self, aggregate: ToolAggregateMessage, scene: Scene) -> None:
        results = {result.tool_call_id: result for result in aggregate.tool_results}
        for call in aggregate.tool_calls:
            result = results.get(call.id)
            if result is not None:
                self._state.executed.append(
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
        self._state.emit(
            status, message, scene=None if self._scene is None else self._scene.name, **more
        )


def _merge(parts: Sequence[ToolAggregateMessage]) -> ToolAggregateMessage:
    """Merge calls and results into the first message."""
    return parts[0].__replace__(
        tool_calls=[call for part in parts for call in part.tool_calls],
        tool_results=[result for part in parts for result in part.tool_results],
    )


def failure_text(result: ToolResult) -> str:
    """Return the sentence about a failed call."""
    text = result.result
    return text if text.startswith(_FAILED) else f"{_FAILED}: {text}"


def leftover_notice(unregistered_calls: Sequence[UnregisteredCall]) -> str:
    """Return the notice about calls left in a text."""
    names = list(dict.fromkeys(unregistered.name for unregistered in unregistered_calls))
    listed = ", ".join(f"'{name}'" for name in names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"The text contains markup of calls, which were not run: no tool {listed}{more} here"


def report_answer(
    state: RunState, reply: ReplyRun, scene: Scene | None = None, *, notice: str | None = None
) -> str:
    """Report a reply without calls as the answer, and return its text.

    Args:
        state: The run.
        reply: The reply.
        scene: The scene of the reply; None outside of scenes.
        notice: A notice about unexpected markup in the text.

    Raises:
        StopRun: The reply is empty or incomplete, or the budget is exceeded.
    """
    text = reply.text.strip()
    if text:
        name = None if scene is None else scene.name
        state.text, state.notice, state.answered_in = text, notice, name
        state.emit_text(text, name, message_id=_first_text(reply), notice=notice)
    if reply.finish_reason in CUT_OFF_MESSAGES:
        raise StopRun(SceneStopReason.ERROR, CUT_OFF_MESSAGES[reply.finish_reason])
    if not text:
        raise StopRun(SceneStopReason.ERROR, "No response from LLM")
    state.check_budget()
    return text


def _first_text(reply: ReplyRun) -> str | None:
    return next((each.id for each in reply.messages if isinstance(each, TextMessage)), None)


CUT_OFF_MESSAGES = {
    FinishReason.LENGTH: "The reply was cut off at the limit of tokens",
    FinishReason.CONTENT_FILTER: "The provider withheld the rest of the reply",
}
