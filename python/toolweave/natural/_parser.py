"""Parsing half of natural tool use: a model whose replies are events."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, cast

from .._checks import check_choice, check_flag
from .._core import (
    FabricatedResult,
    FinishUpdate,
    InvalidToolCall,
    TextDelta,
    ToolCall,
    ToolCallStart,
    UpdateReader,
)
from ..exceptions import ModelError, ToolUseParsingError
from ..executor._ids import make_call_id
from ..kinds import FinishReason
from ..models import as_messages, as_model, closing
from ..models._conversation import drop_excess_calls
from ..models._identity import identify
from ..models._requests import serialize_request
from ..tools._search import list_contracts
from ._dialects import AUTO, NATURAL, ModelDialects, dialects_read, with_dialects
from ._fallback import Fallback
from ._options import resolve_profile
from ._parsed_reply import parsed_reply
from ._prepared_tools import PreparedToolsCache, reiterable
from ._reader import CUT_OFF, MAX_PIECE_CHARS, read_updates
from ._recovery import (
    allows_recovery,
    drop_duplicates,
    record_recovery,
    rejects_tools,
)
from ._request import Request, make_request, without_choice
from ._style import resolve_style

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence

    from typing_extensions import Unpack

    from .._core import FunctionContract
    from .._messages import Message
    from .._options import ParserOptions, Tools
    from .._streams import Event
    from ..protocols import Messages, Model, ModelOptions, ParsingModel
    from ._dialects import DialectOption
    from ._options import ProfileOption, ToolMode
    from ._parsed_reply import ParsedReply
    from ._prepared_tools import PreparedTools
    from ._reader import ParsedEvent, ReplyEvent
    from ._style import HistoryForm, PromptStyle, Style, Tag

_log = logging.getLogger("toolweave.natural")

# Number of events of a reply between two yields to the event loop.
_EVENTS_PER_SLICE = 256


class _Reading(TypedDict):
    """Options of a reader of one reply; see `UpdateReader`."""

    inline: bool
    recovered: bool
    deltas: bool
    call_ids: Callable[[int], str] | None


@dataclass
class _PreparedRequest:
    """One request to the model, with what is needed to parse the reply."""

    native: bool
    """True if the request has the tools."""
    request: Request
    prepared: PreparedTools
    """The tools."""
    found: tuple[str, ...]
    """Names of the searchable tools that the model has found."""


class NaturalToolUseParser:
    """A model and a parser: describes tools to the model, and parses the calls in its replies.

    Calls are not run. No part of a conversation is kept between requests, so one object serves any
    number of concurrent conversations.

    Args:
        model: A model in any form.
        tools: Tools that the model may call, in any form. They are read for every request, so a
            list or `Toolset` may change.
        dialect: Dialect in which tools are described, and calls and results of the history are
            written: a `Dialect` or its name. ``auto`` is that of the profile, of the template, or
            of the model by its name; ``natural`` if it is not known, only read, or cannot present
            the tools. It is also named to the parser of replies.
        template: Text of the model's chat template, for ``auto``.
        profile: Profile of the model. Its options are the defaults of `dialect`, `tool_mode`,
            `style`, `tag`, `fenced`, `stop` and `reminder`. ``auto`` is the profile that ships for
            the model, by its name, if `dialect` is ``auto`` and there is no template; see
            `Profile.for_model`. None is no profile.
        tool_mode: ``natural``, the default without a profile, describes the tools in the system
            prompt and parses calls in the text. ``native`` uses the provider's protocol for both;
            calls that the server has left in the text are parsed and marked as `recovered`.
            ``auto`` is native for models with `native_tools`, and learns: a dialect of recovered
            calls is named to the parser of later requests, and if the server rejects tools, all
            later requests are natural, in that dialect if the model is not known. A profile that
            ships and prefers ``native`` stands for ``auto``. The events are the same in all modes.
        fallback: Model that repairs invalid calls, with one request each; truncated calls are not
            repaired. A repaired call has a repair of the kind ``fallback``. The usage of the
            fallback is not counted as that of `model`.
        strict: If true, an invalid call is an error instead of an event.
        rewrite_plain_replies: If true, the fallback also looks for calls in replies without any.
            This costs a request for each such reply, and can find calls that were not intended.
        style: Layout of the tools in the dialect ``natural``: ``compact``, the default, or
            ``full``; see `render_contracts`.
        tag: Form of calls in the dialect ``natural``: ``name`` (``<Name>``, the default) or
            ``tool_call`` (``<tool_call name="Name">``). Both are parsed.
        fenced: If true, arguments in the dialect ``natural`` are in a Markdown fence. Both forms
            are parsed.
        form: Position of results in the history; see `consolidate`.
        stop: If true, the default, a stop sequence prevents fabricated results. Set it to False for
            providers that reject stop sequences.
        reminder: Line after the text of the user, in requests that answer it; True for toolweave's
            own. It is part of the request only, not of the history. It helps some models; see
            docs/explanation/models.md.
        **options: Options of `Parser`.

    Raises:
        ContractError: The name of a tool is invalid, two tools share a name, or the named dialect
            cannot present a tool.
        SchemaError: The parameters of a tool are not a valid JSON Schema.
        TypeError: The model is not a model, or an option has the wrong type.
        ValueError: An option has an invalid value, or the named dialect is not among `dialects`.

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
        dialect: DialectOption = AUTO,
        template: str | None = None,
        profile: ProfileOption = "auto",
        tool_mode: ToolMode | None = None,
        fallback: Model | None = None,
        strict: bool = False,
        rewrite_plain_replies: bool = False,
        style: PromptStyle | None = None,
        tag: Tag | None = None,
        fenced: bool | None = None,
        form: HistoryForm = "turn",
        stop: bool | None = None,
        reminder: bool | str | None = None,
        **options: Unpack[ParserOptions],
    ) -> None:
        check_flag("strict", strict)
        if rewrite_plain_replies and fallback is None:
            raise ValueError("rewrite_plain_replies requires a fallback, got None")
        fallback = None if fallback is None else as_model(fallback, "fallback")
        self.model = as_model(model)
        """Model that receives the requests."""
        profile, tool_mode = resolve_profile(
            profile, tool_mode, self.model, dialect=dialect, template=template, default="natural"
        )
        self._dialects = ModelDialects(
            self.name, dialect, template=template, profile=profile, read=dialects_read(options)
        )
        self._style = resolve_style(
            profile,
            layout=style,
            tag=tag,
            fenced=fenced,
            form=form,
            stop=stop,
            reminder=reminder,
        )
        check_choice("tool_mode", tool_mode, ("natural", "native", "auto"))
        self.native = tool_mode == "native" or (
            tool_mode == "auto" and identify(self.model).native_tools
        )
        """True if calls use the provider's protocol. In the mode ``auto`` it becomes False when the
        server rejects tools."""
        self.strict = strict
        """True if an invalid call is an error."""
        self._learns = tool_mode == "auto"
        self._tools = reiterable(tools)
        self._parser_options = options
        # Prepared tools by the dialects that are named to their parsers.
        self._tool_caches: dict[tuple[str, ...], PreparedToolsCache] = {}
        # Names of tools that the dialect of the model cannot present, which are logged once.
        self._unpresentable: set[str] = set()
        self._fallback = None if fallback is None else Fallback(fallback)
        self._rewrites_plain = rewrite_plain_replies
        self._deltas = options.get("deltas", True)
        self._id_factory = options.get("id_factory") or _call_id
        prepared = self._prepare(self._tools)
        if not self.native:
            self._style_for(prepared)

    @property
    def name(self) -> str:
        """Name of the model."""
        return identify(self.model).name

    @property
    def provider(self) -> str:
        """Provider of the model."""
        return identify(self.model).provider

    def describe(self, contracts: Sequence[FunctionContract], *, tools: Tools | None = None) -> str:
        """Describe tools that the model has found, in the form of its prompt.

        Args:
            contracts: The tools.
            tools: All tools of the request; defaults to the tools of the parser.
        """
        if self.native:
            # A contract shows the text form of calls, which would be misleading here.
            return list_contracts(contracts)
        prepared = self._prepare(self._tools if tools is None else tools)
        return self._style_for(prepared).describe(contracts)

    def request(
        self,
        messages: Messages,
        *,
        tools: Tools | None = None,
        options: ModelOptions | None = None,
    ) -> Request:
        """Return the request that `stream` sends: the conversation in its form, with the tools.

        The arguments are those of `stream`.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid.
        """
        return self._exchange(messages, tools, options).request

    async def stream(
        self,
        messages: Messages,
        *,
        tools: Tools | None = None,
        options: ModelOptions | None = None,
        call_ids: Callable[[int], str] | None = None,
    ) -> AsyncGenerator[ReplyEvent, None]:
        """Send a request to the model, and yield the events of its reply.

        Args:
            messages: A conversation in any form.
            tools: Tools for this request; defaults to the tools of the parser.
            options: Options of the request.
            call_ids: Function that returns the id of the call at a position in this reply, instead
                of `id_factory`. Ids of the provider are kept.

        Yields:
            The events of the reply, `UsageUpdate`, and exactly one `FinishUpdate`, last. Its
            reason is ``tool_calls`` if the reply is complete and has calls.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid, or cannot be expressed in the API.
            ModelError: The request failed, or the reply was interrupted. What arrived before has
                been yielded, and no unfinished call has been completed.
            ToolUseParsingError: A call is invalid, in strict mode. Earlier events have been
                yielded.
        """
        conversation = as_messages(messages)

        def serialize() -> _PreparedRequest:
            return self._exchange(conversation, tools, options)

        exchange = await serialize_request(serialize, conversation)
        text: list[str] = []
        calls = count = 0
        finish: FinishReason | None = None
        reply = self._read(exchange, call_ids)
        if exchange.native and self._learns:
            reply = self._read_or_fall_back(reply, serialize, conversation, call_ids)
        async with closing(reply) as events:
            async for event in events:
                if isinstance(event, FinishUpdate):
                    finish = finish or event.reason
                    continue
                calls += isinstance(event, ToolCallStart)
                count += 1
                if count % _EVENTS_PER_SLICE == 0 or _is_long_call(event):
                    # One chunk may have any number of calls, or a very long one.
                    await asyncio.sleep(0)
                yield await self._check_call(event, exchange.prepared, text)
        finish = finish or FinishReason.MISSING
        if finish in CUT_OFF:
            _log.warning("a reply was cut off", extra={"finish_reason": finish.value})
        elif calls:
            finish = FinishReason.TOOL_CALLS
        elif self._rewrites_plain:
            call_id = make_call_id(call_ids or self._id_factory, 0)
            for event in await self._rewrite_plain("".join(text), exchange, call_id):
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
        """Send a request to the model, and wait for the complete reply.

        The arguments and exceptions are those of `stream`.
        """
        return await parsed_reply(self.stream(messages, tools=tools, options=options))

    def _exchange(
        self, messages: Messages, tools: Tools | None, options: ModelOptions | None
    ) -> _PreparedRequest:
        """Return the request, in the form of the current mode."""
        native = self.native
        prepared = self._prepare(self._tools if tools is None else tools)
        conversation = drop_excess_calls(as_messages(messages))
        found = prepared.found(conversation, None if options is None else options.tool_choice)
        if native:
            shown = prepared.visible(found)
            request = Request(conversation, shown, options if shown else without_choice(options))
        else:
            style = self._style_for(prepared)
            request = make_request(style, conversation, prepared, options, found)
        return _PreparedRequest(native, request, prepared, found)

    def _read(
        self, exchange: _PreparedRequest, call_ids: Callable[[int], str] | None
    ) -> AsyncIterable[ReplyEvent]:
        """Return the events of the reply, parsed by the model itself if it supports that."""
        request, parser = exchange.request, exchange.prepared.parser
        recovers = exchange.native and allows_recovery(request)
        reading: _Reading = {
            "inline": recovers or not exchange.native,
            "recovered": recovers,
            "deltas": self._deltas,
            "call_ids": call_ids,
        }
        if callable(getattr(self.model, "events", None)):
            events = cast("ParsingModel", self.model).events(
                request.messages,
                tools=request.tools,
                options=request.options,
                parser=parser,
                **reading,
            )
        else:
            updates = self.model.stream(
                request.messages, tools=request.tools, options=request.options
            )
            events = read_updates(updates, UpdateReader(parser, **reading))
        return drop_duplicates(events) if recovers else events

    async def _read_or_fall_back(
        self,
        events: AsyncIterable[ReplyEvent],
        serialize: Callable[[], _PreparedRequest],
        conversation: Sequence[Message],
        call_ids: Callable[[int], str] | None,
    ) -> AsyncGenerator[ReplyEvent, None]:
        """Yield the events of a native reply, or of a natural one if the server rejects tools."""
        started = False
        try:
            async with closing(events) as reply:
                async for event in reply:
                    started = True
                    yield event
        except ModelError as error:
            if started or not rejects_tools(error):
                raise
            self.native = False
            extra = {"model": self.name, "status": error.status}
            _log.warning("the server rejects tools; requests describe them in text", extra=extra)
        else:
            return
        exchange = await serialize_request(serialize, conversation)
        async with closing(self._read(exchange, call_ids)) as reply:
            async for event in reply:
                yield event

    def _prepare(self, tools: Tools) -> PreparedTools:
        """Return tools, prepared for requests in the current mode."""
        names = self._dialects.named(native=self.native)
        cache = self._tool_caches.get(names)
        if cache is None:
            cache = PreparedToolsCache(**with_dialects(self._parser_options, names))
            self._tool_caches[names] = cache
        return cache.get(tools)

    def _style_for(self, prepared: PreparedTools) -> Style:
        """Return the form of requests with these tools, in a dialect that can present them.

        Raises:
            ContractError: The dialect that the caller names cannot present a tool.
        """
        dialect = self._dialects.taught
        error = prepared.presentation_error(dialect)
        if error is not None:
            if self._dialects.is_named or dialect == NATURAL:
                raise error
            if error.tool not in self._unpresentable:
                self._unpresentable.add(error.tool)
                extra = {"model": self.name, "dialect": dialect.name, "tool": error.tool}
                _log.warning("natural is taught, since %s", error, extra=extra)
            dialect = NATURAL
        return replace(self._style, dialect=dialect)

    def _record_recovered(self, call: ToolCall) -> None:
        record_recovery(call, self.name, self.provider)
        if self._learns:
            self._dialects.learn(call.dialect)

    async def _check_call(
        self, event: ParsedEvent, prepared: PreparedTools, text: list[str]
    ) -> ParsedEvent:
        """Return the event, or the repaired call instead of an invalid one."""
        if isinstance(event, TextDelta):
            if self._rewrites_plain:
                text.append(event.text)
        elif isinstance(event, ToolCall):
            if event.recovered:
                self._record_recovered(event)
        elif isinstance(event, FabricatedResult):
            _log.warning("the model fabricated a result", extra={"tool": event.name})
        elif isinstance(event, InvalidToolCall):
            repaired = (
                None if self._fallback is None else await self._fallback.repair(event, prepared)
            )
            if repaired is not None:
                return repaired
            # Otherwise the model could cause any number of log records.
            if event.kind != "too_many":
                _log.warning(
                    "a call cannot be run",
                    extra={"tool": event.name, "tool_call_id": event.id, "kind": event.kind},
                )
            if self.strict:
                raise ToolUseParsingError(_error_message(event), event)
        return event

    async def _rewrite_plain(
        self, text: str, exchange: _PreparedRequest, call_id: str
    ) -> Iterable[Event]:
        if self._fallback is None:
            return ()
        call = await self._fallback.rewrite(text, exchange.prepared, call_id, found=exchange.found)
        return () if call is None else (ToolCallStart(call.index, call.id, call.name), call)


def _is_long_call(event: ParsedEvent) -> bool:
    return isinstance(event, (ToolCall, InvalidToolCall)) and len(event.raw) > MAX_PIECE_CHARS


def _call_id(index: int) -> str:
    # The default of the parser.
    return f"call_{index}"


def _error_message(call: InvalidToolCall) -> str:
    reasons = "; ".join(violation.message for violation in call.violations)
    return f"the model made an invalid call of {call.name!r} ({call.kind}): {reasons}"
