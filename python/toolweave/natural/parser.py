"""The reading half of natural tool use: a model whose replies are events."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from .._checks import check_choice, check_flag
from .._core import (
    FabricatedResult,
    FinishUpdate,
    InvalidToolCall,
    Joiner,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallStart,
    UpdateReader,
    UsageUpdate,
)
from ..exceptions import ToolUseParsingError
from ..executor.ids import make_call_id
from ..kinds import FinishReason
from ..models import as_messages, as_model, closing
from ..models.excess_calls import drop_excess_calls
from ..models.serialization import serialize_request
from ..tools.search import list_contracts
from .fallback import Fallback
from .prepared_tools import PreparedToolsCache, reiterable
from .reader import CUT_OFF, MAX_PIECE_CHARS, read_updates
from .request import Style, native_request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence

    from typing_extensions import Unpack

    from .. import Event, FunctionContract, Message
    from ..options import ParserOptions, Tools
    from ..protocols import Messages, Model, ModelOptions, ParsingModel
    from .prepared_tools import PreparedTools, Tag
    from .reader import ParsedEvent, ReplyEvent
    from .request import HistoryForm, Request

_log = logging.getLogger("toolweave.natural")

# How many events of a reply are handled before others have the event loop.
_EVENTS = 256

ToolMode: TypeAlias = Literal["natural", "native", "auto"]
"""Who carries the calls: the text, the provider's protocol, or that where the model has it."""


@dataclass(frozen=True)
class ParsedReply:
    """A whole reply."""

    messages: tuple[Message, ...]
    """Thoughts, texts and the calls that can be run, in the order of writing; then the usage."""
    finish_reason: FinishReason
    """Why it ended."""
    invalid: tuple[InvalidToolCall, ...] = ()
    """The calls that cannot be run."""
    fabricated: tuple[FabricatedResult, ...] = ()
    """The results that the model made up; they are in no message."""


class NaturalToolUseParser:
    """A model and a parser: it tells the model of tools, and reads the calls in what it writes.

    Nothing is run. No state is kept between requests, so that one object serves any number of
    conversations at once.

    Args:
        model: A model in any form.
        tools: The tools that the model may call, in any form. They are looked at anew for every
            request, so that a list or `Toolset` may change.
        tool_mode: ``natural`` describes the tools in the system prompt and reads calls in the text.
            ``native`` leaves both to the provider's protocol, and text is only text. ``auto`` is
            native for a model that says `native_tools`. What comes out is the same.
        fallback: A model that is asked once about each call that is broken or does not fit, and
            about none that was cut off. What it mends has a repair of the kind ``fallback``. What
            it uses is not counted as this model's.
        strict: Whether a call that cannot be run is an error, rather than an event.
        rewrite_plain_replies: Whether the fallback is also asked about replies without a call. It
            costs a request for each of them, and can find calls where there were none.
        tag: How calls are to be written: ``name`` (``<Name>``) or ``tool_call``
            (``<tool_call name="Name">``). Both are read.
        fenced: Whether arguments are to stand in a Markdown fence. Both are read.
        form: What becomes one message of the history; see `consolidate`.
        stop: Whether the model is asked to stop where it would make up a tool's result. A provider
            that refuses stop strings needs False.
        **options: As for `Parser`.

    Raises:
        ContractError: The name of a tool is invalid, or two tools share a name.
        SchemaError: The parameters of a tool are not a valid JSON Schema.
        TypeError: The model is not a model, or an option has the wrong type.
        ValueError: An option has an invalid value.

    Example:
        >>> import asyncio
        >>> from toolweave.natural import NaturalToolUseParser
        >>> from toolweave.testing import ScriptedModel
        >>> model = ScriptedModel('I look it up. <GetWeather>{"city": "Oslo"}</GetWeather>')
        >>> parser = NaturalToolUseParser(model, ["GetWeather"])
        >>> reply = asyncio.run(parser.complete("How is the weather in Oslo?"))
        >>> reply.messages[0].text, reply.messages[1].tool_calls[0].arguments
        ('I look it up. ', {'city': 'Oslo'})
    """

    def __init__(
        self,
        model: Model,
        tools: Tools = (),
        *,
        tool_mode: ToolMode = "natural",
        fallback: Model | None = None,
        strict: bool = False,
        rewrite_plain_replies: bool = False,
        tag: Tag = "name",
        fenced: bool = True,
        form: HistoryForm = "turn",
        stop: bool = True,
        **options: Unpack[ParserOptions],
    ) -> None:
        check_choice("tool_mode", tool_mode, ("natural", "native", "auto"))
        check_choice("tag", tag, ("name", "tool_call"))
        check_choice("form", form, ("turn", "single", "split"))
        for option, flag in (("strict", strict), ("fenced", fenced), ("stop", stop)):
            check_flag(option, flag)
        if rewrite_plain_replies and fallback is None:
            raise ValueError("rewrite_plain_replies asks the fallback, and there is none")
        fallback = None if fallback is None else as_model(fallback, "fallback")
        self.model = as_model(model)
        """The model."""
        self.native = tool_mode == "native" or (
            tool_mode == "auto" and bool(getattr(self.model, "native_tools", False))
        )
        """Whether calls go by the provider's protocol."""
        self.strict = strict
        """Whether a call that cannot be run is an error."""
        self._tools = reiterable(tools)
        self._tool_cache = PreparedToolsCache(**options)
        self._fallback = None if fallback is None else Fallback(fallback)
        self._rewrites_plain = rewrite_plain_replies
        self._style = Style(tag=tag, fenced=fenced, form=form, stop=stop)
        self._deltas = options.get("deltas", True)
        self._id_factory = options.get("id_factory") or _call_id
        self._tool_cache.get(self._tools)

    @property
    def name(self) -> str:
        """The model's name."""
        return str(getattr(self.model, "name", type(self.model).__name__))

    @property
    def provider(self) -> str:
        """Provider of the model."""
        return str(getattr(self.model, "provider", "unknown"))

    def describe(self, contracts: Sequence[FunctionContract]) -> str:
        """Describes tools that the model has found, in the form of its prompt."""
        # A contract shows how calls are written in text, which would mislead in native mode.
        return list_contracts(contracts) if self.native else self._style.describe(contracts)

    def request(
        self,
        messages: Messages,
        *,
        tools: Tools | None = None,
        options: ModelOptions | None = None,
    ) -> Request:
        """What the model is sent: the conversation in its form, with the tools.

        Args:
            messages: A conversation in any form.
            tools: Tools for this request; defaults to the tools of the parser.
            options: Options of the request.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid.
        """
        prepared = self._tool_cache.get(self._tools if tools is None else tools)
        return self._request(messages, prepared, options)[0]

    async def stream(
        self,
        messages: Messages,
        *,
        tools: Tools | None = None,
        options: ModelOptions | None = None,
        call_ids: Callable[[int], str] | None = None,
    ) -> AsyncGenerator[ReplyEvent, None]:
        """Asks the model and reads its reply while it comes.

        Args:
            messages: A conversation in any form.
            tools: Tools for this request; defaults to the tools of the parser.
            options: Options of the request.
            call_ids: Gives the id of the call at a position in this reply, in place of
                `id_factory`. Ids that the provider gave stay.

        Yields:
            The events of the reply, `UsageUpdate`, and exactly one `FinishUpdate`, last. Its
            reason is ``tool_calls`` wherever the model had its say and made calls.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid, or cannot be expressed in the API.
            ModelError: The request failed, or the reply was interrupted. What arrived before has
                been yielded, and no unfinished call has been completed.
            ToolUseParsingError: A call is invalid, in strict mode. What stood
                before it has been yielded.
        """
        prepared = self._tool_cache.get(self._tools if tools is None else tools)
        conversation = as_messages(messages)
        request, found = await serialize_request(
            lambda: self._request(conversation, prepared, options), conversation
        )
        text: list[str] = []
        calls = read = 0
        finish: FinishReason | None = None
        async with closing(self._read(request, prepared, call_ids)) as events:
            async for event in events:
                if isinstance(event, FinishUpdate):
                    finish = finish or event.reason
                    continue
                calls += isinstance(event, ToolCallStart)
                read += 1
                if read % _EVENTS == 0 or _is_long_call(event):
                    # One chunk may hold any number of calls, or a very long one.
                    await asyncio.sleep(0)
                yield await self._check_call(event, prepared, text)
        finish = finish or FinishReason.MISSING
        if finish in CUT_OFF:
            _log.warning("a reply was cut off", extra={"finish_reason": finish.value})
        elif calls:
            finish = FinishReason.TOOL_CALLS
        elif self._rewrites_plain:
            call_id = make_call_id(call_ids or self._id_factory, 0)
            for event in await self._rewrite_plain("".join(text), prepared, call_id, found):
                yield event
                finish = FinishReason.TOOL_CALLS
        yield FinishUpdate(finish)

    async def complete(
        self,
        messages: Messages,
        *,
        tools: Tools | None = None,
        options: ModelOptions | None = None,
    ) -> ParsedReply:
        """Asks the model and waits for the whole reply.

        Args:
            messages: A conversation in any form.
            tools: Tools for this request; defaults to the tools of the parser.
            options: Options of the request.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid, or cannot be expressed in the API.
            ModelError: The request failed, or the reply was interrupted.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        written: list[TextDelta | ReasoningDelta | ToolCall | UsageUpdate | None] = []
        # A native call stands where it began, and is known when the reply is over.
        begun: dict[int, int] = {}
        invalid: list[InvalidToolCall] = []
        fabricated: list[FabricatedResult] = []
        finish = FinishReason.MISSING
        async with closing(self.stream(messages, tools=tools, options=options)) as events:
            async for event in events:
                if isinstance(event, (TextDelta, ReasoningDelta, UsageUpdate)):
                    written.append(event)
                elif isinstance(event, ToolCallStart):
                    begun[event.index] = len(written)
                    written.append(None)
                elif isinstance(event, ToolCall):
                    if event.index in begun:
                        written[begun[event.index]] = event
                    else:
                        written.append(event)
                elif isinstance(event, InvalidToolCall):
                    invalid.append(event)
                elif isinstance(event, FabricatedResult):
                    fabricated.append(event)
                elif isinstance(event, FinishUpdate):
                    finish = event.reason
        joiner = Joiner()
        for piece in written:
            if piece is not None:
                joiner.push(piece)
        messages = joiner.finish().messages
        return ParsedReply(messages, finish, tuple(invalid), tuple(fabricated))

    def _request(
        self, messages: Messages, prepared: PreparedTools, options: ModelOptions | None
    ) -> tuple[Request, tuple[str, ...]]:
        """What the model is sent, and the names of the searchable tools that it knows."""
        conversation = drop_excess_calls(as_messages(messages))
        found = prepared.found(conversation, None if options is None else options.tool_choice)
        if self.native:
            return native_request(conversation, prepared, options, found), found
        return self._style.request(conversation, prepared, options, found), found

    def _read(
        self, request: Request, prepared: PreparedTools, call_ids: Callable[[int], str] | None
    ) -> AsyncIterable[ReplyEvent]:
        """The reply to a request, read by the model itself if it can."""
        inline = not self.native
        if callable(getattr(self.model, "events", None)):
            return cast("ParsingModel", self.model).events(
                request.messages,
                tools=request.tools,
                options=request.options,
                parser=prepared.parser,
                inline=inline,
                deltas=self._deltas,
                call_ids=call_ids,
            )
        reader = UpdateReader(
            prepared.parser, inline=inline, deltas=self._deltas, call_ids=call_ids
        )
        updates = self.model.stream(request.messages, tools=request.tools, options=request.options)
        return read_updates(updates, reader)

    async def _check_call(
        self, event: ParsedEvent, prepared: PreparedTools, text: list[str]
    ) -> ParsedEvent:
        """The event, or a mended call in its place."""
        if isinstance(event, TextDelta):
            if self._rewrites_plain:
                text.append(event.text)
        elif isinstance(event, FabricatedResult):
            _log.warning("the model made up a result", extra={"tool": event.name})
        elif isinstance(event, InvalidToolCall):
            mended = (
                None if self._fallback is None else await self._fallback.repair(event, prepared)
            )
            if mended is not None:
                return mended
            # One record for each of them would be as many as the model likes.
            if event.kind != "too_many":
                _log.warning(
                    "a call cannot be run",
                    extra={"tool": event.name, "tool_call_id": event.id, "kind": event.kind},
                )
            if self.strict:
                raise ToolUseParsingError(_error_message(event), event)
        return event

    async def _rewrite_plain(
        self, text: str, prepared: PreparedTools, call_id: str, found: Sequence[str]
    ) -> Iterable[Event]:
        if self._fallback is None:
            return ()
        call = await self._fallback.rewrite(text, prepared, call_id, found=found)
        return () if call is None else (ToolCallStart(call.index, call.id, call.name), call)


def _is_long_call(event: ParsedEvent) -> bool:
    return isinstance(event, (ToolCall, InvalidToolCall)) and len(event.raw) > MAX_PIECE_CHARS


def _call_id(index: int) -> str:
    # As the parser counts by itself.
    return f"call_{index}"


def _error_message(call: InvalidToolCall) -> str:
    reasons = "; ".join(violation.message for violation in call.violations)
    return f"the model called {call.name!r} in a way that cannot be run ({call.kind}): {reasons}"
