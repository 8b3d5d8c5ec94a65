"""Plans and decisions: parsed, repaired on record, requested again, or an error."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import ENTER, call, manager_of, model_of, result_of, steps_of
from coroutine_tests import on_a_loop
from effort import effort
from toolweave import SceneResult, SceneStopReason

NOT_GIVEN = object()

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "true", "1", "no", "é"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["continue", "id", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
wrappers = st.sampled_from(
    ["{}", "```json\n{}\n```", "Sure:\n{}", "Sure:\n```\n{}\n```\nThat is it.", "  {}\n"]
)


def fields(**options: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for objects with some of these fields, and perhaps an unexpected one."""
    return st.fixed_dictionaries({}, optional={**options, "extra": json_values})


decisions = st.one_of(
    fields(
        **{
            "continue": st.one_of(
                st.booleans(), st.booleans(), st.sampled_from(["true", "false", 1, 0, "yes", None])
            ),
            "reason": json_values,
        }
    ),
    json_values,
)


def meaning_of(value: Any) -> bool | None:
    """Return the meaning of a decision; None if it has none."""
    decision = value.get("continue") if isinstance(value, dict) else None
    if isinstance(decision, bool):
        return decision
    return {"true": True, "false": False}.get(decision) if isinstance(decision, str) else None


async def run_with_decision(*replies: str) -> tuple[SceneResult, list[str]]:
    """Return the result of a chain whose model makes a decision, and the prompts from then on."""
    manager = manager_of(
        ENTER, "42.", *replies, call("Weather_Report"), "8 degrees.", more(False), mode="chaining"
    )
    result = await result_of(manager, "15 + 27?")
    return result, [request.messages[-1].text for request in model_of(manager).requests[2:]]


def more(wanted: bool) -> str:
    return json.dumps({"continue": wanted, "reason": "so"})


@settings(deadline=None, max_examples=effort(30))
@given(decisions, wrappers, st.booleans())
def test_a_decision_is_never_lost_silently(value: Any, wrapper: str, second: bool) -> None:
    text = wrapper.replace("{}", json.dumps(value, ensure_ascii=False))

    async def main() -> None:
        meant = meaning_of(value)
        if meant is None:
            result, read = await run_with_decision(text, more(second))
            assert "This decision cannot be used. It is not JSON of that schema: " in read[1]
            assert result.scenes == (
                ("Calculator", "Weather Report") if second else ("Calculator",)
            )
            assert result.stop_reason is SceneStopReason.COMPLETED
            result, read = await run_with_decision(text, text)
            assert len(read) == 2
            assert (result.stop_reason, result.text) == (SceneStopReason.ERROR, "42.")
            assert isinstance(result.exception, tw.ValidationError)
            assert result.exception.violations
            assert "Failed to parse decision: " in (result.error or "")
        else:
            result, _ = await run_with_decision(text)
            assert result.scenes == (("Calculator", "Weather Report") if meant else ("Calculator",))
            assert result.stop_reason is SceneStopReason.COMPLETED
            if isinstance(value["continue"], str):
                (repair,) = [each for each in result.repairs if each.kind == "type"]
                assert (repair.path, repair.after) == ("/continue", meant)
        event(f"means {meant}")

    asyncio.run(main())


ids = st.sampled_from([1, 1, "1", 1.0, "one", None, True])
needs = st.sampled_from([NOT_GIVEN, [], None, ["1"], [1], "[]", "none", [7], [[]]])
purposes = st.sampled_from(["add", "add", "", 5, NOT_GIVEN])
scenes = st.sampled_from(["Calculator", "calculator", "Nope", 3])


@settings(deadline=None, max_examples=effort(30))
@given(ids, needs, purposes, scenes, st.sampled_from(["list", "text"]), st.booleans(), wrappers)
def test_a_plan_is_never_lost_silently(
    number: Any, needed: Any, purpose: Any, scene: Any, form: str, extra: bool, wrapper: str
) -> None:
    first = {"id": number, "scene": scene, "purpose": purpose, "depends_on": NOT_GIVEN}
    second = {"id": 2, "scene": "Weather_Report", "purpose": "look", "depends_on": needed}
    steps = [{k: v for k, v in each.items() if v is not NOT_GIVEN} for each in (first, second)]
    whole: dict[str, Any] = {"steps": steps if form == "list" else json.dumps(steps)}
    if extra:
        whole["confidence"] = 0.5
    text = wrapper.replace("{}", json.dumps(whole))
    good = (
        number in (1, "1")
        and number is not True
        and needed in (NOT_GIVEN, [], None, ["1"], [1], "[]")
        and purpose in ("add", "", 5)
        and scene in ("Calculator", "calculator")
    )

    async def main() -> None:
        if good:
            manager = manager_of(text, "42.", "8 degrees.", "Both.", mode="planning")
            result = await result_of(manager, "Both!")
            assert result.scenes == ("Calculator", "Weather Report")
            assert result.stop_reason is SceneStopReason.COMPLETED
            repaired = form == "text" or number == "1" or needed == ["1"] or needed == "[]"
            if repaired or purpose == 5:
                assert result.repairs
        else:
            manager = manager_of(text, text, mode="planning")
            result = await result_of(manager, "Both!")
            assert len(model_of(manager).requests) == 2
            assert "This plan cannot be used. " in model_of(manager).requests[1].messages[-1].text
            assert result.stop_reason is SceneStopReason.ERROR
            assert result.error
        event(f"good: {good}")

    asyncio.run(main())


@pytest.mark.parametrize(
    "text",
    ['{"continue": true}', '{"continue": "true"}', '{"continue": true, "reason": 1, "x": 2}'],
)
@on_a_loop
async def test_a_roughly_written_decision_continues_a_chain(text: str) -> None:
    result, read = await run_with_decision(text)
    assert result.scenes == ("Calculator", "Weather Report")
    assert len(read) == 4


@on_a_loop
async def test_repairs_are_in_the_step_and_the_result() -> None:
    script = [ENTER, "42.", '{"continue": "false"}']
    steps = await steps_of(manager_of(*script, mode="chaining"), "15 + 27?", verbose=True)
    (decision,) = [s for s in steps if s.message == "Scene chain complete"]
    assert decision.notice == 'The decision was repaired: /continue: type, "false" became false'
    result = await result_of(manager_of(*script, mode="chaining"), "15 + 27?")
    assert result.repairs == (tw.Repair("/continue", "type", "false", False),)


@on_a_loop
async def test_a_truncated_plan_is_requested_again() -> None:
    whole = '{"steps": [], "answer": "Half"}'
    manager = manager_of(
        [whole, tw.FinishUpdate("length")], '{"steps": [], "answer": "Whole."}', mode="planning"
    )
    assert (await result_of(manager, "Hi!")).text == "Whole."
