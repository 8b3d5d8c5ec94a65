"""What answers: an agent, the scenes of a manager, or anything that makes a `ResponderRun`.

Example:
    >>> async def model(messages: Sequence[Message]) -> str:
    ...     return "Hello!"
    >>> responder = AgentResponder(Agent(model))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from .._checks import check_callable, check_flag, check_type
from ..agent import Agent
from ..scenes import SceneManager
from .raw_text import RawTextModel, RawTextRun

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from .. import Message, Selection
    from ..agent import AgentRun
    from ..executor import DeferredResults
    from ..lifecycle import TurnEvent
    from ..protocols import Journal
    from ..scenes import SceneRun
    from .raw_text import OnText, OpenedRun


@dataclass(frozen=True)
class Turn:
    """What is to be answered."""

    chat_id: str
    """The chat, as the store knows it; see `docs/web.md` about users who choose the same id."""
    run_id: str
    """The run that answers."""
    user_id: str | None
    """Who asked, where users are known."""
    history: tuple[Message, ...]
    """What was said before, fit to be sent to a model."""
    messages: tuple[Message, ...]
    """What the user says now; nothing where the history is to be gone on with."""
    journal: Journal
    """Where the calls are to be written down; pass it on, or a crash cannot be told from a
    call that never ran."""


class ResponderRun(Protocol):
    """An answer while it comes: what `Agent.open` and `SceneManager.open` make.

    As a context manager it stops the model and the tools when the block ends. Three optional
    members say more:

    - ``deferred: DeferredResults``: what its tools wait for, where answers to them are put.
    - ``current_generation_id: str | None``: the reply whose calls run, where `generation_id` is
      that of an event that is told later.
    - ``async def caught_up() -> None``: waits until all that has happened so far was read, but for
      no reader who leaves. Without it, what a call does may be stored before what came before it.
    """

    @property
    def generation_id(self) -> str | None:
        """The reply of the model that the last event belongs to; None before the first."""
        ...

    @property
    def finished_messages(self) -> Sequence[Message]:
        """What was added to the chat so far, whole replies only."""
        ...

    def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """What happens, in that order."""
        ...

    async def cancel(self) -> None:
        """Stops the model and the tools, and waits until they have."""
        ...

    async def __aenter__(self) -> Self:
        """Begins."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None:
        """Stops what still goes on."""
        ...


Responder: TypeAlias = "Callable[[Turn], ResponderRun]"
"""Begins an answer. What it raises ends the run with an error.

One that keeps something of a chat may have ``async def forget(chat_id: str) -> None``: it is called
when the chat is deleted.
"""


class AgentResponderRun:
    """A run of an agent, as a reply.

    Args:
        agent: The agent.
        run: Its run.
    """

    def __init__(self, agent: Agent, run: AgentRun) -> None:
        self._agent = agent
        self._run = run

    @property
    def deferred(self) -> DeferredResults:
        """What the tools wait for."""
        return self._agent.executor.deferred

    @property
    def generation_id(self) -> str | None:
        """The reply of the model that the last event belongs to; None before the first."""
        return self._run.generation_id

    @property
    def finished_messages(self) -> Sequence[Message]:
        """What was added to the chat so far, whole replies only."""
        return self._run.finished_messages

    async def caught_up(self) -> None:
        """Waits until all that has happened so far was read."""
        await self._run.caught_up()

    def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """What happens, in that order."""
        return self._run.__aiter__()

    async def cancel(self) -> None:
        """Stops the model and the tools, and waits until they have."""
        await self._run.cancel()

    async def __aenter__(self) -> Self:
        """Begins."""
        await self._run.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stops what still goes on."""
        await self._run.__aexit__(kind, error, traceback)


class AgentResponder:
    """Answers with an agent.

    Args:
        agent: The agent; or what gives one for each turn, such as one with the user's own tools.
        raw_text: Whether what the model writes is told as it comes too, before anything is parsed:
            for readers who want to see it, as on the page. It is stored with the other events,
            and makes about as many more of them as the text itself.
    """

    def __init__(self, agent: Agent | Callable[[Turn], Agent], *, raw_text: bool = False) -> None:
        if not isinstance(agent, Agent):
            expected = "an Agent, or a function of a turn that gives one"
            check_callable("agent", agent, expected, "turn")
            if inspect.iscoroutinefunction(agent) or inspect.isasyncgenfunction(agent):
                raise TypeError(
                    f"agent must be {expected}, got an async function; a model is given to an Agent"
                )
        check_flag("raw_text", raw_text)
        self._agent = agent
        self._raw_text = raw_text

    def __call__(self, turn: Turn) -> ResponderRun:
        """Begins an answer.

        Raises:
            TypeError: The function has given something else than an agent.
            ValueError: There is nothing to answer.
        """
        agent = self._agent if isinstance(self._agent, Agent) else self._agent(turn)
        check_type("what the function of a turn gives", agent, Agent, "an Agent")
        if not self._raw_text:
            return AgentResponderRun(agent, _open_agent_run(agent, turn))

        def open_run(on_text: OnText, _: Selection | None) -> OpenedRun:
            run = _open_agent_run(
                agent.wrap_model(lambda model: RawTextModel(model, on_text)), turn
            )
            return run, agent.executor.deferred

        return RawTextRun(open_run)


def _open_agent_run(agent: Agent, turn: Turn) -> AgentRun:
    return agent.open(
        turn.messages or None,
        history=turn.history,
        chat_id=turn.chat_id,
        run_id=turn.run_id,
        journal=turn.journal,
    )


class SceneResponder:
    """Answers with the scenes of a manager.

    The manager keeps the conversation in a store of its own, by the id of the chat. For several
    processes that has to be one that they share, such as `toolweave.store.StoreConversations`.

    Args:
        manager: The manager.
        streaming: Whether text is told piece by piece.
    """

    def __init__(self, manager: SceneManager, *, streaming: bool = True) -> None:
        check_type("manager", manager, SceneManager, "a SceneManager")
        check_flag("streaming", streaming)
        self._manager = manager
        self._streaming = streaming

    def __call__(self, turn: Turn) -> SceneRun:
        """Begins an answer."""
        return self._manager.open(
            turn.messages or None,
            conversation=turn.chat_id,
            streaming=self._streaming,
            run_id=turn.run_id,
            journal=turn.journal,
        )

    async def forget(self, chat_id: str) -> None:
        """Forgets the conversation of a chat that is deleted."""
        await self._manager.forget(chat_id)
