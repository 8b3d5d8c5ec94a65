"""Natural tool use as a whole, and the half that runs calls."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypedDict, cast, overload

from .._checks import check_callable, check_known, check_text
from .._core import FinishUpdate
from ..exceptions import OutputError
from ..executor._journal import check_journal
from ..models import as_messages, as_model
from ..output._schema import Output
from ..tools import RunContext
from ..tools._run_context import Deps
from ..tools._toolset import NO_TOOLS
from ._options import EXECUTOR_OPTIONS, resolve_executor, split_options
from ._output import OutputSettings, RunOutput, output_schema
from ._parser import NaturalToolUseParser
from ._parts import ReplyEnvelope
from ._reader import CUT_OFF
from ._run import ReplyRun

if TYPE_CHECKING:
    import contextvars
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence

    from typing_extensions import Unpack

    from .._messages import Message
    from ..executor import ToolExecutor
    from ..output import OutputType
    from ..protocols import Journal, Messages, Model, ModelOptions
    from ..tools import Toolset
    from ..tools._toolset import Handlers, ToolFor
    from ._dialects import DialectOption
    from ._options import ExecutorOptions, ProfileOption, ToolMode, ToolUseOptions
    from ._output import OutputMode
    from ._preparation import Instruction, PrepareTools
    from ._run import ToolUseEvent
    from ._style import HistoryForm, PromptStyle, Tag

_log = logging.getLogger("toolweave.natural")


class ReplyArguments(TypedDict, total=False):
    """Arguments of `FunctionCalling.open`, which documents them."""

    options: ModelOptions | None
    run_id: str | None
    chat_id: str | None
    with_tools: bool
    context: contextvars.Context | None
    admit: Callable[[ReplyRun], bool | Awaitable[bool]] | None
    journal: Journal | None
    instructions: Sequence[Instruction[Any]]


class FunctionCalling(Generic[Deps]):
    """Execution half of natural tool use: runs the calls in the replies of a model.

    Args:
        model: A `NaturalToolUseParser`, which parses calls in the text; or a model that makes
            native calls, in any form.
        tools: Tools in any form that a `Toolset` takes; or a `Toolset`, which may change between
            replies. The model is shown these, not the tools of a parser.
        handlers: Functions for contracts among the tools, by name.
        executor: Executor to use, instead of tools, handlers and options.
        name: Name of the agent, the `from_agent` of its messages.
        generation_ids: Function that returns the id of each reply; random ids by default.
        prepare_tools: Function of the `RunContext` and the list of tools that returns those that
            the next request offers. It may be async; otherwise it runs in a thread.
        **options: Options of `ToolExecutor`.

    Raises:
        ContractError: Two tools share a name, or a definition is invalid.
        ToolDefinitionError: A tool has no function, or an unsuitable one.
        TypeError: The model is not a model, or an option is unknown.
        ValueError: An option has an invalid value.
    """

    def __init__(
        self,
        model: Model | NaturalToolUseParser,
        tools: Iterable[ToolFor[Deps]] | Toolset = NO_TOOLS,
        *,
        handlers: Handlers | None = None,
        executor: ToolExecutor | None = None,
        name: str | None = None,
        generation_ids: Callable[[], str] | None = None,
        prepare_tools: PrepareTools[Deps] | None = None,
        **options: Unpack[ExecutorOptions],
    ) -> None:
        check_known(options, EXECUTOR_OPTIONS, FunctionCalling)
        if not isinstance(model, NaturalToolUseParser):
            model = NaturalToolUseParser(model, tool_mode="native")
        check_text("name", name, none=True)
        check_callable("generation_ids", generation_ids, "a function without arguments", none=True)
        wanted = "a function of a RunContext and the list of tools"
        check_callable("prepare_tools", prepare_tools, wanted, "context", "tools", none=True)
        self.executor = resolve_executor(tools, handlers, executor, options)
        """Executor of the calls."""
        self.parser = model
        """Parser of the replies."""
        self.name = name
        """Name of the agent, the `from_agent` of its messages."""
        self._prepare_tools = prepare_tools
        self._generation_ids = generation_ids or _random_id
        self._output_settings = OutputSettings()
        # If the application has an id factory, its ids are used unchanged.
        self._own_ids = options.get("id_factory") is None

    @overload
    def open(
        self: FunctionCalling[None],
        messages: Messages,
        *,
        deps: None = None,
        **more: Unpack[ReplyArguments],
    ) -> ReplyRun: ...
    @overload
    def open(
        self, messages: Messages, *, deps: Deps, **more: Unpack[ReplyArguments]
    ) -> ReplyRun: ...
    @overload
    def open(
        self,
        messages: Messages,
        *,
        run_context: RunContext[Deps],
        **more: Unpack[ReplyArguments],
    ) -> ReplyRun: ...
    def open(
        self,
        messages: Messages,
        *,
        deps: Any = None,
        options: ModelOptions | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        with_tools: bool = True,
        context: contextvars.Context | None = None,
        admit: Callable[[ReplyRun], bool | Awaitable[bool]] | None = None,
        journal: Journal | None = None,
        instructions: Sequence[Instruction[Any]] = (),
        run_context: RunContext[Any] | None = None,
    ) -> ReplyRun:
        """Open a run of one request. It starts when it is first read.

        Args:
            messages: A conversation in any form.
            deps: Dependencies for the contexts of tools.
            options: Options of the request.
            run_id: Run id of the messages.
            chat_id: Chat id of the messages.
            with_tools: If true, the model is shown the tools. Otherwise it must answer.
            context: Context that the model and the tools run in; defaults to a copy of the current
                one.
            admit: Function, sync or async, that decides on all calls of the reply together, when
                the model has ended and its usage is known. If it returns False, the calls are
                interrupted. With it, no call starts earlier, and none if the reply was interrupted.
            journal: Journal of the starts and results of calls; see `Journal`. Its exceptions stop
                the model, and are raised for the reader.
            instructions: Texts, or functions of the `RunContext`, before the conversation.
            run_context: Context of the run that the reply belongs to, instead of `deps`.

        Raises:
            TypeError: `journal` is not a journal.
        """
        check_journal(journal)
        if run_context is None:
            run_context = RunContext(deps, run_id=run_id, chat_id=chat_id, iterations=1)
        generation_id = self._generation_ids()
        asked = RunOutput(self._output_settings, self)
        options, form = asked.request(options, with_tools=with_tools)

        # Unique in the conversation, not only in the reply, since results are looked up by id.
        def call_id(index: int) -> str:
            return f"call_{generation_id[:12]}_{index}"

        return ReplyRun(
            self.parser,
            self.executor,
            messages,
            envelope=ReplyEnvelope(generation_id, self.name, run_id, chat_id),
            options=options,
            call_ids=call_id if self._own_ids else None,
            with_tools=with_tools,
            context=context,
            admit=admit,
            journal=journal,
            run_context=run_context,
            instructions=(*instructions, form) if form else instructions,
            prepare_tools=self._prepare_tools,
        )

    @overload
    def stream(
        self: FunctionCalling[None],
        messages: Messages,
        *,
        deps: None = None,
        options: ModelOptions | None = None,
    ) -> AsyncGenerator[ToolUseEvent, None]: ...
    @overload
    def stream(
        self, messages: Messages, *, deps: Deps, options: ModelOptions | None = None
    ) -> AsyncGenerator[ToolUseEvent, None]: ...
    async def stream(
        self, messages: Messages, *, deps: Any = None, options: ModelOptions | None = None
    ) -> AsyncGenerator[ToolUseEvent, None]:
        """Send a request to the model, and run its calls while it is still writing.

        Closing or cancelling the iteration cancels the model and the tools.

        Args:
            messages: A conversation in any form.
            deps: Dependencies for the contexts of tools.
            options: Options of the request.

        Yields:
            The events of the reply and of its calls as they happen, the `ToolAggregateMessage` if
            there were calls, a `UsageMessage` if the provider reports usage, and exactly one
            `FinishUpdate`, last. After an empty reply the request is repeated once: the events of
            both requests are yielded, with a `UsageMessage` for each.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid, or cannot be expressed in the API.
            ModelError: The request failed, or the reply was interrupted. Earlier calls have their
                results, and have been yielded.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        async with self.open(messages, deps=deps, options=options) as reply:
            async for event in reply:
                if isinstance(event, FinishUpdate) and reply.is_empty:
                    break
                yield event
        if not reply.is_empty:
            return
        async with self._retry_empty(messages, deps, reply, options) as reply:
            async for event in reply:
                yield event

    @overload
    async def complete(
        self: FunctionCalling[None],
        messages: Messages,
        *,
        deps: None = None,
        options: ModelOptions | None = None,
    ) -> list[Message]: ...
    @overload
    async def complete(
        self, messages: Messages, *, deps: Deps, options: ModelOptions | None = None
    ) -> list[Message]: ...
    async def complete(
        self, messages: Messages, *, deps: Any = None, options: ModelOptions | None = None
    ) -> list[Message]:
        """Send a request to the model, run its calls, and wait for the results.

        Args:
            messages: A conversation in any form.
            deps: Dependencies for the contexts of tools.
            options: Options of the request.

        Returns:
            The messages of the reply: reasoning and texts, then the calls with their results, then
            the usage. Append them to the conversation unchanged. After an empty reply the request
            is repeated once, and the usage of the empty reply comes first.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid, or cannot be expressed in the API.
            ModelError: The request failed, or the reply was interrupted.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        reply = self.open(messages, deps=deps, options=options)
        result = list(await reply.wait())
        if reply.is_empty:
            result += await self._retry_empty(messages, deps, reply, options).wait()
        return result

    def _retry_empty(
        self, messages: Messages, deps: Any, reply: ReplyRun, options: ModelOptions | None
    ) -> ReplyRun:
        """Open another run for a conversation, after an empty reply."""
        _log.info("an empty reply is requested once more", extra={"agent": self.name})
        return self.open([*as_messages(messages), reply.reminder], deps=deps, options=options)


class NaturalToolUse(FunctionCalling[Deps], Generic[Deps, Output]):
    """Tools for any model that writes text: describes them, parses calls, and runs them.

    Each request gets one reply. To let the model read the results, send another request, or use an
    `Agent`. After an empty reply the request is repeated once, except by `open`. No state is kept
    between requests, so one object serves any number of concurrent conversations.

    Args:
        model: A model in any form.
        tools: Tools in any form that a `Toolset` takes; or a `Toolset`, which may change between
            replies.
        handlers: Functions for contracts among the tools, by name.
        fallback: Model that repairs invalid calls, with one request each.
        name: Name of the agent, the `from_agent` of its messages.
        executor: Executor to use, instead of tools, handlers and options.
        generation_ids: Function that returns the id of each reply; random ids by default.
        prepare_tools: Function that returns the tools of each request; see `FunctionCalling`.
        dialect: Dialect in which tools are described and histories are written; by default, that of
            the model. See `NaturalToolUseParser`, also for the following options.
        template: Text of the model's chat template.
        profile: Profile of the model; by default, the one that ships for it, if any.
        tool_mode: ``natural``, ``native`` or ``auto``. By default, that of the profile, or
            ``natural``.
        strict: If true, an invalid call is an error instead of a result with an error.
        rewrite_plain_replies: If true, the fallback also looks for calls in replies without any.
        style: Layout of the tools in the dialect ``natural``.
        tag: Form of calls in the dialect ``natural``.
        fenced: If true, arguments in the dialect ``natural`` are in a Markdown fence.
        form: Position of results in the history; see `consolidate`.
        stop: If true, the default, a stop sequence prevents fabricated results.
        reminder: Line after the text of the user, in requests that answer it.
        output_type: Type of the output of a reply, as of an `Agent`; text if not given. The model
            is asked for it, and `output` reads it.
        output_mode: Way in which the model is asked for it; see `Agent`.
        **options: Options of `Parser` and `ToolExecutor`.

    Raises:
        ContractError: The name of a tool is invalid, two tools share a name, or the named dialect
            cannot present a tool.
        OutputTypeError: JSON Schema cannot express the output type, or two members of a union
            cannot be distinguished.
        SchemaError: The parameters of a tool are not a valid JSON Schema.
        ToolDefinitionError: A tool has no function, or an unsuitable one.
        TypeError: The model is not a model, or an option is unknown.
        ValueError: An option has an invalid value.

    Example:
        >>> import asyncio
        >>> from toolweave.natural import NaturalToolUse
        >>> from toolweave.testing import ScriptedModel
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> use = NaturalToolUse(ScriptedModel('<add>{"a": 2, "b": 3}</add>'), [add])
        >>> [message] = asyncio.run(use.complete("What is 2 + 3?"))
        >>> message.tool_results[0].result
        '5'
    """

    def __init__(
        self,
        model: Model,
        tools: Iterable[ToolFor[Deps]] | Toolset = NO_TOOLS,
        *,
        handlers: Handlers | None = None,
        fallback: Model | None = None,
        name: str | None = None,
        executor: ToolExecutor | None = None,
        generation_ids: Callable[[], str] | None = None,
        prepare_tools: PrepareTools[Deps] | None = None,
        dialect: DialectOption = "auto",
        template: str | None = None,
        profile: ProfileOption = "auto",
        tool_mode: ToolMode | None = None,
        strict: bool = False,
        rewrite_plain_replies: bool = False,
        style: PromptStyle | None = None,
        tag: Tag | None = None,
        fenced: bool | None = None,
        form: HistoryForm = "turn",
        stop: bool | None = None,
        reminder: bool | str | None = None,
        output_type: OutputType[Output] | None = None,
        output_mode: OutputMode = "auto",
        **options: Unpack[ToolUseOptions],
    ) -> None:
        model = as_model(model)
        parser_options, executor_options = split_options(options, NaturalToolUse)
        executor = resolve_executor(tools, handlers, executor, executor_options)
        parser = NaturalToolUseParser(
            model,
            executor.toolset,
            dialect=dialect,
            template=template,
            profile=profile,
            tool_mode=tool_mode,
            fallback=fallback,
            strict=strict,
            rewrite_plain_replies=rewrite_plain_replies,
            style=style,
            tag=tag,
            fenced=fenced,
            form=form,
            stop=stop,
            reminder=reminder,
            **parser_options,
        )
        super().__init__(
            parser,
            executor=executor,
            name=name,
            generation_ids=generation_ids,
            prepare_tools=prepare_tools,
        )
        self._own_ids = options.get("id_factory") is None
        # Each request has one reply, so the model is not asked again.
        self._output_settings = OutputSettings(output_schema(output_type), output_mode, 0)

    async def output(self, reply: ReplyRun) -> Output:
        """Wait for a reply, and read it as a value of the output type.

        Args:
            reply: The reply, opened by this object.

        Raises:
            OutputError: The reply has calls, or its text is not valid. The error has the violations
                and the messages of the reply.
            Exception: Any exception of `ReplyRun.wait`, or of an output function.
        """
        messages = await reply.wait()
        context = replace(reply.run_context, messages=(*reply.run_context.messages, *messages))
        if reply.calls:
            text = "the reply has calls, and is not an output"
            raise OutputError(text, reply.text, (), context.messages)
        output = RunOutput(self._output_settings, self)
        truncated = reply.finish_reason in CUT_OFF
        await output.check(reply.text, context, truncated=truncated, may_retry=False)
        return cast("Output", output.result("completed", reply.text, context.messages))


def _random_id() -> str:
    return uuid.uuid4().hex
