"""Options of an agent and of its runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypedDict

from .._checks import check_text, check_type
from ..executor._journal import check_journal
from ..tools._run_context import Deps
from ._limits import UsageLimits

if TYPE_CHECKING:
    from ..conversations import ConversationStore
    from ..costs import Budget, PriceTable
    from ..natural._output import OutputSettings
    from ..natural._preparation import Instruction
    from ..protocols import Journal, Messages, ModelOptions
    from ..summary import Summarizer
    from ._history import HistoryProcessor


class RunArguments(TypedDict, total=False):
    """Arguments of `Agent.run` and of the other methods that start a run."""

    history: Messages
    """The earlier messages of the conversation."""
    chat_id: str | None
    """The id of the conversation, in messages and traces."""
    conversation: str | None
    """The key of a stored conversation to continue, or to start with `history`."""
    user: str | None
    """The authenticated user; other users cannot continue the stored conversation."""
    usage_limits: UsageLimits | None
    """The limits of use of this run, instead of the agent's."""


class OpenArguments(RunArguments, total=False):
    """Arguments of `Agent.open`."""

    run_id: str | None
    """The id of the run in its messages; random if not given."""
    journal: Journal | None
    """Journal of the starts and results of calls; see `Journal`. An exception of the journal stops
    the model and is raised to the reader of the run."""


@dataclass(frozen=True, eq=False)
class RunOptions(Generic[Deps]):
    """Options of one run: its dependencies, and the arguments of `Agent.open`.

    Raises:
        TypeError: The journal lacks a method.
    """

    deps: Deps
    history: Messages = ()
    chat_id: str | None = None
    conversation: str | None = None
    user: str | None = None
    usage_limits: UsageLimits | None = None
    run_id: str | None = None
    journal: Journal | None = None
    output_type: Any = None

    def __post_init__(self) -> None:
        check_journal(self.journal)
        check_text("conversation", self.conversation, none=True, empty=False)
        check_text("user", self.user, none=True)
        check_type("usage_limits", self.usage_limits, UsageLimits, "a UsageLimits", none=True)


@dataclass(frozen=True)
class AgentSettings:
    """Settings of the runs of an agent; see `Agent`."""

    instructions: tuple[Instruction[Any], ...]
    options: ModelOptions | None
    max_iterations: int
    max_repeats: int | None
    strict: bool
    answer_at_limit: bool
    run_timeout: float | None
    output: OutputSettings
    history_processors: tuple[HistoryProcessor | Summarizer, ...]
    summarizer: Summarizer | None
    usage_limits: UsageLimits | None
    prices: PriceTable | None
    budget: Budget | None
    conversations: ConversationStore

    def of_run(self, run: AgentSettings) -> AgentSettings:
        """Return these settings for the rest of a run that another agent has started.

        Args:
            run: The settings of the agent that started the run, whose limits stay in force.
        """
        return replace(
            self,
            max_iterations=run.max_iterations,
            max_repeats=run.max_repeats,
            strict=run.strict,
            answer_at_limit=run.answer_at_limit,
            run_timeout=run.run_timeout,
        )
