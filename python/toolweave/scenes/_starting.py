"""Runs of a manager: the ways to start them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, overload

from typing_extensions import TypeVar

from .._aio.runs import check_no_loop
from .._checks import check_known
from ..executor._journal import check_journal
from ..output._schema import Output
from ..tools._deps_type import check_deps
from ..tools._run_context import SceneDeps
from ._request import RequestOptions, SceneRequest
from ._run import SceneRun
from ._state import RunState

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from typing_extensions import Unpack

    from ..output import OutputType
    from ..protocols import Journal, Messages
    from ._settings import ManagerSettings
    from ._steps import SceneResult, SceneStep

T = TypeVar("T", default=Any)


class SceneRuns(Generic[SceneDeps, Output]):
    """The methods of a `SceneManager` that start runs."""

    _settings: ManagerSettings
    _deps_type: type[SceneDeps] | None

    @overload
    def open(
        self: SceneRuns[None, Output],
        request: SceneRequest[object] | Messages | None = None,
        *,
        deps: None = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun[Output]: ...
    @overload
    def open(
        self: SceneRuns[None, Output],
        request: SceneRequest[object] | Messages | None = None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun[T]: ...
    @overload
    def open(
        self,
        request: Messages | None = None,
        *,
        deps: SceneDeps,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun[Output]: ...
    @overload
    def open(
        self,
        request: Messages | None = None,
        *,
        deps: SceneDeps,
        output_type: OutputType[T],
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun[T]: ...
    @overload
    def open(
        self,
        request: SceneRequest[SceneDeps],
        *,
        deps: None = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun[Output]: ...
    @overload
    def open(
        self,
        request: SceneRequest[SceneDeps],
        *,
        deps: None = None,
        output_type: OutputType[T],
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun[T]: ...
    def open(
        self,
        request: SceneRequest[Any] | Messages | None = None,
        *,
        deps: Any = None,
        output_type: Any = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun[Any]:
        """Create a run, which starts when it is first iterated or awaited.

        Args:
            request: The input of the user in any form, None to resume with results of the client,
                or a whole `SceneRequest`.
            deps: The dependencies of the run, for actors, hooks and tools.
            output_type: The output type of this run, in place of that of the manager.
            verbose: True to emit steps of the lifecycle; the manager's value if not given.
            streaming: True to emit text in pieces; the manager's value if not given.
            run_id: The id of the run in its messages; random if not given.
            journal: Journal of the starts and results of calls; see `Journal`. An exception of the
                journal ends the run like any other error.
            **more: Fields of `SceneRequest`, if `request` is not one.

        Raises:
            OutputTypeError: The output type of the run cannot be used.
            TypeError: An option is unknown, or the journal lacks a method.
            ValueError: There are no scenes, an option is out of range, or there are output
                validators, which are for outputs of the type of the manager.
        """
        return self._open(
            request,
            deps,
            more,
            output_type=output_type,
            verbose=verbose,
            streaming=streaming,
            run_id=run_id,
            journal=journal,
        )

    @overload
    def stream(
        self: SceneRuns[None, Output],
        request: SceneRequest[object] | Messages | None = None,
        *,
        deps: None = None,
        output_type: Any = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        **more: Unpack[RequestOptions],
    ) -> AsyncGenerator[SceneStep, None]: ...
    @overload
    def stream(
        self,
        request: Messages | None = None,
        *,
        deps: SceneDeps,
        output_type: Any = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        **more: Unpack[RequestOptions],
    ) -> AsyncGenerator[SceneStep, None]: ...
    @overload
    def stream(
        self,
        request: SceneRequest[SceneDeps],
        *,
        deps: None = None,
        output_type: Any = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        **more: Unpack[RequestOptions],
    ) -> AsyncGenerator[SceneStep, None]: ...
    async def stream(
        self,
        request: SceneRequest[Any] | Messages | None = None,
        *,
        deps: Any = None,
        output_type: Any = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        **more: Unpack[RequestOptions],
    ) -> AsyncGenerator[SceneStep, None]:
        """Run, and yield each step as it happens.

        Leaving the iteration early, or cancelling it, stops the model and the tools.

        Args:
            request: The input of the user; see `open`.
            deps: The dependencies of the run, for actors, hooks and tools.
            output_type: The output type of this run, in place of that of the manager.
            verbose: True to emit steps of the lifecycle; the manager's value if not given.
            streaming: True to emit text in pieces; the manager's value if not given.
            **more: Fields of `SceneRequest`, if `request` is not one.

        Yields:
            The steps. Only the last one is `Completed`; it has the final text, the stop reason and
            the totals. A failure is a `fatal` `Error` step before it.

        Raises:
            OutputTypeError: The output type of the run cannot be used.
            TypeError: An option is unknown.
            ValueError: There are no scenes, an option is out of range, or there are output
                validators, which are for outputs of the type of the manager.
        """
        async with self._open(
            request, deps, more, output_type=output_type, verbose=verbose, streaming=streaming
        ) as run:
            async for step in run:
                yield step

    @overload
    async def run(
        self: SceneRuns[None, Output],
        request: SceneRequest[object] | Messages | None = None,
        *,
        deps: None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Output]: ...
    @overload
    async def run(
        self: SceneRuns[None, Output],
        request: SceneRequest[object] | Messages | None = None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        **more: Unpack[RequestOptions],
    ) -> SceneResult[T]: ...
    @overload
    async def run(
        self,
        request: Messages | None = None,
        *,
        deps: SceneDeps,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Output]: ...
    @overload
    async def run(
        self,
        request: Messages | None = None,
        *,
        deps: SceneDeps,
        output_type: OutputType[T],
        **more: Unpack[RequestOptions],
    ) -> SceneResult[T]: ...
    @overload
    async def run(
        self,
        request: SceneRequest[SceneDeps],
        *,
        deps: None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Output]: ...
    @overload
    async def run(
        self,
        request: SceneRequest[SceneDeps],
        *,
        deps: None = None,
        output_type: OutputType[T],
        **more: Unpack[RequestOptions],
    ) -> SceneResult[T]: ...
    async def run(
        self,
        request: SceneRequest[Any] | Messages | None = None,
        *,
        deps: Any = None,
        output_type: Any = None,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Any]:
        """Run, and wait for the result. Cancellation stops the model and the tools.

        Args:
            request: The input of the user; see `open`.
            deps: The dependencies of the run, for actors, hooks and tools.
            output_type: The output type of this run, in place of that of the manager.
            **more: Fields of `SceneRequest`, if `request` is not one.

        Returns:
            The result. Failures of the run are part of it and are not raised.

        Raises:
            OutputTypeError: The output type of the run cannot be used.
            TypeError: An option is unknown.
            ValueError: There are no scenes, an option is out of range, or there are output
                validators, which are for outputs of the type of the manager.
        """
        return await self._open(request, deps, more, output_type=output_type).wait()

    @overload
    def run_sync(
        self: SceneRuns[None, Output],
        request: SceneRequest[object] | Messages | None = None,
        *,
        deps: None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Output]: ...
    @overload
    def run_sync(
        self: SceneRuns[None, Output],
        request: SceneRequest[object] | Messages | None = None,
        *,
        deps: None = None,
        output_type: OutputType[T],
        **more: Unpack[RequestOptions],
    ) -> SceneResult[T]: ...
    @overload
    def run_sync(
        self,
        request: Messages | None = None,
        *,
        deps: SceneDeps,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Output]: ...
    @overload
    def run_sync(
        self,
        request: Messages | None = None,
        *,
        deps: SceneDeps,
        output_type: OutputType[T],
        **more: Unpack[RequestOptions],
    ) -> SceneResult[T]: ...
    @overload
    def run_sync(
        self,
        request: SceneRequest[SceneDeps],
        *,
        deps: None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Output]: ...
    @overload
    def run_sync(
        self,
        request: SceneRequest[SceneDeps],
        *,
        deps: None = None,
        output_type: OutputType[T],
        **more: Unpack[RequestOptions],
    ) -> SceneResult[T]: ...
    def run_sync(
        self,
        request: SceneRequest[Any] | Messages | None = None,
        *,
        deps: Any = None,
        output_type: Any = None,
        **more: Unpack[RequestOptions],
    ) -> SceneResult[Any]:
        """Run on a new event loop, for programs without one.

        Args:
            request: The input of the user; see `open`.
            deps: The dependencies of the run, for actors, hooks and tools.
            output_type: The output type of this run, in place of that of the manager.
            **more: Fields of `SceneRequest`, if `request` is not one.

        Raises:
            RuntimeError: An event loop is running in this thread.
            Exception: Any exception of `run`.
        """
        check_no_loop("manager")
        return asyncio.run(self._open(request, deps, more, output_type=output_type).wait())

    def _open(
        self,
        request: SceneRequest[Any] | Messages | None,
        deps: Any,
        more: RequestOptions,
        *,
        output_type: Any,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
    ) -> SceneRun[Any]:
        check_journal(journal)
        if isinstance(request, SceneRequest):
            fields = sorted(more) if deps is None else ["deps", *sorted(more)]
            if fields:
                raise ValueError(f"fields must be set on the SceneRequest, got {', '.join(fields)}")
            scene_request: SceneRequest[Any] = request
        else:
            check_known(more, RequestOptions.__optional_keys__, SceneRuns.run)
            scene_request = SceneRequest(request, deps=deps, **more)
        check_deps(scene_request.deps, self._deps_type, self._settings.name)
        if not len(self._settings.scenes):
            raise ValueError("a manager must have a scene, got none: add one with scene()")
        state = RunState(
            self._settings,
            scene_request,
            verbose=verbose,
            streaming=streaming,
            run_id=run_id,
            journal=journal,
            output_type=output_type,
        )
        return SceneRun(state)
