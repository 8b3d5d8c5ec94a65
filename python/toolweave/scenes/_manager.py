"""The manager: scenes, the model that chooses among them, and the settings of its runs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from .._checks import check_methods
from ..conversations._store import store_of
from ..costs._spending import budget_of, prices_of
from ..executor._defaults import RUN_TIMEOUT
from ..limits import RateLimiter
from ..natural import NaturalToolUse
from ..natural._options import resolve_profile, split_options
from ..natural._output import OutputSettings, output_schema
from ..output._functions import CheckedValidator
from ..output._schema import Output
from ..tools import RateLimit, Toolset
from ..tools._deps_type import check_deps_type
from ..tools._run_context import SceneDeps
from ._actors import checked_actor
from ._hooks import checked_hook
from ._scene import BaseScene
from ._scene_set import SceneSet
from ._settings import ManagerSettings, guardrails_of, user_of
from ._starting import SceneRuns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self, Unpack

    from ..conversations import ConversationStore
    from ..costs import Budget, Price, PriceTable
    from ..costs._amounts import Number
    from ..kinds import Outcome
    from ..natural import ToolMode, ToolUseOptions
    from ..natural._dialects import DialectOption
    from ..natural._options import ProfileOption
    from ..natural._output import OutputMode
    from ..output import OutputType
    from ..output._functions import (
        AsyncContextValidator,
        AsyncValidator,
        ContextValidator,
        Validator,
    )
    from ..protocols import ChatModel, Model, ModelOptions
    from ..summary import Summarizer
    from ._actors import Actor
    from ._hooks import AfterScene, Authorize, Before, OnTerminal
    from ._request import SceneMode, SceneRequest


class Scene(BaseScene, Generic[SceneDeps]):
    """A group of tools with the instructions for them, created by `SceneManager.scene`.

    The methods that add tools and actors return the scene, so that calls can be chained. As a
    decorator a scene takes a class, whose methods become its tools, or a function, which becomes
    an actor.

    Args:
        name: The name, in any script and form. Models see it as a name that providers accept.
        description: The purpose of the scene, by which the model chooses.
        manager: The manager of the scene.

    Raises:
        TypeError: The name is not a string.
        ValueError: The name is empty.

    Example:
        >>> class Calculator:
        ...     def add(self, a: float, b: float) -> float:
        ...         "Adds two numbers."
        ...         return a + b
        >>> scene = Scene("Maths", "Works with numbers")
        >>> scene = scene.service(Calculator(), methods={"add": "Add"})
        >>> scene = scene.actor("Round to two places.").client_tool("Get Location")
        >>> [tool.name for tool in scene.toolset]
        ['Add', 'Get_Location']
    """

    def __init__(
        self,
        name: str,
        description: str | None = None,
        *,
        manager: SceneManager[SceneDeps, Any] | None = None,
    ) -> None:
        check_methods("manager", manager, "a SceneManager", "scene", "stream", none=True)
        super().__init__(name, description)
        self._manager = manager

    @property
    def manager(self) -> SceneManager[SceneDeps, Any]:
        """The manager of the scene.

        Raises:
            ValueError: The scene has no manager yet.
        """
        if self._manager is None:
            raise ValueError(
                f"the scene {self.name!r} has no manager yet: pass it to SceneManager.add"
            )
        return self._manager

    def attach(self, manager: SceneManager[SceneDeps, Any]) -> None:
        """Set the manager."""
        self._manager = manager

    def actor(self, actor: Actor[SceneDeps]) -> Self:
        """Add an actor to the system message of every request in this scene.

        Args:
            actor: Static text, a sync or async function of the `SceneContext`, or an object with
                such a function as its method `act`.

        Raises:
            TypeError: The actor is none of these.
        """
        return super().actor(actor)

    def scene(self, name: str, description: str | None = None) -> Scene[SceneDeps]:
        """Add another scene to the manager, and return it."""
        return self.manager.scene(name, description)


class SceneManager(SceneRuns[SceneDeps, Output]):
    """Scenes, and a model that chooses among them and runs their tools.

    One manager serves any number of conversations concurrently. The runs of one conversation are
    serialized.

    Args:
        model: A model in any form; a `FallbackModel` for more than one.
        deps_type: The type of the dependencies that each run needs, for type checkers. If it is a
            class, the dependencies of a run must be an instance of it.
        name: The name of the workflow in traces.
        mode: The default mode of choosing scenes: ``direct``, ``planning``, ``chaining`` or
            ``scene``.
        output_type: The type of the output of a run, as of an `Agent`; text if not given. The last
            scene is asked for it, or a final request where the last scene is not known before.
        output_mode: The way in which the model is asked for it; see `Agent`.
        output_retries: Number of times that a run asks again after an invalid output.
        max_iterations: Maximum number of requests to the model per scene.
        max_repeats: Number of replies in which the same calls give the same results after which a
            scene ends as if at that limit; None for no check.
        answer_at_limit: True to request an answer without tools when that limit is reached.
        max_scenes: Maximum number of scenes per run.
        guardrails: Text for the system message of every request; True for `GUARDRAILS`.
        options: The options of each request to the model.
        dialect: The dialect in which tools are described and histories are written; by default,
            that of the model. See `NaturalToolUseParser`.
        template: The text of the model's chat template.
        profile: The profile of the model, with defaults of other options; by default, the one that
            ships for the model, if any. None for no profile.
        tool_mode: ``natural``, ``native`` or ``auto``; see `NaturalToolUseParser`. By default, that
            of the profile, or ``auto``.
        prices: The prices of tokens by model; see `published_prices`.
        budget: The maximum cost; a number applies to each request. Every model that can spend from
            it needs a price, except with ``Budget(..., unpriced="allow")``.
        rate_limiter: The limit of requests per key.
        rate_key: Function that returns the key of a request. The default is its user; requests
            without a user share a key.
        conversations: The store of conversations; in memory for an hour if not given.
        summarizer: Summarizer of long conversations; None for no summaries.
        run_timeout: Maximum duration of a run in seconds; None for no limit.
        verbose: True to emit steps of the lifecycle.
        streaming: True to emit text in pieces, as `Streaming` steps.
        fallback: A model that is asked once to correct each invalid call.
        **more: Options of `Parser` and `ToolExecutor`; ``timeout`` applies to each tool, ``cache``
            stores their results.

    Raises:
        OutputTypeError: JSON Schema cannot express the output type, or two members of a union
            cannot be distinguished.
        TypeError: The model is not a model, or an option is unknown.
        ValueError: An option is out of range.
        UnpricedModelError: There is a budget, and a model that can spend from it has no price.

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
        deps_type: type[SceneDeps] | None = None,
        name: str = "scenes",
        mode: SceneMode = "direct",
        output_type: OutputType[Output] | None = None,
        output_mode: OutputMode = "auto",
        output_retries: int = 1,
        max_iterations: int = 10,
        max_repeats: int | None = 3,
        answer_at_limit: bool = False,
        max_scenes: int = 10,
        guardrails: str | bool = False,
        options: ModelOptions | None = None,
        dialect: DialectOption = "auto",
        template: str | None = None,
        profile: ProfileOption = "auto",
        tool_mode: ToolMode | None = None,
        prices: PriceTable | Mapping[str, Price] | None = None,
        budget: Budget | Number | None = None,
        rate_limiter: RateLimiter | RateLimit | None = None,
        rate_key: Callable[[SceneRequest[SceneDeps]], str] | None = None,
        conversations: ConversationStore | None = None,
        summarizer: Summarizer | None = None,
        run_timeout: float | None = RUN_TIMEOUT,
        verbose: bool = False,
        streaming: bool = False,
        fallback: Model | None = None,
        **more: Unpack[ToolUseOptions],
    ) -> None:
        check_deps_type(deps_type)
        self._deps_type = deps_type
        parser_options, _ = split_options(more, SceneManager)

        profile, tool_mode = resolve_profile(
            profile, tool_mode, model, dialect=dialect, template=template, default="auto"
        )
        make_use = functools.partial(
            NaturalToolUse,
            model,
            dialect=dialect,
            template=template,
            profile=profile,
            tool_mode=tool_mode,
        )
        make_tool_use = functools.partial(make_use, fallback=fallback, **more)
        make_plain_use = functools.partial(make_use, **parser_options)
        # The options of tools are otherwise used when a scene runs, which is late to report errors.
        make_tool_use(Toolset())
        self._settings = ManagerSettings(
            SceneSet(make_tool_use, make_plain_use),
            name=name,
            mode=mode,
            max_iterations=max_iterations,
            max_repeats=max_repeats,
            max_scenes=max_scenes,
            answer_at_limit=answer_at_limit,
            guardrails=guardrails_of(guardrails),
            options=options,
            prices=prices_of(prices),
            budget=budget_of(budget),
            rate_limiter=(
                RateLimiter(rate_limiter) if isinstance(rate_limiter, RateLimit) else rate_limiter
            ),
            rate_key=user_of if rate_key is None else rate_key,
            store=store_of(conversations),
            summarizer=summarizer,
            run_timeout=run_timeout,
            verbose=verbose,
            streaming=streaming,
            output=OutputSettings(output_schema(output_type), output_mode, output_retries),
        )

    # Scenes.

    def scene(self, name: str, description: str | None = None) -> Scene[SceneDeps]:
        """Add a scene and return it, so that its methods can add tools and actors; see `Scene`.

        As a decorator it takes a class, whose methods become tools, or a function, which becomes an
        actor:

            @manager.scene("Calculator", "Performs mathematical calculations")
            class Calculator:
                def add(self, a: float, b: float) -> float: ...

        Args:
            name: The name of the scene.
            description: The purpose of the scene, by which the model chooses.

        Raises:
            ValueError: The name is empty, or a scene with this name exists.
        """
        scene: Scene[SceneDeps] = Scene(name, description)
        self.add(scene)
        return scene

    def add(self, scene: Scene[SceneDeps]) -> Self:
        """Add an existing scene.

        Raises:
            ValueError: A scene with this name exists.
        """
        self._settings.scenes.add(scene)
        scene.attach(self)
        return self

    def remove(self, name: str) -> Scene[SceneDeps]:
        """Remove a scene and return it. Runs that are in the scene continue.

        Args:
            name: The name of the scene, as given.

        Raises:
            LookupError: No scene has this name.
        """
        return cast("Scene[SceneDeps]", self._settings.scenes.remove(name))

    @property
    def model(self) -> ChatModel:
        """The model that chooses scenes and calls tools."""
        return self._settings.scenes.model

    @property
    def scenes(self) -> Mapping[str, Scene[SceneDeps]]:
        """The scenes by name, in order of addition."""
        return {scene.name: cast("Scene[SceneDeps]", scene) for scene in self._settings.scenes}

    def actor(self, actor: Actor[SceneDeps]) -> Self:
        """Add an actor to the system message of every request, in and outside of scenes.

        Args:
            actor: Static text, a sync or async function of the `SceneContext`, or an object with
                such a function as its method `act`.

        Raises:
            TypeError: The actor is none of these.
        """
        self._settings.actors.append(checked_actor(actor))
        return self

    # Hooks. Each of these methods can be used as a decorator.

    def authorize(self, hook: Authorize[SceneDeps]) -> Authorize[SceneDeps]:
        """Add a hook that allows a request by returning True; any other value denies it."""
        self._settings.hooks.authorize.append(checked_hook(hook))
        return hook

    def before(self, hook: Before[SceneDeps]) -> Before[SceneDeps]:
        """Add a hook that can deny a request, or answer it instead of the model."""
        self._settings.hooks.before.append(checked_hook(hook))
        return hook

    def after_scene(self, hook: AfterScene[SceneDeps]) -> AfterScene[SceneDeps]:
        """Add a hook that receives each scene's answer, and can append to it or end the run."""
        self._settings.hooks.after_scene.append(checked_hook(hook))
        return hook

    def on_terminal(self, hook: OnTerminal[SceneDeps]) -> OnTerminal[SceneDeps]:
        """Add a hook that receives the result of each run, and can append to its answer."""
        self._settings.hooks.on_terminal.append(checked_hook(hook))
        return hook

    @overload
    def output_validator(self, validator: Validator[Output]) -> Validator[Output]: ...
    @overload
    def output_validator(
        self, validator: ContextValidator[SceneDeps, Output]
    ) -> ContextValidator[SceneDeps, Output]: ...
    @overload
    def output_validator(self, validator: AsyncValidator[Output]) -> AsyncValidator[Output]: ...
    @overload
    def output_validator(
        self, validator: AsyncContextValidator[SceneDeps, Output]
    ) -> AsyncContextValidator[SceneDeps, Output]: ...
    def output_validator(self, validator: Callable[..., Any]) -> Callable[..., Any]:
        """Add a function that checks each output, as that of `Agent.output_validator` does."""
        self._settings.output.validators.append(CheckedValidator(validator))
        return validator

    # Runs. The methods that start one are those of `SceneRuns`.

    def resolve(self, key: str, result: object, *, is_error: bool = False) -> Outcome:
        """Answer a question that a running tool has asked the user; see `ToolContext.ask`.

        Such a question is an `AwaitingClient` step within the run, which continues when it is
        answered. This method is thread-safe.

        Args:
            key: The `interaction_id` of the step.
            result: The answer as JSON values.
            is_error: True if there will be no answer.

        Raises:
            ValidationError: The answer violates the schema of the question.
            ResultError: The answer cannot be written as JSON.
        """
        return self._settings.scenes.resolve(key, result, is_error=is_error)

    async def forget(self, conversation: str) -> bool:
        """Delete a conversation with all of its messages.

        Args:
            conversation: The key of the conversation.

        Returns:
            True if the conversation existed.
        """
        store = self._settings.store
        async with store.lock(conversation):
            return await store.delete(conversation)

    def __repr__(self) -> str:
        return f"SceneManager({list(self.scenes)})"
