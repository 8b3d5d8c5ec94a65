"""Natural tool use as a whole, and its running half."""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING

from .._checks import check_callable, check_text
from .._core import FinishUpdate
from ..executor.journal import check_journal
from ..models import as_messages, as_model
from .envelope import Envelope
from .options import resolve_executor, split_options
from .parser import NaturalToolUseParser
from .run import ReplyRun

if TYPE_CHECKING:
    import contextvars
    from collections.abc import AsyncGenerator, Callable, Iterable

    from typing_extensions import Unpack

    from .. import Message
    from ..executor import ToolExecutor
    from ..protocols import Journal, Messages, Model, ModelOptions
    from ..tools import Toolset
    from ..tools.toolset import Handlers, ToolLike
    from .options import ExecutorOptions, ToolUseOptions
    from .parser import ToolMode
    from .prepared_tools import Tag
    from .request import HistoryForm
    from .run import ToolUseEvent

_log = logging.getLogger("toolweave.natural")


class FunctionCalling:
    """The running half of natural tool use: it runs the calls in the replies of a model.

    Args:
        model: A `NaturalToolUseParser`, which reads calls in the text; or a model that makes native
            calls, in any form.
        tools: The tools, in any form that a `Toolset` takes; or a `Toolset`, which may change
            between replies. The model is told of these, whatever tools a parser has of its own.
        handlers: The functions that serve contracts among the tools, by name.
        executor: What runs the calls, in place of tools, handlers and options.
        name: Whose messages these are: their `from_agent`.
        generation_ids: Gives the id of each reply; random ones if not given.
        **options: As for `ToolExecutor`.

    Raises:
        ContractError: Two tools share a name, or a definition is invalid.
        ToolDefinitionError: A tool has no function, or an unsuitable one.
        TypeError: The model is not a model, or an option is unknown.
        ValueError: An option has an invalid value.
    """

    def __init__(
        self,
        model: Model | NaturalToolUseParser,
        tools: Iterable[ToolLike] | Toolset = (),
        *,
        handlers: Handlers | None = None,
        executor: ToolExecutor | None = None,
        name: str | None = None,
        generation_ids: Callable[[], str] | None = None,
        **options: Unpack[ExecutorOptions],
    ) -> None:
        if not isinstance(model, NaturalToolUseParser):
            model = as_model(model)
        check_text("name", name, none=True)
        check_callable("generation_ids", generation_ids, "a function without arguments", none=True)
        self.executor = resolve_executor(tools, handlers, executor, options)
        """What runs the calls."""
        self.parser = (
            model
            if isinstance(model, NaturalToolUseParser)
            else NaturalToolUseParser(model, tool_mode="native")
        )
        """What asks the model and reads its replies."""
        self.name = name
        """Whose messages these are."""
        self._generation_ids = generation_ids or _random_id
        # With ids of their own making, applications want just those.
        self._own_ids = options.get("id_factory") is None

    def open(
        self,
        messages: Messages,
        *,
        options: ModelOptions | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        with_tools: bool = True,
        context: contextvars.Context | None = None,
        admit: Callable[[ReplyRun], bool] | None = None,
        journal: Journal | None = None,
    ) -> ReplyRun:
        """Begins one reply to one request. Nothing happens before it is read.

        Args:
            messages: A conversation in any form.
            options: Options of the request.
            run_id: The run that the messages belong to.
            chat_id: The conversation that the messages belong to.
            offered: Whether the model is told of the tools. Without them it has to answer.
            context: The context that the model and the tools run in; a copy of the current one if
                not given.
            admit: Decides on all calls of the reply at once, when the model has ended and what it
                used is known: those that it does not admit are interrupted. With it no call
                starts before that, and none if the model broke off.
            journal: Where the starts and results of calls are written down; see `Journal`. What it
                raises stops the model, and is raised for whoever reads.

        Raises:
            TypeError: The journal is none.
        """
        check_journal(journal)
        generation_id = self._generation_ids()

        # Unique in the conversation, not only in the reply: results are looked up by them.
        def call_id(index: int) -> str:
            return f"call_{generation_id[:12]}_{index}"

        return ReplyRun(
            self.parser,
            self.executor,
            messages,
            envelope=Envelope(generation_id, self.name, run_id, chat_id),
            options=options,
            call_ids=call_id if self._own_ids else None,
            with_tools=with_tools,
            context=context,
            admit=admit,
            journal=journal,
        )

    async def stream(
        self, messages: Messages, *, options: ModelOptions | None = None
    ) -> AsyncGenerator[ToolUseEvent, None]:
        """Asks the model, and runs what it calls while it still writes.

        Leaving the iteration early, or cancelling it, cancels the model and the tools.

        Args:
            messages: A conversation in any form.
            options: Options of the request.

        Yields:
            The events of the reply and of its calls as they happen, the `ToolAggregateMessage` if
            there were calls, a `UsageMessage` if the provider says what was used, and exactly one
            `FinishUpdate`, last. An empty reply is asked for once more: the events of both
            requests come, with a `UsageMessage` for each.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid, or cannot be expressed in the API.
            ModelError: The request failed, or the reply was interrupted. Earlier calls have their
                results, and have been yielded.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        async with self.open(messages, options=options) as reply:
            async for event in reply:
                if isinstance(event, FinishUpdate) and reply.is_empty:
                    break
                yield event
        if not reply.is_empty:
            return
        async with self._retry_empty(messages, reply, options) as reply:
            async for event in reply:
                yield event

    async def complete(
        self, messages: Messages, *, options: ModelOptions | None = None
    ) -> list[Message]:
        """Asks the model, runs what it calls, and waits for all of it.

        Args:
            messages: A conversation in any form.
            options: Options of the request.

        Returns:
            The messages of the reply: thoughts and texts, then the calls with their results, then
            the usage. They can be put behind the conversation as they are. An empty reply is asked
            for once more, and what it used comes first.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MessageError: The conversation is invalid, or cannot be expressed in the API.
            ModelError: The request failed, or the reply was interrupted.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        reply = self.open(messages, options=options)
        said = list(await reply.wait())
        if reply.is_empty:
            said += await self._retry_empty(messages, reply, options).wait()
        return said

    def _retry_empty(
        self, messages: Messages, reply: ReplyRun, options: ModelOptions | None
    ) -> ReplyRun:
        """Begins another reply to a conversation, after one that was empty."""
        _log.info("an empty reply is asked for once more", extra={"agent": self.name})
        return self.open([*as_messages(messages), reply.reminder], options=options)


class NaturalToolUse(FunctionCalling):
    """Tools for any model that writes text: described, read out of the reply, run, and answered.

    It asks for one reply: what the model says to the results is the next request, made by you or by
    an `Agent`. A reply that is empty is asked for once more, except by `open`. Nothing is kept
    between requests, so that one object serves any number of conversations at once.

    Args:
        model: A model in any form.
        tools: The tools, in any form that a `Toolset` takes; or a `Toolset`, which may change
            between replies.
        handlers: The functions that serve contracts among the tools, by name.
        fallback: A model that is asked once about each call that is broken or does not fit.
        name: Whose messages these are: their `from_agent`.
        executor: What runs the calls, in place of tools, handlers and options.
        generation_ids: Gives the id of each reply; random ones if not given.
        tool_mode: ``natural``, ``native`` or ``auto``; see `NaturalToolUseParser`, as for the next
            ones.
        strict: Whether a call that cannot be run is an error, rather than a result that says so.
        rewrite_plain_replies: Whether the fallback is also asked about replies without a call.
        tag: How calls are to be written.
        fenced: Whether arguments are to stand in a Markdown fence.
        form: What becomes one message of the history; see `consolidate`.
        stop: Whether the model is asked to stop where it would make up a tool's result.
        **options: As for `Parser` and `ToolExecutor`.

    Raises:
        ContractError: The name of a tool is invalid, or two tools share a name.
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
        tools: Iterable[ToolLike] | Toolset = (),
        *,
        handlers: Handlers | None = None,
        fallback: Model | None = None,
        name: str | None = None,
        executor: ToolExecutor | None = None,
        generation_ids: Callable[[], str] | None = None,
        tool_mode: ToolMode = "natural",
        strict: bool = False,
        rewrite_plain_replies: bool = False,
        tag: Tag = "name",
        fenced: bool = True,
        form: HistoryForm = "turn",
        stop: bool = True,
        **options: Unpack[ToolUseOptions],
    ) -> None:
        model = as_model(model)
        parser_options, executor_options = split_options(options)
        executor = resolve_executor(tools, handlers, executor, executor_options)
        parser = NaturalToolUseParser(
            model,
            executor.toolset,
            tool_mode=tool_mode,
            fallback=fallback,
            strict=strict,
            rewrite_plain_replies=rewrite_plain_replies,
            tag=tag,
            fenced=fenced,
            form=form,
            stop=stop,
            **parser_options,
        )
        super().__init__(parser, executor=executor, name=name, generation_ids=generation_ids)
        self._own_ids = options.get("id_factory") is None


def _random_id() -> str:
    return uuid.uuid4().hex
