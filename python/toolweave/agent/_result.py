"""The result of a run, and the agent that gave it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, cast

from ..costs import Cost
from ..natural._output import output_of, short_output
from ..output._schema import Output

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from typing_extensions import Unpack

    from .._core import UsageMessage
    from .._messages import Message
    from ..executor import ToolDeferred
    from ..kinds import StopReason
    from ..protocols import Messages
    from ._options import RunArguments


class RunnableAgent(Protocol):
    """An `Agent` of any type of dependencies and output, as a result names it."""

    @property
    def name(self) -> str | None:
        """The name of the agent."""
        ...

    async def run(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        **options: Unpack[RunArguments],
    ) -> AgentResult[Any]:
        """Run until there is an answer; see `Agent.run`."""
        ...

    def run_sync(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        **options: Unpack[RunArguments],
    ) -> AgentResult[Any]:
        """Run on a new event loop; see `Agent.run_sync`."""
        ...

    def stream(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        **options: Unpack[RunArguments],
    ) -> AsyncGenerator[Any, None]:
        """Run, and yield events; see `Agent.stream`."""
        ...

    def run_stream_sync(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        **options: Unpack[RunArguments],
    ) -> Generator[Any, None, None]:
        """Run on a new event loop, and yield events; see `Agent.run_stream_sync`."""
        ...

    async def resume(
        self,
        paused: AgentResult[Any] | Messages,
        *,
        deps: Any = None,
        chat_id: str | None = None,
        output_type: Any = None,
    ) -> AgentResult[Any]:
        """Continue a run that was paused; see `Agent.resume`."""
        ...


@dataclass(frozen=True, repr=False)
class AgentResult(Generic[Output]):
    """The result of a run. Its repr is one line, with the text shortened and without messages.

    The next turn of the conversation is `result.last_agent.run(input, history=result.messages)`.
    """

    text: str
    """The last text of the model, without surrounding white space."""
    messages: tuple[Message, ...]
    """All messages of the conversation including the history, without the instructions: the
    `history` of the next run."""
    new_messages: tuple[Message, ...]
    """The messages that this run added: the input and all replies."""
    usage: UsageMessage
    """The usage of all requests of the run, as far as providers report it: its own, and those of
    agents that its tools ran, of summaries and of repairs."""
    stop_reason: StopReason
    """The reason why the run ended."""
    iterations: int
    """Number of the run's own requests to models."""
    deferred: tuple[ToolDeferred, ...] = ()
    """The calls with deferred results, each with the key to resolve."""
    cost: Cost = field(default_factory=Cost)
    """The cost of the requests in `usage` with their number. Tokens that a provider does not report
    are estimated in it. Models without a price are listed, and cost nothing."""
    tool_calls: int = 0
    """Number of calls that the models of these requests made, valid or not."""
    error: str | None = None
    """The limit or the budget that ended the run; None if none did."""
    _last_agent: RunnableAgent | None = field(default=None, compare=False)
    _output: Any = None

    @property
    def last_agent(self) -> RunnableAgent:
        """The `Agent` that gave the answer: the agent of the run, or the one it was handed over to.

        It is the agent to run for the next turn.

        Raises:
            RuntimeError: The result was pickled, which leaves the agent out.
        """
        if self._last_agent is None:
            raise RuntimeError(
                "a result that was pickled has no agent: run one with history=result.messages"
            )
        return self._last_agent

    @property
    def output(self) -> Output:
        """The output of the run: the text, unless the agent or the run has an output type.

        Raises:
            OutputError: The run ended without an output, for example because it was cancelled.
        """
        return cast("Output", output_of(self._output))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields to pickle: an agent, with its model and tools, is not among them."""
        return {**self.__dict__, "_last_agent": None}

    def __repr__(self) -> str:
        tokens = self.usage.input_tokens + self.usage.output_tokens
        return (
            f"AgentResult({short_output(self._output, self.text)}, "
            f"stop_reason={self.stop_reason.value!r}, iterations={self.iterations}, "
            f"tokens={tokens})"
        )
