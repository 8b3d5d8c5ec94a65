"""The manager: scenes, the model that chooses among them, and the rules of its runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from .._checks import (
    check_callable,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_text,
    check_type,
)
from ..executor.defaults import RUN_TIMEOUT
from ..executor.journal import check_journal
from ..natural import NaturalToolUse
from ..natural.options import split
from ..protocols import ModelOptions
from ..runs import check_no_loop
from .actors import checked_actor
from .hooks import Hooks, checked_hook
from .options import (
    MODES,
    budget_of,
    checked_summarizer,
    guardrails_of,
    limiter_of,
    prices_of,
    store_of,
    user_of,
)
from .request import SceneRequest
from .run import SceneRun
from .runtime import SceneRuntime
from .scene import Scene
from .scene_set import SceneSet
from .state import ManagerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from typing_extensions import Self, Unpack

    from ..conversations import ConversationStore
    from ..costs import Budget, Price, PriceTable
    from ..costs.amounts import Number
    from ..kinds import Outcome
    from ..limits import RateLimiter
    from ..natural import ToolMode, ToolUseOptions
    from ..protocols import ChatModel, Journal, Messages, Model
    from ..summary import Summarizer
    from ..tools import RateLimit, Toolset
    from .actors import Actor
    from .hooks import AfterScene, Authorize, Before, OnTerminal
    from .request import RequestOptions, SceneMode
    from .steps import SceneResult, SceneStep

    A = TypeVar("A", bound=Authorize)
    B = TypeVar("B", bound=Before)
    S = TypeVar("S", bound=AfterScene)
    T = TypeVar("T", bound=OnTerminal)


class SceneManager:
    """Scenes, and a model that chooses among them and plays them.

    One manager serves any number of conversations at once; the runs of one conversation come after
    each other.

    Args:
        model: A model in any form; a `FallbackModel` for more than one.
        name: What traces call it.
        mode: How scenes are chosen, where a request does not say: ``direct``, ``planning``,
            ``chaining`` or ``scene``.
        max_iterations: How many rounds a scene may take: requests to the model.
        max_repeats: In how many replies the same calls may give the same results before a scene
            ends as if at that limit; None for any number.
        answer_at_limit: Whether the model is asked once more there, without tools.
        max_scenes: How many scenes a run may enter.
        guardrails: What the model is told on every turn besides actors; True for `GUARDRAILS`.
        options: What each request asks of the model.
        tool_mode: ``natural``, ``native`` or ``auto``; see `NaturalToolUseParser`.
        prices: What tokens cost, by model; `published_prices()` has those of many.
        budget: How much may be spent; a number is for each request. Every model that may spend of
            it needs a price, but for ``Budget(..., unpriced="allow")``.
        rate_limiter: How often each key may ask.
        rate_key: The key of a request; its user if not given, and all without one share a key.
        conversations: Where conversations are kept; in memory for an hour if not given.
        summarizer: Sums up conversations that have become long; they stay as they are if not given.
        run_timeout: How long a run may take, in seconds; None for as long as it likes.
        verbose: Whether steps of the lifecycle are told.
        streaming: Whether text is told piece by piece, in `Streaming` steps.
        fallback: A model that is asked once about each call that is broken or does not fit.
        **more: As for `Parser` and `ToolExecutor`; ``timeout`` is that of each tool, ``cache``
            keeps their results.

    Raises:
        TypeError: The model is none, or an option is not known.
        ValueError: An option has a value that it cannot have.
        UnpricedModelError: There is a budget, and a model that may spend of it has no price.

    Example:
        >>> import asyncio
        >>> from toolweave import ToolCall
        >>> from toolweave.testing import ScriptedModel
        >>> def add(a: float, b: float) -> float:
        ...     return a + b
        >>> model = ScriptedModel("<Maths/>", '<add>{"a": 15, "b": 27}</add>', "It is 42.")
        >>> manager = SceneManager(model).scene("Maths", "Works with numbers").tool(add).manager
        >>> asyncio.run(manager.run("What is 15 + 27?")).text
        'It is 42.'
    """

    def __init__(
        self,
        model: Model,
        *,
        name: str = "scenes",
        mode: SceneMode = "direct",
        max_iterations: int = 10,
        max_repeats: int | None = 3,
        answer_at_limit: bool = False,
        max_scenes: int = 10,
        guardrails: str | bool = False,
        options: ModelOptions | None = None,
        tool_mode: ToolMode = "auto",
        prices: PriceTable | Mapping[str, Price] | None = None,
        budget: Budget | Number | None = None,
        rate_limiter: RateLimiter | RateLimit | None = None,
        rate_key: Callable[[SceneRequest], str] | None = None,
        conversations: ConversationStore | None = None,
        summarizer: Summarizer | None = None,
        run_timeout: float | None = RUN_TIMEOUT,
        verbose: bool = False,
        streaming: bool = False,
        fallback: Model | None = None,
        **more: Unpack[ToolUseOptions],
    ) -> None:
        check_text("name", name, empty=False)
        check_choice("mode", mode, MODES)
        check_count("max_iterations", max_iterations, 1)
        check_count("max_scenes", max_scenes, 1)
        check_count("max_repeats", max_repeats, 2, none=True)
        flags = {"answer_at_limit": answer_at_limit, "verbose": verbose, "streaming": streaming}
        for option, flag in flags.items():
            check_flag(option, flag)
        check_type("options", options, ModelOptions, "a ModelOptions", none=True)
        check_number("run_timeout", run_timeout, above=0, none=True)
        check_callable("rate_key", rate_key, "a function of a request", "request", none=True)
        of_parser, _ = split(more)
        # Those of tools are used where a scene is played, which is late to hear of mistakes.
        NaturalToolUse(model, tool_mode=tool_mode, fallback=fallback, **more)

        def make_tool_use(toolset: Toolset) -> NaturalToolUse:
            return NaturalToolUse(model, toolset, tool_mode=tool_mode, fallback=fallback, **more)

        def make_plain_use(toolset: Toolset) -> NaturalToolUse:
            return NaturalToolUse(model, toolset, tool_mode=tool_mode, **of_parser)

        self._runtime = SceneRuntime(
            SceneSet(make_tool_use, make_plain_use),
            ManagerSettings(
                name=name,
                mode=mode,
                max_iterations=max_iterations,
                max_repeats=max_repeats,
                max_scenes=max_scenes,
                answer_at_limit=answer_at_limit,
                guardrails=guardrails_of(guardrails),
                options=options,
                run_timeout=run_timeout,
            ),
            Hooks(),
            store=store_of(conversations),
            prices=prices_of(prices),
            budget=budget_of(budget),
            summarizer=checked_summarizer(summarizer),
            limiter=limiter_of(rate_limiter),
            rate_key=user_of if rate_key is None else rate_key,
            verbose=verbose,
            streaming=streaming,
        )

    # What there is to play.

    def scene(self, name: str, description: str | None = None) -> Scene:
        """Adds a scene, to be filled by its own methods; see `Scene`.

        As a decorator it takes a class, whose methods become the tools, or a function, which
        becomes an actor:

            @manager.scene("Calculator", "Performs mathematical calculations")
            class Calculator:
                def add(self, a: float, b: float) -> float: ...

        Args:
            name: What it is called.
            description: What it is for: what the model chooses by.

        Raises:
            ValueError: The name is empty, or there is a scene of that name.
        """
        scene = Scene(name, description)
        self.add(scene)
        return scene

    def add(self, scene: Scene) -> Self:
        """Adds a scene that was made before.

        Raises:
            ValueError: There is a scene of its name.
        """
        self._runtime.scenes.add(scene, self)
        return self

    def remove(self, name: str) -> Scene:
        """Removes a scene; a run that is in it goes on in it.

        Args:
            name: The name that it was given.

        Returns:
            The scene.

        Raises:
            LookupError: There is no scene of that name.
        """
        return self._runtime.scenes.remove(name)

    @property
    def model(self) -> ChatModel:
        """The model."""
        return self._runtime.scenes.model

    @property
    def scenes(self) -> Mapping[str, Scene]:
        """The scenes by the names that they were given, in that order."""
        return {scene.name: scene for scene in self._runtime.scenes}

    def actor(self, actor: Actor) -> Self:
        """Adds what the model is told on every turn, in and outside of scenes.

        Args:
            actor: Static text, a sync or async function of the `SceneContext`, or an object that
                has one as its method `act`.

        Raises:
            TypeError: It is none of these.
        """
        self._runtime.actors.append(checked_actor(actor))
        return self

    # What the application decides. Each of these can be used as a decorator.

    def authorize(self, hook: A) -> A:
        """Adds a hook that says whether a request is allowed. Nothing but True is a yes."""
        self._runtime.hooks.authorize.append(checked_hook(hook))
        return hook

    def before(self, hook: B) -> B:
        """Adds a hook that can deny a request, or answer it in the model's place."""
        self._runtime.hooks.before.append(checked_hook(hook))
        return hook

    def after_scene(self, hook: S) -> S:
        """Adds a hook that hears what each scene answers, and can append to it or end the run."""
        self._runtime.hooks.after_scene.append(checked_hook(hook))
        return hook

    def on_terminal(self, hook: T) -> T:
        """Adds a hook that hears how each run ends, and can append to its answer."""
        self._runtime.hooks.on_terminal.append(checked_hook(hook))
        return hook

    # Runs.

    def open(
        self,
        request: SceneRequest | Messages | None = None,
        *,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
        **more: Unpack[RequestOptions],
    ) -> SceneRun:
        """Begins a run. Nothing happens before it is read.

        Args:
            request: What the user says, in any form; None to go on with the results of the
                client; or all of it as a `SceneRequest`.
            verbose: Whether steps of the lifecycle are told; as the manager says if not given.
            streaming: Whether text is told piece by piece; as above.
            run_id: The run, for messages; a random one if not given.
            journal: Where the starts and results of calls are written down; see `Journal`. What it
                raises ends the run, as any other error does.
            **more: As for `SceneRequest`, where there is none.

        Raises:
            TypeError: There is no such option, or the journal is none.
            ValueError: There are no scenes, or an option has a value that it cannot have.
        """
        check_journal(journal)
        if isinstance(request, SceneRequest):
            if more:
                raise ValueError(f"the request says all; leave out: {', '.join(sorted(more))}")
            scene_request = request
        else:
            scene_request = SceneRequest(request, **more)
        if scene_request.mode is not None:
            check_choice("mode", scene_request.mode, MODES)
        if not len(self._runtime.scenes):
            raise ValueError("there are no scenes: SceneManager.scene adds one")
        return SceneRun(
            self._runtime,
            scene_request,
            verbose=verbose,
            streaming=streaming,
            run_id=run_id,
            journal=journal,
        )

    async def stream(
        self,
        request: SceneRequest | Messages | None = None,
        *,
        verbose: bool | None = None,
        streaming: bool | None = None,
        **more: Unpack[RequestOptions],
    ) -> AsyncGenerator[SceneStep, None]:
        """Runs, and tells of each step as it happens.

        Leaving the iteration early, or cancelling it, stops the model and the tools.

        Args:
            request: What the user says; see `open`.
            verbose: Whether steps of the lifecycle are told; as the manager says if not given.
            streaming: Whether text is told piece by piece; as above.
            **more: As for `SceneRequest`, where there is none.

        Yields:
            The steps. The last is `Completed`, with the final text, the stop reason and the totals,
            and no other is; what goes wrong comes before it as an `Error` that is `fatal`.

        Raises:
            TypeError: There is no such option.
            ValueError: There are no scenes, or an option has a value that it cannot have.
        """
        async with self.open(request, verbose=verbose, streaming=streaming, **more) as run:
            async for step in run:
                yield step

    async def run(
        self, request: SceneRequest | Messages | None = None, **more: Unpack[RequestOptions]
    ) -> SceneResult:
        """Runs, and waits for the end. Cancelled, it stops the model and the tools.

        Args:
            request: What the user says; see `open`.
            **more: As for `SceneRequest`, where there is none.

        Returns:
            What came of it. What goes wrong is in there and is not raised.

        Raises:
            TypeError: There is no such option.
            ValueError: There are no scenes, or an option has a value that it cannot have.
        """
        return await self.open(request, **more).wait()

    def run_sync(
        self, request: SceneRequest | Messages | None = None, **more: Unpack[RequestOptions]
    ) -> SceneResult:
        """Runs on an event loop of its own, for programs that have none.

        Args:
            request: What the user says; see `open`.
            **more: As for `SceneRequest`, where there is none.

        Raises:
            RuntimeError: An event loop is running in this thread.
            Exception: As `run` does.
        """
        check_no_loop("manager")
        return asyncio.run(self.run(request, **more))

    def resolve(self, key: str, result: object, *, is_error: bool = False) -> Outcome:
        """Answers what a running tool has asked the user, see `ToolContext.ask`.

        Such a question is an `AwaitingClient` step within the run, which goes on when it is
        answered. Any thread may do so.

        Args:
            key: The `interaction_id` of the step.
            result: The answer: JSON values.
            is_error: Whether there will be none.

        Raises:
            ValidationError: The answer does not fit the schema of the question.
            ResultError: It cannot be written as JSON.
        """
        return self._runtime.scenes.resolve(key, result, is_error=is_error)

    async def forget(self, conversation: str) -> bool:
        """Forgets a conversation, with all that was said in it.

        Args:
            conversation: Its key.

        Returns:
            Whether there was one.
        """
        store = self._runtime.store
        async with store.lock(conversation):
            return await store.delete(conversation)

    def __repr__(self) -> str:
        return f"SceneManager({list(self.scenes)})"
