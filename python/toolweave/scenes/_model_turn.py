"""Requests to the model, and the steps that report their replies."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from .._core import (
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolCall,
    ToolCallStart,
    ToolResult,
)
from ..agent._loop import ReplyLoop
from ..executor import ToolProgress, ToolQuestion, ToolStarted
from ..executor._results import progress_text
from ..kinds import ErrorCode, SceneStatus, SceneStopReason
from ..models.fallback import CapturedModel, capture_model
from ._ends import CUT_OFF_MESSAGES, StopRun
from ._reply_texts import ReplyOutline, ReplyTexts, TextHoldback, merge
from ._unregistered_calls import find_possible_call, split_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from .._core import ToolAggregateMessage
    from .._messages import Message
    from ..agent._limits import RequestUsage
    from ..natural import NaturalToolUse, ReplyRun, ToolUseEvent
    from ..natural._partial_output import PartialOutput
    from ..protocols import ModelOptions
    from ._output import OutputRequest
    from ._scene import BaseScene
    from ._state import RunState
    from ._unregistered_calls import NameMatcher, UnregisteredCall

_log = logging.getLogger("toolweave.scenes")

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
        with_tools: True to show the model the tools.
        should_refuse: Function that returns True for a call of an unavailable tool in the text
            that is answered with an error for the model to read. Other such calls stay in the
            text, with a notice. See `unregistered_calls`.
    """

    def __init__(
        self,
        state: RunState,
        use: NaturalToolUse[Any],
        *,
        scene: BaseScene | None = None,
        transform: Callable[[Iterable[Message]], Iterable[Message]] | None = None,
        emits: bool = True,
        executes: bool = True,
        with_tools: bool = True,
        should_refuse: Callable[[UnregisteredCall], bool] | None = None,
    ) -> None:
        self._state = state
        self._use = use
        self._scene = scene
        self._scene_name = None if scene is None else scene.name
        self._transform = transform
        self._emits = emits
        self._executes = executes
        self._with_tools = with_tools
        self._should_refuse = should_refuse
        # The text of a model with native calls is only text.
        self._finds_calls = emits and not use.parser.native
        # None until the reply is complete; then True if its calls may run.
        self._is_admitted: bool | None = None
        self._started: RequestUsage | None = None
        self._answered_by = CapturedModel()
        self._outline = ReplyOutline("")
        self._holdback: TextHoldback | None = None
        self._texts: ReplyTexts | None = None
        self._noticed = False
        # The reader of the output; None if this reply is not the output, or it is not streamed.
        self._streams_output = False
        self._partial: PartialOutput | None = None
        # The names of requested calls, and the arguments of all calls.
        self._requested: dict[str, str] = {}
        self._arguments: dict[str, Mapping[str, Any]] = {}
        self.aggregate: ToolAggregateMessage | None = None
        """The calls with their results, refused calls included."""
        self.notice: str | None = None
        """A notice about unexpected markup in the text; None if there is none."""

    @property
    def refused(self) -> list[UnregisteredCall]:
        """The calls in text that are answered with an error."""
        found = {} if self._texts is None else self._texts.refused
        return [call for calls in found.values() for call in calls]

    async def run(
        self,
        messages: Sequence[Message],
        *,
        options: ModelOptions | None = None,
        output: OutputRequest | None = None,
        loop: ReplyLoop | None = None,
    ) -> ReplyRun:
        """Send the request and wait for the reply and the results.

        Args:
            messages: The messages of the request.
            options: The options of the request; those of `output` or the manager if not given.
            output: The request for the output of the run if this is one.
            loop: The loop that counts the requests; at most two requests if not given.

        Raises:
            ModelError: The request failed, or the reply broke off.
        """
        state = self._state
        loop = ReplyLoop(2) if loop is None else loop
        if options is None:
            options = state.settings.options if output is None else output.options
        # With no output type, any text that is shown may be the answer.
        self._streams_output = (
            state.streams_output and self._emits and (output is not None or state.output.is_text)
        )
        while True:
            loop.iterations += 1
            self._is_admitted, self._texts = None, None
            reply = await self._request(messages, options)
            if state.limit_error is not None or not loop.should_retry(reply):
                return reply
            _log.info("an empty reply is requested once more", extra={"run_id": state.run_id})
            messages = [*messages, reply.reminder]

    async def _request(self, messages: Sequence[Message], options: ModelOptions | None) -> ReplyRun:
        """Send one request."""
        state = self._state
        self._partial = state.output.partial() if self._streams_output else None
        holds_back = state.streaming or self._partial is not None
        self._holdback = TextHoldback(self._find_call) if holds_back else None
        self._started = await state.start_request(self._use.parser.model, messages)
        # The request runs in a copy of this context.
        with capture_model() as self._answered_by:
            reply = self._use.open(
                messages,
                options=options,
                run_id=state.run_id,
                chat_id=state.key,
                run_context=state.run_context(),
                with_tools=self._with_tools,
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
            try:
                if self._is_admitted is None:
                    await self._charge(reply)
                elif self._emits:
                    # A stopped reply may still have events; they are available without waiting.
                    async for event in reply:
                        self._handle(event, reply)
            finally:
                self.aggregate = reply.aggregate
                if self._emits:
                    self._finish(reply)
        return reply

    async def report_answer(
        self, reply: ReplyRun, output: OutputRequest | None = None, *, may_retry: bool = True
    ) -> bool:
        """Report a reply without calls as the answer.

        Args:
            reply: The reply.
            output: The request of the reply if it is the output of the run.
            may_retry: True if the model can be asked again for a valid output.

        Returns:
            False if the reply is not a valid output, and the model has to be asked again.

        Raises:
            OutputError: The model gave no valid output, also when asked again.
            StopRun: The reply is empty or incomplete, or the budget is exceeded.
        """
        state, text = self._state, reply.text.strip()
        if text:
            texts = (each.id for each in reply.messages if isinstance(each, TextMessage))
            state.answer(text, self._scene_name, notice=self.notice)
            self._emit(SceneStatus.RUNNING, text, message_id=next(texts, None), notice=self.notice)
        is_valid = True
        if text and output is not None:
            is_valid = await output.accept(reply, may_retry=may_retry)
        if reply.finish_reason in CUT_OFF_MESSAGES:
            raise StopRun(SceneStopReason.ERROR, CUT_OFF_MESSAGES[reply.finish_reason])
        if not text:
            raise StopRun(SceneStopReason.ERROR, "No response from LLM")
        state.check_budget()
        return is_valid

    async def _admit(self, reply: ReplyRun) -> bool:
        await self._charge(reply)
        state = self._state
        self._is_admitted = state.limit_error is None
        if self._is_admitted and self._executes:
            self._is_admitted = state.start_calls(len(reply.calls))
        return self._is_admitted and self._executes

    async def _charge(self, reply: ReplyRun) -> None:
        if self._started is not None:
            self._started.model = self._answered_by.model or self._state.scenes.model
            await self._started.close_with(reply)

    def _finish(self, reply: ReplyRun) -> None:
        """Emit the rest of a reply that has ended, and add it to the conversation."""
        texts = self._read_texts(reply)
        if reply.aggregate is not None:
            self._emit_texts(self._outline.rest(), reply)
        for message_id, text in texts.texts.items():
            self._release(message_id, text)
        if self._is_admitted is None:
            return
        if texts.refusals:
            self._emit_texts(self._outline.rest(), reply)
            own = [] if reply.aggregate is None else [reply.aggregate]
            self.aggregate = merge([*own, *texts.refusals.values()])
        kept = reply.messages if self._transform is None else self._transform(reply.messages)
        self._state.messages += texts.apply(kept)
        if self._scene is not None and self.aggregate is not None:
            results = {result.tool_call_id: result for result in self.aggregate.tool_results}
            for call in self.aggregate.tool_calls:
                if call.id in results:
                    self._state.add_executed(self._scene.name, call, results[call.id])

    # Unregistered calls. Most texts have no tag, and need no names.

    @functools.cached_property
    def _names(self) -> NameMatcher:
        return self._state.scenes.name_matcher(self._use, with_tools=self._with_tools)

    def _find_call(self, text: str) -> tuple[int, bool]:
        if not (self._finds_calls and "<" in text):
            return len(text), False
        return find_possible_call(text, self._names)

    def _split_calls(self, text: str) -> Sequence[str | UnregisteredCall]:
        if not (self._finds_calls and "<" in text):
            return [text]
        return split_calls(text, self._names)

    # Steps.

    def _handle(self, event: ToolUseEvent, reply: ReplyRun) -> None:
        if isinstance(event, ReasoningDelta):
            self._outline.add(event)
        elif isinstance(event, TextDelta):
            message_id = self._outline.add(event)
            if self._partial is not None and not self._state.output.is_text:
                self._state.emit_output(self._partial, event.text)
            if self._holdback is not None and event.text:
                self._emit_pieces(self._holdback.push(message_id, event.text))
        elif isinstance(event, (ToolCallStart, ToolCall, InvalidToolCall)):
            self._outline.add(event)
            if self._holdback is not None:
                # Text after a call is emitted after the steps of the call.
                self._emit_pieces(self._holdback.close())
            if isinstance(event, ToolCall):
                self._arguments[event.id] = event.arguments
        elif isinstance(event, (ToolStarted, ToolResult)):
            # The reply has ended, so its text is complete.
            if self._scene is None:
                self._emit_texts(self._outline.rest(), reply)
                return
            self._emit_texts(self._outline.before(event.tool_call_id), reply)
            self._emit_call(event)
            self._emit_texts(self._outline.after(event.tool_call_id), reply)
        elif isinstance(event, ToolProgress):
            if self._scene is not None:
                self._emit(
                    SceneStatus.FUNCTION_PROGRESS,
                    progress_text(event.value, _MAX_PROGRESS),
                    function=self._requested.get(event.tool_call_id),
                    **self._ids(event.tool_call_id),
                )
        elif isinstance(event, ToolQuestion):
            # The tool is running; it continues when `SceneManager.resolve` is called.
            ids = self._ids(event.tool_call_id)
            self._emit(SceneStatus.AWAITING_CLIENT, event.question, interaction_id=event.key, **ids)

    def _emit_call(self, event: ToolStarted | ToolResult) -> None:
        """Emit the step for a call that is started, finished or skipped."""
        name, call_id = event.name, event.tool_call_id
        if not (self._is_admitted and self._executes):
            self._emit(
                SceneStatus.TOOL_SKIPPED,
                f"Tool {name} skipped",
                function=name,
                arguments=self._arguments.get(call_id),
                lifecycle=True,
                **self._ids(call_id),
            )
        elif isinstance(event, ToolStarted):
            self._arguments[call_id] = event.arguments
            self._emit_request(name, call_id)
        else:
            # A refused or cached call has not been started.
            if event.error_code is not ErrorCode.UNKNOWN_TOOL:
                self._emit_request(name, call_id)
            self._emit_result(event, self._outline.message_of(call_id))

    def _emit_request(self, name: str, call_id: str) -> None:
        if call_id in self._requested:
            return
        self._requested[call_id] = name
        # The step for a client tool is emitted when the run is saved.
        if self._scene is None or name not in self._scene.client_tools:
            self._emit(
                SceneStatus.FUNCTION_REQUEST,
                f"Executing tool: {name}",
                function=name,
                arguments=self._arguments.get(call_id),
                **self._ids(call_id),
            )

    def _emit_result(self, result: ToolResult, message_id: str | None) -> None:
        self._state.emit_result(
            result,
            scene=self._scene_name,
            message_id=message_id,
            arguments=self._arguments.get(result.tool_call_id),
        )

    def _emit_pieces(self, pieces: Iterable[tuple[str, str]]) -> None:
        for message_id, piece in pieces:
            if self._partial is not None and self._state.output.is_text:
                self._state.emit_output(self._partial, piece)
            if self._state.streaming:
                self._emit(SceneStatus.STREAMING, piece, message_id=message_id)

    def _release(self, message_id: str, text: str) -> None:
        """Emit the part of a finished text that was held back."""
        if self._holdback is not None:
            self._emit_pieces(self._holdback.release(message_id, text))

    def _emit_texts(self, message_ids: Iterable[str], reply: ReplyRun) -> None:
        """Emit texts of the reply, and the results of refused calls in them."""
        texts = self._read_texts(reply)
        for message_id in message_ids:
            text = texts.texts.get(message_id, "")
            self._release(message_id, text)
            if text.strip():
                notice = None if self._noticed else self.notice
                self._noticed = True
                self._emit(SceneStatus.RUNNING, text.strip(), message_id=message_id, notice=notice)
            refusal = texts.refusals.get(message_id)
            if refusal is not None:
                calls = texts.refused[message_id]
                for call, result in zip(calls, refusal.tool_results, strict=True):
                    if self._scene is not None or call.nearest not in self._state.scenes:
                        self._emit_result(result, refusal.id)

    def _read_texts(self, reply: ReplyRun) -> ReplyTexts:
        """Return the texts of a reply that has ended."""
        if self._texts is None:
            state, complete = self._state, reply.finish_reason not in CUT_OFF_MESSAGES
            self._texts = ReplyTexts(
                reply,
                self._outline,
                self._split_calls,
                should_refuse=self._should_refuse if self._is_admitted and complete else None,
                refusal=lambda call: state.scenes.refusal(call, self._names, self._scene),
            )
            self.notice = self._texts.notice
            for refusal in self._texts.refusals.values():
                self._arguments.update((call.id, call.arguments) for call in refusal.tool_calls)
        return self._texts

    def _ids(self, call_id: str) -> Mapping[str, Any]:
        return {"call_id": call_id, "message_id": self._outline.message_of(call_id)}

    def _emit(self, status: SceneStatus, message: str, **more: Any) -> None:
        self._state.emit(status, message, scene=self._scene_name, **more)
