"""The documented sequence of steps, and the declaration and choice of scenes."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

import toolweave as tw
from calculator_scenes import (
    ADD,
    CALCULATOR,
    DOCUMENTED_STEPS,
    ENTER,
    NAMES,
    Calculator,
    WholeNumbers,
    call,
    manager_of,
    model_of,
    native,
    result_of,
    statuses_of,
    steps_of,
)
from coroutine_tests import on_a_loop
from toolweave import Scene, SceneManager, SceneStatus, SceneStopReason, Toolset
from toolweave.kinds import Role
from toolweave.scenes import SceneContext, current_context
from toolweave.testing import ScriptedModel


@pytest.mark.parametrize("is_native", [False, True], ids=["natural", "native"])
@on_a_loop
async def test_the_documented_stream_has_five_events(is_native: bool) -> None:
    replies: list[Any] = (
        [[native("Calculator")], [native("Add", a=15, b=27)]]
        if is_native
        else ["<Calculator/>", '<Add>{"a": 15, "b": 27}</Add>']
    )
    model = ScriptedModel(*replies, "The sum of 15 and 27 is 42.", native_tools=is_native)
    manager = SceneManager(model)
    manager.scene("Calculator", CALCULATOR).service(WholeNumbers())
    steps = await steps_of(manager, "What is 15 + 27?")
    assert statuses_of(steps) == DOCUMENTED_STEPS
    assert [step.status for step in steps] == [
        SceneStatus.EXECUTING_SCENE,
        SceneStatus.FUNCTION_REQUEST,
        SceneStatus.FUNCTION_COMPLETED,
        SceneStatus.RUNNING,
        SceneStatus.COMPLETED,
    ]
    entered, requested, completed, answer, last = steps
    assert {step.scene for step in steps[:4]} == {"Calculator"}
    assert entered.function is None
    assert requested.function == completed.function == "Add"
    assert requested.call_id == completed.call_id is not None
    assert requested.arguments == completed.arguments == {"a": 15, "b": 27}
    assert completed.result == "42"
    assert completed.duration is not None
    assert answer.stop_reason is None
    assert last.stop_reason is SceneStopReason.COMPLETED
    assert not any(step.fatal for step in steps)
    assert last.is_last
    assert not answer.is_last


@on_a_loop
async def test_two_operations_run_in_order() -> None:
    manager = manager_of(
        ENTER,
        call("Add", '{"a": 10, "b": 5}'),
        call("Multiply", '{"a": 15, "b": 3}'),
        "(10 + 5) * 3 is 45.",
    )
    steps = await steps_of(manager, "Calculate (10 + 5) * 3")
    assert [step.message for step in steps] == [
        "Entering scene: Calculator",
        "Executing tool: Add",
        "Tool Add executed: 15.0",
        "Executing tool: Multiply",
        "Tool Multiply executed: 45.0",
        "(10 + 5) * 3 is 45.",
        "(10 + 5) * 3 is 45.",
    ]
    choosing, *playing = model_of(manager).requests
    assert "Multiply" not in choosing.messages[0].text
    assert all("Weather_Report" not in request.messages[0].text for request in playing)


@on_a_loop
async def test_a_result_describes_the_whole_run() -> None:
    manager = manager_of(ENTER, [ADD, tw.UsageUpdate(10, 5)], "42.")
    result = await result_of(manager, "15 + 27?", conversation="c1")
    assert result.text == "42."
    assert result.stop_reason is SceneStopReason.COMPLETED
    assert result.conversation == "c1"
    assert result.scenes == ("Calculator",)
    (executed,) = result.executed
    assert (executed.scene, executed.function, executed.result) == ("Calculator", "Add", "42.0")
    assert executed.arguments == {"a": 15, "b": 27}
    assert not executed.is_error
    assert result.iterations == 3
    assert result.total_cost == Decimal(0)
    assert result.unpriced == ("m1",)
    assert result.error is None
    assert result.exception is None
    kinds = [message.kind.value for message in result.messages if message.kind != "usage"]
    assert kinds == ["text", "tools_aggregate", "tools_aggregate", "text"]
    assert result.messages == result.new_messages


def test_the_repr_of_a_result_is_one_line() -> None:
    manager = SceneManager(ScriptedModel("x" * 100, "[1]"))
    manager.scene("Maps").actor("Be brief.")
    text = repr(manager.run_sync("Hi!", scene="Maps"))
    assert text.startswith(
        f"SceneResult(text='{'x' * 59}…', stop_reason='completed', scenes=('Maps',)"
    )
    assert "\n" not in text
    assert len(text) < 160
    typed = manager.run_sync("Hi!", scene="Maps", output_type=list[int])
    assert repr(typed).startswith("SceneResult(output=[1], stop_reason='completed', ")


@on_a_loop
async def test_an_answer_without_a_scene_is_the_answer() -> None:
    steps = await steps_of(manager_of("Hello!"), "Hi!")
    assert statuses_of(steps) == [("Running", "Hello!"), ("Completed", "Hello!")]


@on_a_loop
async def test_the_fluent_form_supports_everything_in_a_scene() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    manager = (
        SceneManager(ScriptedModel())
        .scene("Calculator", CALCULATOR)
        .tool(add, timeout=5)
        .service(Calculator(), methods=["multiply"])
        .actor("Be brief.")
        .scene("Other")
        .tools([add, "ping"], handlers={"ping": lambda: "pong"})
        .client_tool("Get Location", {"type": "object"}, description="Where the user is.")
        .manager
    )
    assert list(manager.scenes) == ["Calculator", "Other"]
    one, other = manager.scenes.values()
    assert [each.name for each in one.toolset] == ["add", "multiply"]
    assert one.toolset.get("add").timeout == 5
    assert [each.name for each in other.toolset] == ["add", "ping", "Get_Location"]
    assert repr(manager) == "SceneManager(['Calculator', 'Other'])"


def test_the_decorator_form_accepts_classes_functions_and_tools() -> None:
    manager = SceneManager(ScriptedModel())

    @manager.scene("Maths")
    class Maths:
        """Calculations with numbers."""

        def add(self, a: int, b: int) -> int:
            return a + b

        def _hidden(self) -> None: ...

        @staticmethod
        def half(a: float) -> float:
            return a / 2

    weather = manager.scene("Weather")

    @weather
    def polite(context: SceneContext) -> str:
        return f"Be polite to {context.request.user}."

    @weather.tool(timeout=3)
    def look_up(city: str) -> str:
        return city

    assert Maths().add(1, 2) == 3
    assert look_up("Oslo") == "Oslo"
    assert polite.__name__ == "polite"
    assert manager.scenes["Maths"].description == "Calculations with numbers."
    assert [each.name for each in manager.scenes["Maths"].toolset] == ["add", "half"]
    assert [each.name for each in weather.toolset] == ["look_up"]
    assert len(weather.actors) == 1


@on_a_loop
async def test_arguments_of_a_service_are_validated_by_type() -> None:
    manager = manager_of(ENTER, call("Add", '{"a": 15}'), "Sorry.")
    steps = await steps_of(manager, "Hi!")
    (error,) = [step for step in steps if step.status is SceneStatus.ERROR]
    assert error.message is not None
    assert error.message.startswith("Error executing tool: Invalid arguments for tool 'Add'")
    assert not error.fatal


def test_a_service_is_an_object_with_methods() -> None:
    scene = Scene("S")
    with pytest.raises(TypeError, match="got the class Calculator: pass an instance"):
        scene.service(Calculator)
    with pytest.raises(AttributeError, match="nothing"):
        scene.service(Calculator(), methods=["nothing"])
    with pytest.raises(TypeError, match=r"methods must be a list or a mapping, got 'add'"):
        scene.service(Calculator(), methods="add")
    with pytest.raises(tw.ToolDefinitionError, match="has no public methods"):
        scene.service(object())
    with pytest.raises(tw.ToolDefinitionError, match=r"int\.real is not a method"):
        scene.service(5, methods=["real"])
    with pytest.raises(tw.ContractError, match="more than once"):
        scene.service(Calculator(), methods=["add"]).service(Calculator(), methods=["add"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: m.scene(" "), "name must not be empty"),
        (lambda m: m.scene("A").scene("A"), "exists already"),
        (lambda _: Scene("A").manager, "has no manager yet"),
        (lambda m: m.open("Hi!"), "a manager must have a scene, got none"),
        (lambda _: manager_of().open("Hi!", mode="all"), "mode must be 'direct'"),
        (
            lambda _: manager_of().open(tw.SceneRequest("Hi!"), user="ann"),
            "set on the SceneRequest, got user",
        ),
        (lambda _: manager_of(mode="no"), "mode must be"),
        (lambda _: manager_of(max_iterations=0), "max_iterations must be an integer of at least 1"),
        (lambda _: manager_of(max_scenes=True), "max_scenes must be an integer of at least 1"),
        (lambda _: manager_of(max_repeats=1), "max_repeats must be an integer of at least 2"),
        (lambda _: manager_of(run_timeout=0), "run_timeout must be a number above 0"),
        (lambda _: manager_of().open("Hi!", budget=-1), "from 0"),
    ],
)
def test_invalid_values_are_refused_at_once(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make(SceneManager(ScriptedModel()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: m.scene(5), "name must be a string, got 5"),
        (lambda m: m.authorize("ann"), "a hook must be a function, got str"),
        (lambda m: m.on_terminal(None), "a hook must be a function, got NoneType"),
        (lambda _: manager_of(conversations={}), "conversations must have the methods load,"),
        (
            lambda _: manager_of(rate_limiter=5),
            "rate_limiter must be a RateLimiter, a RateLimit or None",
        ),
        (
            lambda _: manager_of(summarizer=ScriptedModel()),
            "summarizer must be a Summarizer, which takes",
        ),
    ],
)
def test_wrong_types_are_refused_at_once(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make(SceneManager(ScriptedModel()))


@pytest.mark.parametrize("actor", [5, Calculator, Calculator()])
def test_an_actor_is_text_a_function_or_an_object_with_act(actor: Any) -> None:
    with pytest.raises(
        TypeError, match="an actor must be a string, a function of the context, or an"
    ):
        Scene("S").actor(actor)


class GreetingActor:
    async def act(self, context: SceneContext) -> str | None:
        return None if context.scene is None else f"Scene {context.scene}."


@on_a_loop
async def test_actors_are_called_on_every_turn_and_once_per_request() -> None:
    manager = manager_of(ENTER, ADD, "42.", ENTER, "Still 42.", guardrails=True)
    manager.actor("Be brief.").actor(GreetingActor())

    async def remember(context: SceneContext) -> str:
        assert context.scene == "Calculator"
        return f"{len(context.messages)} messages, {len(context.executed)} calls."

    manager.scenes["Calculator"].actor(remember).actor(lambda _: None).actor(GreetingActor())
    for text in ("15 + 27?", "And now?"):
        await result_of(manager, text, conversation="c")
    choosing, first, second, again, last = [
        [m.text for m in request.messages if m.role is Role.SYSTEM]
        for request in model_of(manager).requests
    ]
    for system in (choosing, first, second, again, last):
        (text,) = system
        assert text.count("Be brief.") == 1
        assert text.count(tw.scenes.GUARDRAILS) == 1
    for system in (first, second, last):
        assert system[0].count("Scene Calculator.") == 1
    assert "2 messages, 0 calls." in first[0]
    assert "Scene Calculator." not in choosing[0]
    assert all(m.role is not Role.SYSTEM for m in (await result_of(manager, "?")).messages)


@on_a_loop
async def test_a_tool_knows_its_scene() -> None:
    seen: list[str | None] = []

    async def who() -> str:
        context = current_context()
        assert context is not None
        seen.append(context.scene)
        return str(context.request.user)

    manager = SceneManager(ScriptedModel("<S/>", "<who/>", "Ann."))
    manager.scene("S").tool(who)
    result = await result_of(manager, "Who am I?", user="ann")
    assert seen == ["S"]
    assert result.executed[0].result == "ann"
    assert current_context() is None


@on_a_loop
async def test_a_toolset_is_followed() -> None:
    def ping() -> str:
        return "pong"

    def add(a: int, b: int) -> int:
        return a + b

    live = Toolset([ping])

    def more() -> str:
        live.remove("ping")
        live.add(add)
        return "done"

    model = ScriptedModel(
        "<S/>", "<more/>", '<add>{"a": 1, "b": 2}</add><tool_call name="ping">{}</tool_call>', "3."
    )
    manager = SceneManager(model)
    manager.scene("S").tool(more).tools(live)
    result = await result_of(manager, "Go.")
    assert [each.result[:20] for each in result.executed] == ["done", "3", "Tool 'ping' not foun"]
    assert [each.name for each in manager.scenes["S"].toolset] == ["more", "add"]


@on_a_loop
async def test_runs_of_many_conversations_share_a_manager() -> None:
    async def echo(messages: Any) -> str:
        return f"I heard {messages[-1].text}"

    manager = SceneManager(echo)
    manager.scene("S")
    results = await asyncio.gather(*(result_of(manager, f"{number}") for number in range(20)))
    assert [result.text for result in results] == [f"I heard {number}" for number in range(20)]
    assert len({result.conversation for result in results}) == 20


def test_the_names_of_the_documented_tools_are_as_documented() -> None:
    assert [each.name for each in manager_of().scenes["Calculator"].toolset] == list(NAMES.values())


def test_run_sync_needs_no_event_loop() -> None:
    assert manager_of("Hello!").run_sync("Hi!").text == "Hello!"


@on_a_loop
async def test_run_sync_refuses_to_block_a_loop() -> None:
    with pytest.raises(RuntimeError, match=r"use `await manager\.run"):
        manager_of().run_sync("Hi!")
