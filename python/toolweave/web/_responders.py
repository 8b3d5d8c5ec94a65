"""Responders, which answer the messages of a chat: with an agent, scenes, or your own code.

Example:
    >>> async def model(messages: Sequence[Message]) -> str:
    ...     return "Hello!"
    >>> responder = AgentResponder(Agent(model))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from .._checks import check_callable, check_flag, check_type
from ..agent import Agent
from ..scenes import SceneManager
from ._raw_text import RawTextModel, RawTextRun

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from types import TracebackType

    from typing_extensions import Self, TypeIs

    from .._messages import Message
    from ..agent import AgentRun
    from ..lifecycle import TurnEvent
    from ..output._schema import Output
    from ..protocols import Journal
    from ..scenes import SceneRun
    from ..selection import Selection
    from ..tools._run_context import Deps, SceneDeps
    from ._raw_text import OnText


@dataclass(frozen=True)
class Turn:
    """The turn of a user that a responder answers."""

    chat_id: str
    """Id of the chat in the store; see `docs/explanation/web.md` about users with the same id."""
    run_id: str
    """Id of the run that answers."""
    user_id: str | None
    """Id of the user; None if the server has no authentication."""
    history: tuple[Message, ...]
    """Messages of earlier turns, ready to be sent to a model."""
    messages: tuple[Message, ...]
    """The user's new messages; empty to continue from the history."""
    journal: Journal
    """Journal of the calls. Pass it on: without it, a call that a crash interrupted cannot be
    distinguished from one that never ran."""


class ResponderRun(Protocol):
    """The run of a responder, such as `Agent.open` and `SceneManager.open` return.

    As a context manager it stops the model and the tools when the block ends. Three members are
    optional:

    - ``deferred: DeferredResults``: the deferred results that the tools wait for.
    - ``current_generation_id: str | None``: the reply whose calls run, if `generation_id` is that
      of an event that is emitted later.
    - ``async def caught_up() -> None``: wait until all events so far were read, or the reader has
      left. Without it, the state of a call may be stored before the events that precede it.
    """

    @property
    def generation_id(self) -> str | None:
        """Id of the model's reply that the last event belongs to; None before the first event."""
        ...

    @property
    def finished_messages(self) -> Sequence[Message]:
        """Messages added to the chat so far, of finished replies only."""
        ...

    def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """Iterate over the events of the run, in order."""
        ...

    async def cancel(self) -> None:
        """Stop the model and the tools, and wait until they have stopped."""
        ...

    async def __aenter__(self) -> Self:
        """Start the run."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None:
        """Stop the run if it has not ended."""
        ...


Responder: TypeAlias = "Callable[[Turn], ResponderRun]"
"""Function that starts the run that answers a turn. Its exceptions end the run with an error.

A responder with state of its own can have a method ``async def forget(chat_id: str) -> None``,
which is called when a chat is deleted.
"""


class AgentResponder:
    """A responder that answers with an agent.

    Args:
        agent: The agent, or a function that returns one for each turn, for example with the user's
            own tools.
        deps: Function that returns the dependencies of the run that answers a turn, for example
            from its `user_id`; None for an agent without dependencies. It is called on the event
            loop.
        raw_text: True to also emit the model's text before it is parsed, as the page can show it.
            These events are stored like all others, and are about as many as those of the text.
    """

    @overload
    def __init__(
        self,
        agent: Agent[None, Any] | Callable[[Turn], Agent[None, Any]],
        *,
        deps: None = None,
        raw_text: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        agent: Agent[Deps, Any] | Callable[[Turn], Agent[Deps, Any]],
        *,
        deps: Callable[[Turn], Deps],
        raw_text: bool = False,
    ) -> None: ...
    def __init__(
        self,
        agent: Agent[Any, Any] | Callable[[Turn], Agent[Any, Any]],
        *,
        deps: Callable[[Turn], Any] | None = None,
        raw_text: bool = False,
    ) -> None:
        if not _is_agent(agent):
            expected = "an Agent or a function of a turn that returns one"
            _check_function("agent", agent, expected, "; pass a model to an Agent")
        if deps is not None:
            _check_function("deps", deps, "a function of a turn")
        check_flag("raw_text", raw_text)
        self._agent = agent
        self._deps = deps
        self._raw_text = raw_text

    def __call__(self, turn: Turn) -> ResponderRun:
        """Start the run that answers a turn.

        Raises:
            TypeError: The function returned something other than an agent, or the dependencies are
                not what the agent needs.
            ValueError: The turn has no messages to answer.
        """
        agent = self._agent if _is_agent(self._agent) else self._agent(turn)
        check_type("the result of the agent function", agent, Agent, "an Agent")
        deps = None if self._deps is None else self._deps(turn)
        if not self._raw_text:
            return open_agent_run(agent, turn, deps)

        def open_run(on_text: OnText, _: Selection | None) -> AgentRun[Any, Any]:
            wrapped = agent.wrap_model(lambda model: RawTextModel(model, on_text))
            return open_agent_run(wrapped, turn, deps)

        return RawTextRun(open_run)


def _is_agent(value: object) -> TypeIs[Agent[Any, Any]]:
    return isinstance(value, Agent)


def _check_function(name: str, value: object, expected: str, advice: str = "") -> None:
    """Check that an option is a function of a turn, and not an async one."""
    check_callable(name, value, expected, "turn")
    if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        raise TypeError(f"{name} must be {expected}, got an async function{advice}")


def open_agent_run(
    agent: Agent[Any, Output], turn: Turn, deps: object = None
) -> AgentRun[Any, Output]:
    """Open the run of an agent that answers a turn."""
    return agent.open(
        turn.messages or None,
        deps=deps,
        history=turn.history,
        chat_id=turn.chat_id,
        run_id=turn.run_id,
        journal=turn.journal,
    )


class SceneResponder:
    """A responder that answers with the scenes of a manager.

    The manager keeps the conversation in a store of its own, under the id of the chat. With several
    processes, this must be a store that they share, such as `toolweave.store.StoreConversations`.

    Args:
        manager: The manager of the scenes.
        deps: Function that returns the dependencies of the run that answers a turn; see
            `AgentResponder`.
        streaming: True to emit text as deltas.
    """

    @overload
    def __init__(
        self, manager: SceneManager[None, Any], *, deps: None = None, streaming: bool = True
    ) -> None: ...
    @overload
    def __init__(
        self,
        manager: SceneManager[SceneDeps, Any],
        *,
        deps: Callable[[Turn], SceneDeps],
        streaming: bool = True,
    ) -> None: ...
    def __init__(
        self,
        manager: SceneManager[Any, Any],
        *,
        deps: Callable[[Turn], Any] | None = None,
        streaming: bool = True,
    ) -> None:
        check_type("manager", manager, SceneManager, "a SceneManager")
        check_flag("streaming", streaming)
        if deps is not None:
            _check_function("deps", deps, "a function of a turn")
        self._manager = manager
        self._deps = deps
        self._streaming = streaming

    def __call__(self, turn: Turn) -> SceneRun[Any]:
        """Start the run that answers a turn."""
        return self._manager.open(
            turn.messages or None,
            deps=None if self._deps is None else self._deps(turn),
            conversation=turn.chat_id,
            streaming=self._streaming,
            run_id=turn.run_id,
            journal=turn.journal,
        )

    async def forget(self, chat_id: str) -> None:
        """Delete the conversation of a deleted chat."""
        await self._manager.forget(chat_id)
