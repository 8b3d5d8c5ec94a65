"""The agent: a model with its tools, instructions and limits."""

from __future__ import annotations

import asyncio
from copy import copy
from typing import TYPE_CHECKING, Any

from .._checks import check_count, check_flag, check_number, check_text, check_type
from ..executor.defaults import RUN_TIMEOUT
from ..executor.journal import check_journal
from ..models import as_messages
from ..natural import NaturalToolUse
from ..protocols import ModelOptions
from ..runs import check_no_loop
from .run import AgentResult, AgentRun, AgentSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from typing_extensions import Unpack

    from ..executor import ToolExecutor
    from ..kinds import Outcome
    from ..natural import ToolMode, ToolUseOptions
    from ..natural.prepared_tools import Tag
    from ..natural.request import HistoryForm
    from ..protocols import ChatModel, Journal, Messages, Model, ModelOptions
    from ..tools import Toolset
    from ..tools.toolset import Handlers, ToolLike
    from .run import AgentEvent


class Agent:
    """A model that is asked again until it answers without calling tools.

    Nothing is kept between runs, so that one agent serves any number of conversations at once. The
    `messages` of a result are the `history` of the next run.

    A call that cannot be run, or fails, has a result that says so, for the model to do better. A
    reply that is empty is asked for once more; that counts as a round.

    Args:
        model: A model in any form.
        tools: The tools, in any form that a `Toolset` takes; or a `Toolset`, which may change at
            any time, from inside a tool as well: the next request tells of it.
        instructions: What the model is told before every conversation, as a system message.
        name: Whose messages these are: their `from_agent`. Traces call the agent so, too.
        max_iterations: How many rounds a run may take: requests to the model.
        max_repeats: In how many replies the same calls may give the same results before the run
            ends as a loop; None for any number.
        answer_at_limit: Whether the model is asked once more, without tools, when
            `max_iterations` is reached.
        run_timeout: How long a run may take, waiting included, in seconds; None for as long as it
            likes. It is stopped then as by `AgentRun.cancel`, with the stop reason ``timeout``.
        tool_mode: ``natural``, ``native`` or ``auto``; see `NaturalToolUseParser`.
        handlers: The functions that serve contracts among the tools, by name.
        fallback: A model that is asked once about each call that is broken or does not fit.
        strict: Whether calls that cannot be run, and `max_iterations`, are errors.
        options: What each request asks of the model.
        executor: What runs the calls, in place of tools, handlers and options.
        generation_ids: Gives the id of each reply; random ones if not given.
        rewrite_plain_replies: Whether the fallback is also asked about replies without a call.
        tag: How calls are to be written.
        fenced: Whether arguments are to stand in a Markdown fence.
        form: How the history is written.
        stop: Whether the model is asked to stop where it would make up a tool's result.
        **more: As for `Parser` and `ToolExecutor`.

    Raises:
        ContractError: A tool cannot be called by its name, or two share one.
        SchemaError: The parameters of a tool are not a JSON Schema.
        ToolDefinitionError: A tool has no function, or none that can serve it.
        TypeError: The model is none, or an option is not known.
        ValueError: An option has a value that it cannot have.
    """

    def __init__(
        self,
        model: Model,
        tools: Iterable[ToolLike] | Toolset = (),
        *,
        instructions: str | None = None,
        name: str | None = None,
        max_iterations: int = 10,
        max_repeats: int | None = 3,
        answer_at_limit: bool = False,
        run_timeout: float | None = RUN_TIMEOUT,
        tool_mode: ToolMode = "auto",
        handlers: Handlers | None = None,
        fallback: Model | None = None,
        strict: bool = False,
        options: ModelOptions | None = None,
        executor: ToolExecutor | None = None,
        generation_ids: Callable[[], str] | None = None,
        rewrite_plain_replies: bool = False,
        tag: Tag = "name",
        fenced: bool = True,
        form: HistoryForm = "turn",
        stop: bool = True,
        **more: Unpack[ToolUseOptions],
    ) -> None:
        check_text("instructions", instructions, none=True)
        check_count("max_iterations", max_iterations, 1)
        check_count("max_repeats", max_repeats, 2, none=True)
        check_flag("answer_at_limit", answer_at_limit)
        check_type("options", options, ModelOptions, "a ModelOptions", none=True)
        check_number("run_timeout", run_timeout, above=0, none=True)
        self._use = NaturalToolUse(
            model,
            tools,
            handlers=handlers,
            fallback=fallback,
            name=name,
            executor=executor,
            generation_ids=generation_ids,
            tool_mode=tool_mode,
            strict=strict,
            rewrite_plain_replies=rewrite_plain_replies,
            tag=tag,
            fenced=fenced,
            form=form,
            stop=stop,
            **more,
        )
        self._settings = AgentSettings(
            instructions, options, max_iterations, max_repeats, strict, answer_at_limit, run_timeout
        )

    @property
    def name(self) -> str | None:
        """Whose messages these are."""
        return self._use.name

    @property
    def executor(self) -> ToolExecutor:
        """What runs the calls."""
        return self._use.executor

    @property
    def toolset(self) -> Toolset:
        """The tools. What is added or removed counts from the next request on."""
        return self._use.executor.toolset

    def wrap_model(self, wrap: Callable[[ChatModel], ChatModel]) -> Agent:
        """A copy of the agent whose model is another one, such as one that listens to its own.

        Everything else is shared with it: tools, executor, instructions, limits.

        Args:
            wrap: Makes the other model from the agent's own.
        """
        wrapped = copy(self)
        wrapped._use = copy(self._use)
        wrapped._use.parser = copy(self._use.parser)
        wrapped._use.parser.model = wrap(self._use.parser.model)
        return wrapped

    async def run(
        self,
        input: Messages | None,  # noqa: A002 - it is what goes in
        *,
        history: Messages = (),
        chat_id: str | None = None,
    ) -> AgentResult:
        """Runs until there is an answer, or a reason to stop.

        Cancelled, it stops the model and the tools and waits for them; `open` has what there was.

        Args:
            input: What the user says, in any form; None to go on where the history ends.
            history: The conversation before that.
            chat_id: The conversation, for messages and traces.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MaxIterationsError: The model still called tools in the last permitted round, in strict
                mode.
            MessageError: The conversation cannot be read, or not be said to this model.
            ModelError: A model could not be asked, or broke off.
            ToolUseParsingError: There is a call that cannot be run, in strict mode.
            ValueError: There is nothing to answer.
        """
        return await self.open(input, history=history, chat_id=chat_id).wait()

    async def stream(
        self,
        input: Messages | None,  # noqa: A002
        *,
        history: Messages = (),
        chat_id: str | None = None,
    ) -> AsyncGenerator[AgentEvent, None]:
        """Runs, and tells of everything as it happens.

        Leaving the iteration early, or cancelling it, stops the model and the tools.

        Args:
            input: What the user says, in any form; None to go on where the history ends.
            history: The conversation before that.
            chat_id: The conversation, for messages and traces.

        Yields:
            The events of each reply and its calls, as `NaturalToolUse.stream` yields them, and the
            `AgentResult`, last.

        Raises:
            Exception: As `run` does.
        """
        async with self.open(input, history=history, chat_id=chat_id) as run:
            async for event in run:
                yield event

    def run_sync(
        self,
        input: Messages | None,  # noqa: A002
        *,
        history: Messages = (),
        chat_id: str | None = None,
    ) -> AgentResult:
        """Runs on an event loop of its own, for programs that have none.

        Args:
            input: What the user says, in any form; None to go on where the history ends.
            history: The conversation before that.
            chat_id: The conversation, for messages and traces.

        Raises:
            RuntimeError: An event loop is running in this thread.
            Exception: As `run` does.
        """
        check_no_loop("agent")
        return asyncio.run(self.run(input, history=history, chat_id=chat_id))

    def open(
        self,
        input: Messages | None,  # noqa: A002
        *,
        history: Messages = (),
        chat_id: str | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
    ) -> AgentRun:
        """Begins a run. Nothing happens before it is read.

        Args:
            input: What the user says, in any form; None to go on where the history ends.
            history: The conversation before that.
            chat_id: The conversation, for messages and traces.
            run_id: The run, for messages; a random one if not given.
            journal: Where the starts and results of calls are written down; see `Journal`. What it
                raises stops the model, and is raised for whoever reads.

        Raises:
            MessageError: The conversation cannot be read.
            TypeError: The journal is none.
            ValueError: There is nothing to answer.
        """
        check_journal(journal)
        before = as_messages(history)
        messages = [] if input is None else as_messages(input)
        if not before and not messages:
            raise ValueError("there is nothing to answer: neither an input nor a history")
        return AgentRun(
            self._use,
            self._settings,
            before,
            messages,
            resumed=input is None,
            chat_id=chat_id,
            run_id=run_id,
            journal=journal,
        )

    def resolve(self, key: str, result: Any, *, is_error: bool = False) -> Outcome:
        """Says what a deferred result is; see `ToolExecutor.resolve`."""
        return self.executor.resolve(key, result, is_error=is_error)

    async def resume(
        self, paused: AgentResult | Messages, *, chat_id: str | None = None
    ) -> AgentResult:
        """Goes on with a run that was paused, after `resolve`; or that had reached a limit.

        While a result is still awaited, the model is not asked: what comes back is paused as well.

        Args:
            paused: What came of the run, or its messages, perhaps from before a restart.
            chat_id: The conversation, for messages and traces.

        Raises:
            Exception: As `run` does.
        """
        history = paused.messages if isinstance(paused, AgentResult) else paused
        return await self.run(None, history=history, chat_id=chat_id)
