"""Scenes with an output type: in each mode, asking again, hooks, and the errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculator_scenes import ADD, ENTER, call, manager_of, model_of, result_of, steps_of
from coroutine_tests import on_a_loop
from output_types import City
from toolweave import FinishReason, FinishUpdate, ModelRetry, RunContext, SceneManager, TextDelta
from toolweave.costs import Price
from toolweave.exceptions import OutputError, OutputTypeError
from toolweave.kinds import SceneStopReason
from toolweave.scenes import Answer, Append, Deny
from toolweave.testing import ScriptedModel

OSLO = '{"name": "Oslo", "people": 700000}'
WRONG = '{"name": "Oslo", "people": "many"}'
CITY = City(name="Oslo", people=700000)
STEP = {"id": 1, "scene": "Calculator", "purpose": "Add", "depends_on": []}
PLAN = json.dumps({"answer": None, "steps": [STEP]})
ANSWERED_PLAN = json.dumps({"answer": "It is Oslo.", "steps": []})
DONE = json.dumps({"continue": False, "reason": "so"})
FORM = "Answer with only JSON"

MODES = pytest.mark.parametrize(
    ("mode", "before"),
    [
        ("direct", [ENTER]),
        ("direct", ["It is Oslo."]),
        ("direct", [call("Calculator") + call("Weather_Report"), "It is 42."]),
        ("planning", [PLAN, "It is 42."]),
        ("planning", [ANSWERED_PLAN]),
        ("chaining", [ENTER, "It is 42.", DONE]),
        ("chaining", ["It is Oslo."]),
        ("scene", []),
    ],
    ids=["direct", "no scene", "two scenes", "planning", "no steps", "chaining", "no", "scene"],
)
"""Modes, with the replies before the request for the output."""


def cities(mode: str, *replies: Any, **options: Any) -> tuple[SceneManager[City], dict[str, Any]]:
    """Return a manager whose output is a city, and the options of a run in a mode."""
    manager = manager_of(*replies, mode=mode, output_type=City, **options)
    return manager, {"scene": "Calculator"} if mode == "scene" else {}


def system_of(manager: SceneManager[Any], request: int) -> str:
    """Return the system messages of a request."""
    messages = model_of(manager).requests[request].messages
    return "\n".join(m.text for m in messages if getattr(m, "role", "") == "system")


@MODES
@on_a_loop
async def test_the_output_is_a_value_of_the_type_in_every_mode(
    mode: str, before: list[str]
) -> None:
    manager, options = cities(mode, *before, OSLO)
    result = await result_of(manager, "Where?", **options)
    assert (result.output, result.text) == (CITY, OSLO)
    assert result.stop_reason is SceneStopReason.COMPLETED
    assert len(model_of(manager).requests) == len(before) + 1


@MODES
@on_a_loop
async def test_only_the_request_for_the_output_shows_its_form(mode: str, before: list[str]) -> None:
    manager, options = cities(mode, *before, OSLO)
    await result_of(manager, "Where?", **options)
    shown = ["people" in system_of(manager, each) for each in range(len(before) + 1)]
    assert shown == [False] * len(before) + [True]


@MODES
@on_a_loop
async def test_an_invalid_reply_is_asked_for_once_more_in_every_mode(
    mode: str, before: list[str]
) -> None:
    manager, options = cities(mode, *before, WRONG, OSLO)
    result = await result_of(manager, "Where?", **options)
    assert result.output == CITY
    question = model_of(manager).requests[-1].messages[-1]
    assert '/people: "many" is not an integer' in question.text
    assert [m.metadata for m in result.messages if m.metadata] == [{"output_retry": True}]


@MODES
@on_a_loop
async def test_the_second_invalid_reply_ends_the_run_with_the_error(
    mode: str, before: list[str]
) -> None:
    manager, options = cities(mode, *before, "No.", WRONG)
    result = await result_of(manager, "Where?", **options)
    assert result.stop_reason is SceneStopReason.ERROR
    assert isinstance(result.exception, OutputError)
    with pytest.raises(OutputError) as raised:
        _ = result.output
    assert raised.value is result.exception
    assert (raised.value.text, raised.value.partial) == (WRONG, json.loads(WRONG))
    assert [violation.path for violation in raised.value.violations] == ["/people"]


@given(
    st.lists(st.sampled_from([OSLO, WRONG, "No.", "[]"]), min_size=4, max_size=4),
    st.sampled_from(["direct", "chaining", "scene"]),
    st.integers(0, 2),
)
def test_a_run_makes_as_many_requests_as_it_needs(
    replies: list[str], mode: str, retries: int
) -> None:
    before = {"direct": [ENTER], "chaining": [ENTER, "It is 42.", DONE], "scene": []}[mode]
    manager, options = cities(mode, *before, *replies, output_retries=retries)
    result = asyncio.run(manager.run("Where?", **options))
    needed = replies.index(OSLO) if OSLO in replies else 4
    if needed <= retries:
        assert result.output == CITY
    else:
        with pytest.raises(OutputError):
            _ = result.output
    assert len(model_of(manager).requests) == len(before) + min(needed, retries) + 1


@on_a_loop
async def test_without_an_output_type_the_output_is_the_text() -> None:
    manager = manager_of(ENTER, " It is 42. ")
    result = await result_of(manager, "How many?")
    assert result.output == result.text == "It is 42."


@on_a_loop
async def test_a_run_may_have_an_output_type_of_its_own() -> None:
    manager, _ = cities("direct", ENTER, ADD, "42")
    run = manager.open("How many?", output_type=int)
    assert (await run.wait()).output == 42
    with pytest.raises(OutputTypeError):
        manager.open("How many?", output_type=asyncio.Event)


def test_a_run_without_a_loop_has_an_output() -> None:
    manager, _ = cities("direct", ENTER, "yes", OSLO)
    assert manager.run_sync("Is it?", output_type=Literal["yes", "no"]).output == "yes"
    assert manager.run_sync("Where?", scene="Calculator").output == CITY


@on_a_loop
async def test_the_stream_ends_with_the_text_of_the_output() -> None:
    manager, _ = cities("direct", ENTER, WRONG, OSLO)
    steps = await steps_of(manager, "Where?")
    texts = [step.message for step in steps if step.status == "Running"]
    assert (texts, steps[-1].message) == ([WRONG, OSLO], OSLO)


class TestValidators:
    """Validators and functions as output."""

    @MODES
    @on_a_loop
    async def test_a_validator_may_ask_again(self, mode: str, before: list[str]) -> None:
        manager, options = cities(mode, *before, '{"name": "Rome"}', OSLO)
        seen: list[tuple[RunContext, City]] = []

        @manager.output_validator
        def check(context: RunContext, city: City) -> City:
            seen.append((context, city))
            if city.name == "Rome":
                raise ModelRetry("Not Rome.")
            return city.model_copy(update={"people": 1})

        result = await result_of(manager, "Where?", **options)
        assert result.output == City(name="Oslo", people=1)
        assert model_of(manager).requests[-1].messages[-1].text.startswith("Not Rome.")
        assert [city.name for _, city in seen] == ["Rome", "Oslo"]
        assert seen[0][0].chat_id == result.conversation
        assert seen[0][0].messages == result.messages[: len(seen[0][0].messages)]

    @pytest.mark.parametrize("mode", ["direct", "planning", "chaining"])
    @on_a_loop
    async def test_a_text_without_a_scene_is_validated_once(self, mode: str) -> None:
        first = ANSWERED_PLAN if mode == "planning" else "It is Oslo."
        manager = manager_of(first, "It is Rome.", mode=mode)

        @manager.output_validator
        def check(text: str) -> str:
            if "Rome" not in text:
                raise ModelRetry("Rome, please.")
            return text.upper()

        result = await result_of(manager, "Where?")
        assert (result.output, result.text) == ("IT IS ROME.", "It is Rome.")

    @on_a_loop
    async def test_an_exception_of_a_validator_ends_the_run(self) -> None:
        manager, _ = cities("direct", ENTER, OSLO)

        @manager.output_validator
        def check(_: City) -> City:
            raise LookupError("no map")

        result = await result_of(manager, "Where?")
        assert isinstance(result.exception, LookupError)
        with pytest.raises(OutputError, match="'error', without an output"):
            _ = result.output

    @on_a_loop
    async def test_an_agreed_type_of_the_manager_stays_with_its_validators(self) -> None:
        manager, _ = cities("direct")
        manager.output_validator(lambda city: city)
        with pytest.raises(ValueError, match="has output validators"):
            manager.open("Where?", output_type=int)

    @on_a_loop
    async def test_a_function_is_called_with_its_arguments(self) -> None:
        async def book(context: RunContext, city: str, nights: int = 1) -> str:
            return f"{nights} nights in {city}, {context.iterations} requests"

        manager = manager_of(ENTER, '{"city": "Oslo", "nights": "2"}', output_type=book)
        assert (await result_of(manager, "A trip!")).output == "2 nights in Oslo, 2 requests"


class TestHooks:
    """Hooks that answer, append and deny."""

    @on_a_loop
    async def test_the_answer_of_a_hook_is_read_as_the_output(self) -> None:
        for text, expected in ((OSLO, CITY), ("We are closed.", None)):
            manager, _ = cities("direct")
            manager.before(lambda _, text=text: Answer(text))
            result = await result_of(manager, "Where?")
            assert (result.stop_reason, result.text) == (SceneStopReason.COMPLETED, text)
            if expected is not None:
                assert result.output == expected
            else:
                with pytest.raises(OutputError):
                    _ = result.output

    @on_a_loop
    async def test_a_text_that_is_appended_does_not_change_the_output(self) -> None:
        manager, _ = cities("direct", ENTER, OSLO)
        manager.after_scene(lambda _, __: Append("(Source: a map.)"))
        manager.on_terminal(lambda _, result: Append(f"{result.output.name}!"))
        result = await result_of(manager, "Where?")
        assert (result.output, result.text) == (CITY, f"{OSLO}\n\n(Source: a map.)\n\nOslo!")

    @on_a_loop
    async def test_an_answer_after_a_scene_replaces_its_output(self) -> None:
        manager, _ = cities("direct", ENTER, OSLO)
        manager.after_scene(lambda _, __: Answer('{"name": "Rome"}'))
        assert (await result_of(manager, "Where?")).output == City(name="Rome")

    @on_a_loop
    async def test_a_denied_scene_has_no_output(self) -> None:
        manager, _ = cities("direct", ENTER, OSLO)
        manager.after_scene(lambda _, __: Deny("Secret."))
        result = await result_of(manager, "Where?")
        assert result.stop_reason is SceneStopReason.UNAUTHORIZED
        with pytest.raises(OutputError, match="'unauthorized', without an output"):
            _ = result.output


class TestEnds:
    """Runs that end before their answer, or at a limit."""

    @on_a_loop
    async def test_a_reply_that_was_cut_off_is_the_error_with_the_part(self) -> None:
        cut_off = [TextDelta('{"name": "Oslo'), FinishUpdate(FinishReason.LENGTH)]
        manager, _ = cities("direct", ENTER, cut_off)
        result = await result_of(manager, "Where?")
        assert result.error == "The reply was cut off at the limit of tokens"
        with pytest.raises(OutputError, match="cut off") as raised:
            _ = result.output
        assert raised.value.partial == {"name": "Oslo"}

    @on_a_loop
    async def test_iterations_bound_the_requests_of_a_scene(self) -> None:
        manager, _ = cities("direct", ENTER, ADD, WRONG, max_iterations=2)
        result = await result_of(manager, "Where?")
        assert isinstance(result.exception, OutputError)
        assert len(model_of(manager).requests) == 3

    @pytest.mark.parametrize("replies", [[OSLO], [WRONG, OSLO]])
    @on_a_loop
    async def test_the_answer_at_a_limit_is_the_output(self, replies: list[str]) -> None:
        options: dict[str, Any] = {"max_iterations": 1, "answer_at_limit": True}
        manager, _ = cities("direct", ENTER, ADD, *replies, **options)
        result = await result_of(manager, "Where?")
        assert (result.stop_reason, result.output) == (SceneStopReason.MAX_ITERATIONS, CITY)

    @on_a_loop
    async def test_the_budget_bounds_the_requests_and_keeps_the_output(self) -> None:
        prices = {"m1": Price("1000000", "1000000")}
        for reply in (OSLO, WRONG):
            manager, options = cities("scene", reply, prices=prices, budget="0.01")
            result = await result_of(manager, "Where?", **options)
            assert result.stop_reason is SceneStopReason.BUDGET
            assert len(model_of(manager).requests) == 1
            if reply == OSLO:
                assert result.output == CITY
            else:
                with pytest.raises(OutputError, match="is not an integer"):
                    _ = result.output

    @on_a_loop
    async def test_a_paused_run_has_its_output_when_it_is_resumed(self) -> None:
        replies = [ENTER, call("locate"), OSLO]
        manager, _ = cities("direct", *replies)
        manager.scenes["Calculator"].client_tool("locate")
        paused = await result_of(manager, "Where?")
        with pytest.raises(OutputError, match="'awaiting_client', without an output"):
            _ = paused.output
        [waiting] = paused.awaiting
        results = {waiting.interaction_id: "here"}
        resumed = await result_of(manager, conversation=paused.conversation, results=results)
        assert resumed.output == CITY

    def test_options_are_checked_when_the_manager_is_made(self) -> None:
        with pytest.raises(OutputTypeError):
            SceneManager(ScriptedModel(), output_type=asyncio.Event)
        with pytest.raises(ValueError, match="output_retries"):
            SceneManager(ScriptedModel(), output_retries=-1)
        with pytest.raises(ValueError, match="output_mode"):
            SceneManager(ScriptedModel(), output_mode="json")  # type: ignore[arg-type]
