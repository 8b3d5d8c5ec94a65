"""The agent: a model with its tools, instructions and limits."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, cast, overload

from .._checks import (
    check_count,
    check_flag,
    check_items,
    check_number,
    check_type,
)
from ..conversations._store import store_of
from ..costs._spending import budget_of, check_priced, prices_of
from ..executor._defaults import RUN_TIMEOUT
from ..models import as_model
from ..natural import NaturalToolUse
from ..natural._options import check_options, resolve_profile
from ..natural._output import OutputSettings, output_schema
from ..natural._preparation import checked_instructions
from ..output._functions import CheckedValidator
from ..output._schema import Output
from ..protocols import ModelOptions
from ..summary import Summarizer
from ..tools import Toolset
from ..tools._deps_type import check_deps_type
from ..tools._run_context import Deps
from ..tools._toolset import NO_TOOLS
from ._as_tool import agent_tool
from ._handoff import Handoff, Target, handoff_tool
from ._history import check_processors
from ._limits import UsageLimits
from ._options import AgentSettings
from ._running import AgentRunner

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Mapping,
        Sequence,
    )

    from typing_extensions import Unpack

    from ..conversations import ConversationStore
    from ..costs import Budget, Price, PriceTable
    from ..costs._amounts import Number
    from ..executor import ToolExecutor
    from ..kinds import Outcome
    from ..natural import ToolMode, ToolUseOptions
    from ..natural._dialects import DialectOption
    from ..natural._options import ProfileOption
    from ..natural._output import OutputMode
    from ..natural._preparation import Instructions, PrepareTools
    from ..natural._style import HistoryForm, PromptStyle, Tag
    from ..output import OutputType
    from ..output._functions import (
        AsyncContextValidator,
        AsyncValidator,
        ContextValidator,
        Validator,
    )
    from ..protocols import ChatModel, Model
    from ..tools import Tool, ToolOptions
    from ..tools._toolset import Handlers, ToolFor
    from ._history import HistoryProcessor
    from ._result import RunnableAgent


class Agent(AgentRunner[Deps, Output]):
    """A model with tools that is called until it answers without a tool call.

    An agent keeps no state between runs, so one agent serves any number of conversations
    concurrently. The `messages` of a result are the `history` of the next run; with a key as
    `conversation`, a store keeps them instead. `AgentRunner` has the methods that start runs.

    Args:
        model: A model in any form.
        tools: The tools in any form that a `Toolset` accepts, or a `Toolset`. A toolset may change
            at any time, also from inside a tool; changes apply from the next request on.
        instructions: The system message before every conversation: a text, a function of a
            `RunContext` that returns one, or a list of these. Functions are called for each
            request of a run, so that the text may change within it. They may be async; others run
            in a thread. An exception ends the run.
        deps_type: The type of the dependencies that each run needs, for type checkers. If it is a
            class, the dependencies of a run must be an instance of it.
        output_type: The type of the output: a type, a JSON Schema as a mapping, a function, whose
            return value is the output, or a list of these; text if not given. See
            docs/explanation/results.md. After a handover it stays that of the agent that began the
            run. With a type or validators, a run emits the text of an answer when it is accepted.
        output_mode: The way in which the model is asked for it. ``native``: the provider enforces
            the schema. ``prompted``: the instructions show it. ``auto``: both, where the provider
            can enforce it and there are no tools; otherwise ``prompted``.
        output_retries: Number of times that a run asks again after an invalid output.
        name: The name of the agent, in traces, as `from_agent` of its messages, and in the names of
            the tools that run it.
        max_iterations: Maximum number of requests to the model per run.
        max_repeats: Number of replies in which the same calls give the same results after which
            the run ends as a loop; None for no check.
        answer_at_limit: True to request an answer without tools when `max_iterations` is reached.
        usage_limits: The limits of use of a run, including the runs inside it; None for no limits.
        prices: The prices of tokens by model; see `published_prices`. A run inside another one has
            the prices of that one if none are given.
        budget: The maximum cost of a run, including the runs inside it; a number applies to each
            run. Every model that can spend from it needs a price, except with
            ``Budget(..., unpriced="allow")``.
        handoffs: The agents that the model can hand the conversation over to; see `Handoff`. The
            limits of the run stay those of the agent that started it.
        history_processors: Functions, sync or async, that take the messages of the conversation, or
            the `RunContext` and the messages, and return those to send with a request. What is
            stored does not change. A `Summarizer` sends a summary of old messages.
        conversations: The store of conversations; in memory for an hour if not given.
        summarizer: Summarizer that replaces old messages of a long history at the start of a run.
        run_timeout: Maximum duration of a run in seconds, waiting included; None for no limit. The
            run is then stopped as by `AgentRun.cancel`, with the stop reason ``timeout``.
        dialect: The dialect in which tools are described and histories are written; by default,
            that of the model. See `NaturalToolUseParser`.
        template: The text of the model's chat template.
        profile: The profile of the model, with defaults of other options; by default, the one that
            ships for the model, if any. None for no profile.
        tool_mode: ``natural``, ``native`` or ``auto``; see `NaturalToolUseParser`. By default, that
            of the profile, or ``auto``.
        handlers: The functions that run contracts among the tools, by name.
        fallback: A model that is asked once to correct each invalid call.
        strict: True to raise an error for invalid calls and when `max_iterations` is reached.
        options: The options of each request to the model.
        executor: An executor to use instead of tools, handlers and options.
        generation_ids: Function that returns the id of the next reply; random ids if not given.
        prepare_tools: Function of the `RunContext` and the list of tools that returns those that
            the next request offers; see also the option `prepare` of a tool.
        rewrite_plain_replies: True to let the fallback look for calls in replies without any.
        style: The layout of the tools in the dialect ``natural``: ``compact``, the default, or
            ``full``.
        tag: The tag format of calls in that dialect.
        fenced: True to ask for arguments in a Markdown fence in that dialect.
        form: The position of results in the history; see `consolidate`.
        stop: True, the default, to send a stop sequence, which keeps the model from inventing
            results of calls.
        reminder: A line after the text of the user; see `NaturalToolUseParser`.
        **more: Options of `Parser` and `ToolExecutor`.

    Raises:
        ContractError: The name of a tool is invalid or not unique.
        OutputTypeError: JSON Schema cannot express the output type, or two members of a union
            cannot be distinguished.
        SchemaError: The parameters of a tool are not a JSON Schema.
        ToolDefinitionError: A tool has no handler, or an unsuitable one.
        TypeError: The model is not a model, or an option is unknown.
        UnpricedModelError: There is a budget, and a model that can spend from it has no price.
        ValueError: An option is out of range, an agent to hand over to has no name, or there are
            handoffs with a `Toolset` or an executor.
    """

    def __init__(
        self,
        model: Model,
        tools: Iterable[ToolFor[Deps]] | Toolset = NO_TOOLS,
        *,
        instructions: Instructions[Deps] | None = None,
        deps_type: type[Deps] | None = None,
        output_type: OutputType[Output] | None = None,
        output_mode: OutputMode = "auto",
        output_retries: int = 1,
        name: str | None = None,
        max_iterations: int = 10,
        max_repeats: int | None = 3,
        answer_at_limit: bool = False,
        usage_limits: UsageLimits | None = None,
        prices: PriceTable | Mapping[str, Price] | None = None,
        budget: Budget | Number | None = None,
        handoffs: Iterable[Agent[Deps, Any] | Handoff[Deps]] | None = None,
        history_processors: Sequence[HistoryProcessor | Summarizer] = (),
        conversations: ConversationStore | None = None,
        summarizer: Summarizer | None = None,
        run_timeout: float | None = RUN_TIMEOUT,
        dialect: DialectOption = "auto",
        template: str | None = None,
        profile: ProfileOption = "auto",
        tool_mode: ToolMode | None = None,
        handlers: Handlers | None = None,
        fallback: Model | None = None,
        strict: bool = False,
        options: ModelOptions | None = None,
        executor: ToolExecutor | None = None,
        generation_ids: Callable[[], str] | None = None,
        prepare_tools: PrepareTools[Deps] | None = None,
        rewrite_plain_replies: bool = False,
        style: PromptStyle | None = None,
        tag: Tag | None = None,
        fenced: bool | None = None,
        form: HistoryForm = "turn",
        stop: bool | None = None,
        reminder: bool | str | None = None,
        **more: Unpack[ToolUseOptions],
    ) -> None:
        check_options(more, Agent)
        check_deps_type(deps_type)
        check_count("max_iterations", max_iterations, 1)
        check_count("max_repeats", max_repeats, 2, none=True)
        check_flag("answer_at_limit", answer_at_limit)
        check_type("options", options, ModelOptions, "a ModelOptions", none=True)
        check_number("run_timeout", run_timeout, above=0, none=True)
        check_type("usage_limits", usage_limits, UsageLimits, "a UsageLimits", none=True)
        check_type("summarizer", summarizer, Summarizer, "a Summarizer", none=True)
        profile, tool_mode = resolve_profile(
            profile, tool_mode, model, dialect=dialect, template=template, default="auto"
        )
        self._use: NaturalToolUse[Any] = NaturalToolUse(
            model,
            tools,
            handlers=handlers,
            fallback=fallback,
            name=name,
            executor=executor,
            generation_ids=generation_ids,
            prepare_tools=prepare_tools,
            dialect=dialect,
            template=template,
            profile=profile,
            tool_mode=tool_mode,
            strict=strict,
            rewrite_plain_replies=rewrite_plain_replies,
            style=style,
            tag=tag,
            fenced=fenced,
            form=form,
            stop=stop,
            reminder=reminder,
            **more,
        )
        self._deps_type = deps_type
        self._settings = AgentSettings(
            checked_instructions(instructions),
            options,
            max_iterations,
            max_repeats,
            strict,
            answer_at_limit,
            run_timeout,
            OutputSettings(output_schema(output_type), output_mode, output_retries),
            history_processors=check_processors("history_processors", history_processors),
            summarizer=summarizer,
            usage_limits=usage_limits,
            prices=None if prices is None else prices_of(prices),
            budget=budget_of(budget),
            conversations=store_of(conversations),
        )
        self._fallback = None if fallback is None else as_model(fallback)
        self._check_priced(self)
        # Only a set of tools of its own can get the tools of handoffs.
        self._shares_tools = isinstance(tools, Toolset) or executor is not None
        self._handoffs: tuple[Handoff[Any], ...] = ()
        for handoff in check_items(
            "handoffs", handoffs or (), (Agent, Handoff), "a list of agents"
        ):
            self.add_handoff(handoff)

    @property
    def name(self) -> str | None:
        """The name of the agent."""
        return self._use.name

    @property
    def executor(self) -> ToolExecutor:
        """The executor of the calls."""
        return self._use.executor

    @property
    def toolset(self) -> Toolset:
        """The tools. Additions and removals take effect from the next request on."""
        return self._use.executor.toolset

    def __repr__(self) -> str:
        return f"Agent({self.name!r})"

    @property
    def handoffs(self) -> tuple[Handoff[Any], ...]:
        """The agents that the model can hand the conversation over to."""
        return self._handoffs

    def add_handoff(self, handoff: Agent[Deps, Any] | Handoff[Deps]) -> None:
        """Let the model hand the conversation over to another agent, by a tool of its own.

        Use it for agents that hand over to each other. Runs have the tool from the next request on.

        Raises:
            ContractError: A tool has the name already.
            TypeError: The handoff is not an agent or a `Handoff`.
            UnpricedModelError: The model of the other agent has no price for the budget.
            ValueError: The other agent has no name, or the tools are in a `Toolset` or executor
                that other agents may use as well.
        """
        if isinstance(handoff, Agent):
            handoff = Handoff(handoff)
        check_type("handoff", handoff, Handoff, "an Agent or a Handoff")
        agent = cast("Agent[Any, Any]", handoff.agent)
        check_type("handoff.agent", agent, Agent, "an Agent")
        if self._shares_tools:
            raise ValueError(
                "an agent with handoffs must have tools of its own, got a Toolset or an executor: "
                "pass a list of tools, and change them by `agent.toolset`"
            )
        self._check_priced(agent)
        name, input_filter = str(agent.name), handoff.input_filter

        def find() -> Target:
            return Target(
                cast("RunnableAgent", agent), name, agent._use, agent._settings, input_filter
            )

        self.toolset.add(handoff_tool(handoff.tool_name, handoff.purpose, find))
        self._handoffs = (*self._handoffs, handoff)

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        input_type: Any = str,
        **options: Unpack[ToolOptions],
    ) -> Tool[..., Any]:
        """Return a tool that runs this agent, for other agents.

        The tool gets a task, and its result is the output of the run. What the agent does is
        reported as progress of the call, and the agent is stopped with the call. It gets the
        dependencies of the outer run, and its usage counts in the outer run. A run that ends
        without an answer is an error of the call. Agents call agents at most `max_call_depth`
        deep.

        Args:
            name: The name of the tool; derived from that of the agent if not given.
            description: The purpose of the agent, by which the model decides.
            input_type: The type of the task, in any form that a parameter of a tool can have. The
                agent reads anything but a string as JSON.
            **options: Options of the tool; see `ToolOptions`.

        Raises:
            ToolDefinitionError: An option is invalid.
            ValueError: Neither the agent nor the tool has a name.
        """
        return agent_tool(self, name, description, input_type, options)

    def _check_priced(self, agent: Agent[Any, Any]) -> None:
        """Check that each model of an agent has a price, if this agent has a budget."""
        settings = agent._settings
        summarizers = (settings.summarizer, *settings.history_processors)
        models = [agent._use.parser.model]
        models += [] if agent._fallback is None else [agent._fallback]
        models += [each.model for each in summarizers if isinstance(each, Summarizer)]
        check_priced(models, self._settings.budget, prices_of(self._settings.prices))

    @overload
    def output_validator(self, validator: Validator[Output]) -> Validator[Output]: ...
    @overload
    def output_validator(
        self, validator: ContextValidator[Deps, Output]
    ) -> ContextValidator[Deps, Output]: ...
    @overload
    def output_validator(self, validator: AsyncValidator[Output]) -> AsyncValidator[Output]: ...
    @overload
    def output_validator(
        self, validator: AsyncContextValidator[Deps, Output]
    ) -> AsyncContextValidator[Deps, Output]: ...
    def output_validator(self, validator: Callable[..., Any]) -> Callable[..., Any]:
        """Add a function that checks each output; use it as a decorator.

        Validators run in the order of addition, each with what the one before returned. One that
        raises `ModelRetry` makes the model answer again, with the text of the exception.

        Args:
            validator: Function of the output, or of a `RunContext` and the output, that returns
                the output or another one. It may be async; otherwise it runs in a thread.

        Raises:
            TypeError: It is not a function of one or two arguments.
        """
        self._settings.output.validators.append(CheckedValidator(validator))
        return validator

    def wrap_model(self, wrap: Callable[[ChatModel], ChatModel]) -> Agent[Deps, Output]:
        """Return a copy of the agent with another model, such as a wrapper that observes its own.

        The copy shares everything else with the agent: tools, executor, instructions and limits.

        Args:
            wrap: Function that takes the model of the agent and returns the new one.
        """
        wrapped = copy(self)
        wrapped._use = copy(self._use)
        wrapped._use.parser = copy(self._use.parser)
        wrapped._use.parser.model = wrap(self._use.parser.model)
        return wrapped

    async def forget(self, conversation: str) -> bool:
        """Delete a stored conversation with all of its messages.

        Args:
            conversation: The key of the conversation.

        Returns:
            True if the conversation existed.
        """
        store = self._settings.conversations
        async with store.lock(conversation):
            return await store.delete(conversation)

    def resolve(self, key: str, result: Any, *, is_error: bool = False) -> Outcome:
        """Deliver a deferred result; see `ToolExecutor.resolve`."""
        return self.executor.resolve(key, result, is_error=is_error)
