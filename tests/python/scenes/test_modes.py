"""Modes of choosing scenes: direct, queued, planned, chained and named; and misspelled names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import (
    ADD,
    ENTER,
    WEATHER,
    call,
    manager_of,
    model_of,
    native,
    result_of,
    statuses_of,
    steps_of,
)
from coroutine_tests import on_a_loop
from toolweave import SceneManager, SceneStopReason
from toolweave.scenes._names import match
from toolweave.testing import ScriptedModel
from toolweave.tools._names import provider_name

BOTH = call("Calculator") + call("Weather_Report")


def plan(*steps: dict[str, Any], answer: str | None = None) -> str:
    return json.dumps({"answer": answer, "steps": steps})


def step(number: int, scene: str, purpose: str, *needs: int) -> dict[str, Any]:
    return {"id": number, "scene": scene, "purpose": purpose, "depends_on": list(needs)}


def more(wanted: bool) -> str:
    return json.dumps({"continue": wanted, "reason": "so"})


# Names.


@given(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), unique=True, max_size=12))
@example(["TOOL:RESPONSE", "tool_call", "Tool Call"])
def test_every_name_has_a_unique_key_that_providers_accept(names: list[str]) -> None:
    manager = SceneManager(ScriptedModel())
    for name in names:
        manager.scene(name)
    keys = [scene.key for scene in manager.scenes.values()]
    assert len(set(keys)) == len(names)
    for key in keys:
        assert 1 <= len(key) <= 64
        assert key.isascii()
        assert all(char.isalnum() or char in "_-" for char in key)
        assert not key[0].isdigit()
        tw.FunctionContract(key)


@pytest.mark.parametrize(
    ("name", "key"),
    [("General Requests", "General_Requests"), ("2nd try", "scene_2nd_try"), ("---", "scene_---")],
)
def test_names_are_converted_to_keys_that_providers_accept(name: str, key: str) -> None:
    assert provider_name(name) == key


def test_an_ambiguous_name_matches_nothing() -> None:
    assert match("a-b", ["a_b", "A B"]) is None
    assert match("a_b", ["A B", "a_b"]) == 1
    assert match("!", ["?"]) is None


@pytest.mark.parametrize(
    "written",
    ["<Weather_Report/>", "<weather-report>{}</weather-report>", "Weather Report", "weatherreport"],
)
@on_a_loop
async def test_a_differently_written_name_enters_the_scene(written: str) -> None:
    manager = manager_of(written, "8 degrees.")
    steps = await steps_of(manager, "And the weather?")
    assert statuses_of(steps)[0] == ("ExecutingScene", "Entering scene: Weather Report")
    assert steps[0].scene == "Weather Report"


@pytest.mark.parametrize("name", ["weather-report", "WEATHER REPORT", "weatherreport"])
@on_a_loop
async def test_a_native_call_with_a_differently_written_name_enters_the_scene(name: str) -> None:
    manager = manager_of([native(name)], "8 degrees.", tool_mode="native")
    result = await result_of(manager, "And the weather?")
    assert result.scenes == ("Weather Report",)
    (aggregate,) = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
    assert aggregate.tool_calls[0].name == "Weather_Report"
    assert aggregate.tool_results[0].result == (
        "Scene 'Weather Report' entered. Serve the request now with the tools of this scene."
    )
    assert not aggregate.tool_results[0].is_error


@on_a_loop
async def test_an_unknown_scene_is_an_error_that_the_model_can_correct() -> None:
    manager = manager_of(call("Calculater"), ENTER, "42.")
    result = await result_of(manager, "15 + 27?")
    assert result.stop_reason is SceneStopReason.COMPLETED
    assert result.scenes == ("Calculator",)
    read = model_of(manager).requests[1].messages[-1].text
    assert "Scene 'Calculater' not found. Did you mean 'Calculator'?" in read
    assert "The scenes are: Calculator, Weather_Report." in read


@on_a_loop
async def test_scenes_are_listed_once_for_many_unknown_scenes() -> None:
    manager = manager_of("".join(call(f"Chess {number}") for number in range(300)), ENTER, "42.")
    assert (await result_of(manager, "15 + 27?")).text == "42."
    read = model_of(manager).requests[1].messages[-1].text
    assert "Scene 'Chess 299' not found" in read
    assert read.count("The scenes are: Calculator, Weather_Report.") == 1


@pytest.mark.parametrize("written", ["<Calculater/>", '<calculator_s>{"input": "15 + 27"}'])
@on_a_loop
async def test_a_tag_similar_to_a_scene_is_an_error_too(written: str) -> None:
    manager = manager_of(written, ENTER, "42.")
    result = await result_of(manager, "15 + 27?")
    assert (result.scenes, result.text) == (("Calculator",), "42.")
    read = model_of(manager).requests[1].messages[-1].text
    assert "Did you mean 'Calculator'?" in read
    steps = await steps_of(manager_of(written, written), "15 + 27?")
    assert [step.status.value for step in steps] == ["Error", "Completed"]


@on_a_loop
async def test_a_tag_unlike_any_scene_is_an_answer() -> None:
    result = await result_of(manager_of("<b>No</b>, sorry."), "Play!")
    assert (result.text, result.stop_reason.value) == ("<b>No</b>, sorry.", "completed")


@on_a_loop
async def test_a_second_unknown_scene_ends_the_run() -> None:
    steps = await steps_of(manager_of(call("Chess"), call("Chess")), "Play!")
    assert statuses_of(steps) == [("Error", "Scene 'Chess' not found"), ("Completed", "")]
    assert steps[0].fatal
    assert steps[1].stop_reason is SceneStopReason.ERROR


# Direct.


@on_a_loop
async def test_scenes_chosen_in_one_reply_are_entered_in_order() -> None:
    manager = manager_of(BOTH + call("Calculator"), ADD, "42.", WEATHER, "8 degrees.")
    steps = await steps_of(manager, "15 + 27, and the weather?")
    assert [step.message for step in steps] == [
        "Entering scene: Calculator",
        "Executing tool: Add",
        "Tool Add executed: 42.0",
        "42.",
        "Entering scene: Weather Report",
        "Executing tool: get_weather",
        "Tool get_weather executed: 8 degrees in Oslo",
        "8 degrees.",
        "8 degrees.",
    ]
    entering = model_of(manager).requests[3]
    assert entering.messages[-1].text == "Go on in the scene 'Weather Report'."
    assert entering.messages[-1].role is tw.Role.USER


# Given.


@on_a_loop
async def test_a_named_scene_is_entered_at_once() -> None:
    manager = manager_of(WEATHER, "8 degrees.")
    result = await result_of(manager, "How is it?", scene="weather report")
    assert result.scenes == ("Weather Report",)
    assert result.iterations == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scene": "Chess"}, "Scene 'Chess' not found"),
        ({"mode": "scene"}, "Scene mode is requested, but no scene is named"),
    ],
)
@on_a_loop
async def test_a_named_scene_must_exist(options: Any, message: str) -> None:
    manager = manager_of()
    steps = await steps_of(manager, "Play!", **options)
    assert statuses_of(steps) == [("Error", message), ("Completed", "")]
    assert not model_of(manager).requests


# Planning.


@on_a_loop
async def test_a_plan_runs_in_the_order_of_its_dependencies() -> None:
    manager = manager_of(
        plan(
            step(2, "Weather_Report", "Say how it is in Oslo", 1),
            step(1, "calculator", "Add up the rooms"),
        ),
        ADD,
        "42 rooms.",
        "8 degrees.",
        "42 rooms, 8 degrees.",
        mode="planning",
    )
    steps = await steps_of(manager, "Plan my trip.")
    assert [message for _, message in statuses_of(steps)] == [
        "Entering scene: Calculator",
        "Executing tool: Add",
        "Tool Add executed: 42.0",
        "42 rooms.",
        "Entering scene: Weather Report",
        "8 degrees.",
        "42 rooms, 8 degrees.",
        "42 rooms, 8 degrees.",
    ]
    planning, first, _, second, final = model_of(manager).requests
    assert planning.options is not None
    assert planning.options.response_schema is not None
    assert '"enum": ["Calculator", "Weather_Report"]' in planning.messages[-1].text
    assert "Purpose of this step of the plan: Add up the rooms" in first.messages[0].text
    last_prompt = first.messages[-1].text
    assert last_prompt.endswith("Do this now, in the scene 'Calculator': Add up the rooms")
    system = second.messages[0].text
    assert "Results of earlier steps:\n- Calculator: 42 rooms." in system
    assert "Results of earlier steps" not in first.messages[0].text
    assert final.messages[-1].text.startswith("Based on all the information gathered")
    assert final.options is None or final.options.response_schema is None


@on_a_loop
async def test_a_plan_may_be_an_answer() -> None:
    manager = manager_of(plan(answer="Hello!"), mode="planning")
    result = await result_of(manager, "Hi!")
    assert (result.text, result.scenes, result.iterations) == ("Hello!", (), 1)
    assert [message.text for message in result.messages] == ["Hi!", "Hello!"]


BAD = {
    "It is not JSON": ("no plan at all", "Failed to parse execution plan"),
    "It is not JSON of that": (
        plan(step(1, "Calculator", "Add")).replace("1", "1e999"),
        "Failed to parse execution plan",
    ),
    "It is not JSON of": (
        plan(step(1, "Calculator", "x" * 100_000)),
        "Failed to parse execution plan",
    ),
    "not JSON of that schema": ('{"steps":' * 2_000, "Failed to parse execution plan"),
    "Did you mean 'Calculator'": (
        plan(step(1, "Calculater", "Add")),
        "Scene 'Calculater' not found",
    ),
    "depends on step 7": (
        plan(step(1, "Calculator", "Add", 7)),
        "The execution plan is wrong: Step 1 depends on step 7, which there is not.",
    ),
    "Steps wait for each other: 1, 2": (
        plan(step(1, "Calculator", "Add", 2), step(2, "Calculator", "Add", 1)),
        "The execution plan is wrong: Steps wait for each other: 1, 2.",
    ),
    "Two steps have the id 1": (
        plan(step(1, "Calculator", "Add"), step(1, "Calculator", "Add")),
        "The execution plan is wrong: Two steps have the id 1.",
    ),
    "neither steps nor an answer": (
        plan(),
        "The execution plan is wrong: It has neither steps nor an answer.",
    ),
    "It has more than 10 steps": (
        plan(*(step(number, "Calculator", "Add") for number in range(11))),
        "The execution plan is wrong: It has more than 10 steps.",
    ),
}


@pytest.mark.parametrize("problem", BAD)
@on_a_loop
async def test_an_invalid_plan_is_requested_once_more(problem: str) -> None:
    bad, failure = BAD[problem]
    manager = manager_of(
        bad, plan(step(1, "Calculator", "Add")), "42.", "It is 42.", mode="planning"
    )
    result = await result_of(manager, "15 + 27?")
    assert result.text == "It is 42."
    written, again = [message.text for message in model_of(manager).requests[1].messages[-2:]]
    assert written == bad
    assert "This plan cannot be used." in again
    assert problem in again
    steps = await steps_of(manager_of(bad, bad, mode="planning"), "15 + 27?")
    assert statuses_of(steps) == [("Error", failure), ("Completed", "")]
    assert steps[0].fatal
    assert steps[1].stop_reason is SceneStopReason.ERROR


@on_a_loop
async def test_the_next_request_is_planned_anew() -> None:
    failing = manager_of(
        plan(step(1, "Calculator", "Add")),
        tw.ModelError("down"),
        plan(step(1, "Weather_Report", "Look")),
        "8 degrees.",
        "It is 8 degrees.",
        mode="planning",
    )
    assert (await result_of(failing, "15 + 27?", conversation="c")).text == ""
    result = await result_of(failing, "And the weather?", conversation="c")
    assert (result.text, result.scenes) == ("It is 8 degrees.", ("Weather Report",))


@on_a_loop
async def test_plans_and_decisions_are_not_part_of_the_conversation() -> None:
    manager = manager_of(plan(step(1, "Calculator", "Add")), "42.", "It is 42.", mode="planning")
    result = await result_of(manager, "15 + 27?")
    assert [message.text for message in result.messages] == ["15 + 27?", "42.", "It is 42."]
    chained = manager_of(ENTER, "42.", more(False), mode="chaining")
    texts = [m.text for m in (await result_of(chained, "15 + 27?")).messages if hasattr(m, "text")]
    assert texts == ["15 + 27?", "42."]


# Chaining.


@on_a_loop
async def test_a_chain_continues_until_the_model_ends_it() -> None:
    manager = manager_of(
        ENTER,
        ADD,
        "42.",
        more(True),
        call("Weather_Report"),
        "8 degrees.",
        more(False),
        mode="chaining",
    )
    steps = await steps_of(manager, "15 + 27, and the weather?", verbose=True)
    assert [s.message for s in steps if s.status == "DirectorDecision"] == [
        "Selected scene: Calculator",
        "Another scene follows",
        "Selected scene: Weather Report",
        "Scene chain complete",
    ]
    assert steps[-1].message == "8 degrees."
    deciding, choosing = model_of(manager).requests[3:5]
    assert "- Weather_Report: Tells the weather" in deciding.messages[-1].text
    assert choosing.messages[-1].text.startswith("Which scene is to be entered next")


@on_a_loop
async def test_a_chain_may_end_with_an_answer_instead_of_a_scene() -> None:
    manager = manager_of(ENTER, "42.", more(True), "That was all: 42.", mode="chaining")
    assert (await result_of(manager, "15 + 27?")).text == "That was all: 42."


@on_a_loop
async def test_an_invalid_decision_is_requested_once_more() -> None:
    manager = manager_of(ENTER, "42.", "Hm, perhaps?", more(False), mode="chaining")
    result = await result_of(manager, "15 + 27?")
    assert (result.text, result.stop_reason.value) == ("42.", "completed")
    assert "This decision cannot be used." in model_of(manager).requests[3].messages[-1].text


@on_a_loop
async def test_a_chain_has_a_limit() -> None:
    manager = manager_of(
        ENTER, "1.", more(True), ENTER, "2.", more(True), mode="chaining", max_scenes=2
    )
    steps = await steps_of(manager, "Count!")
    assert statuses_of(steps)[-2:] == [
        ("Error", "Maximum scene limit (2) reached"),
        ("Completed", "2."),
    ]
    assert steps[-1].stop_reason is SceneStopReason.MAX_ITERATIONS


@pytest.mark.parametrize("mode", ["direct", "chaining"])
@on_a_loop
async def test_a_run_enters_at_most_max_scenes(mode: Any) -> None:
    manager = manager_of(ENTER + call("Weather_Report"), "42.", mode=mode, max_scenes=1)
    result = await result_of(manager, "15 + 27, and the weather?")
    assert result.scenes == ("Calculator",)
    assert (result.text, result.error) == ("42.", "Maximum scene limit (1) reached")


# Lifecycle steps and streaming.


@on_a_loop
async def test_verbose_runs_emit_lifecycle_steps() -> None:
    manager = manager_of(ENTER, ADD, "42.", verbose=True)
    assert statuses_of(await steps_of(manager, "15 + 27?")) == [
        ("Initializing", "Initializing context"),
        ("LoadingCache", "Loading from cache"),
        ("ExecutingMainActors", "Executing main actors"),
        ("DirectorDecision", "Selected scene: Calculator"),
        ("ExecutingScene", "Entering scene: Calculator"),
        ("FunctionRequest", "Executing tool: Add"),
        ("FunctionCompleted", "Tool Add executed: 42.0"),
        ("Running", "42."),
        ("SavingCache", "Saving to cache"),
        ("Completed", "42."),
    ]
    planned = manager_of(plan(step(1, "Calculator", "Add")), "42.", "It is 42.", mode="planning")
    statuses = [s.status.value for s in await steps_of(planned, "15 + 27?", verbose=True)]
    assert statuses[3:] == [
        "Planning",
        "ExecutingScene",
        "Running",
        "GeneratingFinalResponse",
        "Running",
        "SavingCache",
        "Completed",
    ]


@on_a_loop
async def test_streaming_runs_emit_pieces_of_text() -> None:
    manager = manager_of(ENTER, ["I add. ", ADD], ["It ", "is ", "42."], streaming=True)
    steps = await steps_of(manager, "15 + 27?")
    assert statuses_of(steps) == [
        ("ExecutingScene", "Entering scene: Calculator"),
        ("Streaming", "I add. "),
        ("Running", "I add."),
        ("FunctionRequest", "Executing tool: Add"),
        ("FunctionCompleted", "Tool Add executed: 42.0"),
        ("Streaming", "It "),
        ("Streaming", "is "),
        ("Streaming", "42."),
        ("Running", "It is 42."),
        ("Completed", "It is 42."),
    ]
    silent = manager_of(ENTER, ["It ", "is ", "42."], streaming=True)
    assert len(await steps_of(silent, "15 + 27?", streaming=False)) == 3
