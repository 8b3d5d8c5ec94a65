"""The methods of an agent that start runs."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from typing_extensions import TypeVar

from .._aio.runs import check_no_loop, iterate_sync
from .._checks import check_known
from ..output._schema import Output
from ..tools._deps_type import check_deps
from ..tools._run_context import Deps
from ._options import OpenArguments, RunOptions
from ._result import AgentResult
from ._run import AgentRun

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from typing_extensions import Unpack

    from ..natural import NaturalToolUse
    from ..output import OutputType
    from ..protocols import Messages
    from ._options import AgentSettings, RunArguments
    from ._result import RunnableAgent
    from ._run import AgentEvent

T = TypeVar("T", default=Any)


class AgentRunner(Generic[Deps, Output]):
    """The part of an `Agent` that starts runs."""

    _use: NaturalToolUse[Any]
    _settings: AgentSettings
    _deps_type: type[Deps] | None

    @overload
    async def run(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        **options: Unpack[RunArguments],
    ) -> AgentResult[Output]: ...
    @overload
    async def run(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        **options: Unpack[RunArguments],
    ) -> AgentResult[Output]: ...
    @overload
    async def run(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> AgentResult[T]: ...
    @overload
    async def run(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> AgentResult[T]: ...
    async def run(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        output_type: Any = None,
        **options: Unpack[RunArguments],
    ) -> Any:
        """Run until there is an answer or another reason to stop.

        Cancellation stops the model and the tools and waits for them. Use `open` to get the
        messages of a cancelled run.

        Args:
            input: The input of the user in any form; None to continue from the end of the history.
            deps: The dependencies of the run, for the tools and the instructions.
            output_type: The output type of this run, in place of that of the agent.
            **options: `history`, `conversation`, `usage_limits` and others; see `RunArguments`.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            MaxIterationsError: The model still calls tools in the last iteration, in strict mode.
            MessageError: The conversation is invalid or not supported by this model.
            ModelError: A request failed, or a reply broke off.
            OutputError: The model gave no valid output, also when asked again.
            OutputTypeError: The output type of the run cannot be used.
            ToolUseParsingError: A call is invalid, in strict mode.
            TypeError: The dependencies are not of the type of the agent's.
            ValueError: Input and history are both empty.
        """
        return await self._open(input, _run_options(deps, output_type, options)).wait()

    @overload
    def stream(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        **options: Unpack[RunArguments],
    ) -> AsyncGenerator[AgentEvent[Output], None]: ...
    @overload
    def stream(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        **options: Unpack[RunArguments],
    ) -> AsyncGenerator[AgentEvent[Output], None]: ...
    @overload
    def stream(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> AsyncGenerator[AgentEvent[T], None]: ...
    @overload
    def stream(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> AsyncGenerator[AgentEvent[T], None]: ...
    async def stream(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        output_type: Any = None,
        **options: Unpack[RunArguments],
    ) -> AsyncGenerator[Any, None]:
        """Run, and yield events as they happen.

        Leaving the iteration early, or cancelling it, stops the model and the tools.

        Args:
            input: The input of the user in any form; None to continue from the end of the history.
            deps: The dependencies of the run, for the tools and the instructions.
            output_type: The output type of this run, in place of that of the agent.
            **options: `history`, `conversation`, `usage_limits` and others; see `RunArguments`.

        Yields:
            The events of each reply and its calls, as `NaturalToolUse.stream` yields them, and the
            `AgentResult` last.

        Raises:
            Exception: Any exception of `run`.
        """
        options_of_run = _run_options(deps, output_type, options)
        async with aclosing(self._stream(input, options_of_run)) as events:
            async for event in events:
                yield event

    async def _stream(
        self,
        input: Messages | None,  # noqa: A002
        options: RunOptions[Deps],
    ) -> AsyncGenerator[AgentEvent[Any], None]:
        async with self._open(input, options) as run:
            async for event in run:
                yield event

    @overload
    def run_sync(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        **options: Unpack[RunArguments],
    ) -> AgentResult[Output]: ...
    @overload
    def run_sync(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        **options: Unpack[RunArguments],
    ) -> AgentResult[Output]: ...
    @overload
    def run_sync(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> AgentResult[T]: ...
    @overload
    def run_sync(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> AgentResult[T]: ...
    def run_sync(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        output_type: Any = None,
        **options: Unpack[RunArguments],
    ) -> Any:
        """Run on a new event loop, for programs without one.

        Args:
            input: The input of the user in any form; None to continue from the end of the history.
            deps: The dependencies of the run, for the tools and the instructions.
            output_type: The output type of this run, in place of that of the agent.
            **options: `history`, `conversation`, `usage_limits` and others; see `RunArguments`.

        Raises:
            RuntimeError: An event loop is running in this thread.
            Exception: Any exception of `run`.
        """
        check_no_loop("agent")
        return asyncio.run(self._open(input, _run_options(deps, output_type, options)).wait())

    @overload
    def run_stream_sync(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        **options: Unpack[RunArguments],
    ) -> Generator[AgentEvent[Output], None, None]: ...
    @overload
    def run_stream_sync(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        **options: Unpack[RunArguments],
    ) -> Generator[AgentEvent[Output], None, None]: ...
    @overload
    def run_stream_sync(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> Generator[AgentEvent[T], None, None]: ...
    @overload
    def run_stream_sync(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        output_type: OutputType[T],
        **options: Unpack[RunArguments],
    ) -> Generator[AgentEvent[T], None, None]: ...
    def run_stream_sync(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        output_type: Any = None,
        **options: Unpack[RunArguments],
    ) -> Generator[Any, None, None]:
        """Run on a new event loop, and yield events as they happen, for programs without a loop.

        The run goes on only while an event is awaited. Leaving the iteration early, or an exception
        in it, stops the model and the tools. If the iterator is kept in a variable, call its
        `close`, or use `contextlib.closing`.

        Args:
            input: The input of the user in any form; None to continue from the end of the history.
            deps: The dependencies of the run, for the tools and the instructions.
            output_type: The output type of this run, in place of that of the agent.
            **options: As of `run`; see `RunArguments`.

        Returns:
            An iterator of the events that `stream` yields.

        Raises:
            RuntimeError: An event loop is running in this thread.
            Exception: Any exception of `run`.
        """
        check_no_loop("agent", "stream")
        return iterate_sync(self._stream(input, _run_options(deps, output_type, options)))

    @overload
    def open(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        **options: Unpack[OpenArguments],
    ) -> AgentRun[None, Output]: ...
    @overload
    def open(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        **options: Unpack[OpenArguments],
    ) -> AgentRun[Deps, Output]: ...
    @overload
    def open(
        self: AgentRunner[None, Output],
        input: Messages | None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        **options: Unpack[OpenArguments],
    ) -> AgentRun[None, T]: ...
    @overload
    def open(
        self,
        input: Messages | None,
        *,
        deps: Deps,
        output_type: OutputType[T],
        **options: Unpack[OpenArguments],
    ) -> AgentRun[Deps, T]: ...
    def open(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Any = None,
        output_type: Any = None,
        **options: Unpack[OpenArguments],
    ) -> Any:
        """Create a run, which starts when it is first iterated or awaited.

        Args:
            input: The input of the user in any form; None to continue from the end of the history.
            deps: The dependencies of the run, for the tools and the instructions.
            output_type: The output type of this run, in place of that of the agent.
            **options: As of `run`, and `run_id` and `journal`; see `OpenArguments`.

        Raises:
            MessageError: The conversation is invalid.
            TypeError: The journal lacks a method, or the dependencies are not of the type of the
                agent's.
            ValueError: Input and history are both empty.
        """
        return self._open(input, _run_options(deps, output_type, options))

    def _open(
        self,
        input: Messages | None,  # noqa: A002
        options: RunOptions[Deps],
    ) -> AgentRun[Deps, Output]:
        check_deps(options.deps, self._deps_type, self._use.name or "the agent")
        return AgentRun(cast("RunnableAgent", self), self._use, self._settings, input, options)

    @overload
    async def resume(
        self: AgentRunner[None, Output],
        paused: AgentResult[Any] | Messages,
        *,
        deps: None = None,
        chat_id: str | None = None,
    ) -> AgentResult[Output]: ...
    @overload
    async def resume(
        self,
        paused: AgentResult[Any] | Messages,
        *,
        deps: Deps,
        chat_id: str | None = None,
    ) -> AgentResult[Output]: ...
    @overload
    async def resume(
        self: AgentRunner[None, Output],
        paused: AgentResult[Any] | Messages,
        *,
        deps: None = None,
        chat_id: str | None = None,
        output_type: OutputType[T],
    ) -> AgentResult[T]: ...
    @overload
    async def resume(
        self,
        paused: AgentResult[Any] | Messages,
        *,
        deps: Deps,
        chat_id: str | None = None,
        output_type: OutputType[T],
    ) -> AgentResult[T]: ...
    async def resume(
        self,
        paused: AgentResult[Any] | Messages,
        *,
        deps: Any = None,
        chat_id: str | None = None,
        output_type: Any = None,
    ) -> Any:
        """Continue a run that was paused for results, after `resolve`, or that reached a limit.

        While a result is missing, no request is made, and the returned result is paused again.

        Args:
            paused: The result of the run, or its messages, also from before a restart.
            deps: The dependencies of the run, which a result does not keep.
            chat_id: The id of the conversation, in messages and traces.
            output_type: The output type of this run, which a result does not keep either.

        Raises:
            Exception: Any exception of `run`.
        """
        history = paused.messages if isinstance(paused, AgentResult) else paused
        options = RunOptions(deps, history=history, chat_id=chat_id, output_type=output_type)
        return await self._open(None, options).wait()


def _run_options(deps: Deps, output_type: Any, options: RunArguments) -> RunOptions[Deps]:
    """Return the options of a run.

    Raises:
        TypeError: One is unknown, or has the wrong type.
    """
    check_known(options, OpenArguments.__optional_keys__, AgentRunner.run)
    return RunOptions(deps, output_type=output_type, **options)
