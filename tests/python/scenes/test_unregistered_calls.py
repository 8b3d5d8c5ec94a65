"""Markup of calls in text to unavailable tools: refused once, then kept with a notice."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import (
    ADD,
    ENTER,
    call,
    manager_of,
    model_of,
    native,
    statuses_of,
    steps_of,
)
from coroutine_tests import TEST_TIMEOUT, on_a_loop
from effort import effort
from toolweave import SceneStatus, SceneStep
from toolweave.kinds import ErrorCode
from toolweave.scenes._unregistered_calls import NameMatcher, split_calls, within_edits

# In the scene "Calculator": its own tools, the other scene's, and the scenes.
OFFERED = ["Add", "Multiply", "Fail"]
KNOWN = [*OFFERED, "get_weather", "Calculator", "Weather_Report"]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ_09"
HTML = ["b", "code", "table", "td", "details", "summary", "time", "mark", "div", "Sub"]

bodies = st.dictionaries(
    st.sampled_from(["a", "b", "city"]), st.integers() | st.text(max_size=8), max_size=3
).map(json.dumps)
written_bodies = st.one_of(
    bodies,
    bodies.map(lambda body: f"\n{body}\n"),
    bodies.map(lambda body: f"\n```json\n{body}\n```\n"),
)
around = st.sampled_from(["", "I do it. ", "First:\n\n", "a < b, and `x` too. ", "é💡 "])


@st.composite
def similar_names(draw: st.DrawFn) -> str:
    """Return a known name with some edits and any difference in case."""
    name = draw(st.sampled_from(KNOWN))
    for _ in range(draw(st.integers(0, 1 if len(name) < 5 else 2))):
        at = draw(st.integers(0, len(name) - 1))
        letter = draw(st.sampled_from(LETTERS))
        name = draw(
            st.sampled_from(
                [
                    name[:at] + name[at + 1 :],
                    name[:at] + letter + name[at:],
                    name[:at] + letter + name[at + 1 :],
                    name[:at] + name[at : at + 2][::-1] + name[at + 2 :],
                ]
            )
        )
    name = draw(st.sampled_from([name, name, name.lower(), name.upper(), name.swapcase()]))
    assume(name and name not in OFFERED and name.lower() not in ("a", "dd", "tt"))
    return name


def cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[at : at + size] for at in range(0, len(text), size)]


async def run_steps(*replies: Any, **options: Any) -> tuple[list[SceneStep], list[str]]:
    """Return the steps of a run, and the last message of each request."""
    manager = manager_of(*replies, **options)
    steps = await asyncio.wait_for(steps_of(manager, "Go.", verbose=False), TEST_TIMEOUT)
    return steps, [request.messages[-1].text for request in model_of(manager).requests]


@settings(deadline=None, max_examples=effort(30))
@given(similar_names(), written_bodies, around, around, st.sampled_from([1, 2, 5, 1000]))
@example("Ad", '{"a": 1}', "", "", 1)
@example("GET_WEATHER", '{"a": "</add>"}', "x", "y", 3)
def test_markup_of_an_unavailable_call_is_refused_once_then_gets_a_notice(
    name: str, body: str, before: str, after: str, pieces: int
) -> None:
    reply = f"{before}<{name}>{body}</{name}>{after}"

    async def main() -> None:
        script = [ENTER, cut(reply, pieces), cut(reply, pieces)]
        steps, read = await run_steps(*script, streaming=True)
        # The model was asked once more, with the reason.
        assert len(read) == 3
        assert f"Tool '{name}' not found." in read[2]
        (error,) = [step for step in steps if step.status is SceneStatus.ERROR]
        assert (error.message, error.fatal) == (f"Tool '{name}' not found", False)
        assert (error.function, error.scene) == (name, "Calculator")
        # No markup was emitted before that.
        at = steps.index(error)
        shown = "".join(s.message or "" for s in steps[:at] if s.status is SceneStatus.STREAMING)
        assert f"<{name}>" not in shown
        assert shown.strip() == (before + after).strip()
        # The second time it stays text, with a notice.
        last = steps[-1]
        assert last.message == reply.strip()
        assert name in (last.notice or "")
        (answer,) = [s for s in steps[at:] if s.status is SceneStatus.RUNNING]
        assert answer.notice == last.notice
        shown = "".join(s.message or "" for s in steps[at:] if s.status is SceneStatus.STREAMING)
        assert shown == reply

    asyncio.run(main())


def distance(one: str, other: str) -> int:
    """Return the edit distance of two texts, including swaps of adjacent letters."""
    rows = [
        [max(i, j) if not i or not j else 0 for j in range(len(other) + 1)]
        for i in range(len(one) + 1)
    ]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            costs = [rows[i - 1][j] + 1, rows[i][j - 1] + 1]
            costs.append(rows[i - 1][j - 1] + (one[i - 1] != other[j - 1]))
            if one[i - 2 : i] == other[j - 2 : j][::-1] and i > 1 and j > 1:
                costs.append(rows[i - 2][j - 2] + 1)
            rows[i][j] = min(costs)
    return rows[-1][-1]


@settings(max_examples=effort(200))
@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.integers(0, 2))
@example("ab", "ba", 1)
def test_names_are_compared_by_their_edits(one: str, other: str, most: int) -> None:
    assert within_edits(one, other, most) == (distance(one, other) <= most)


pieces_of_text = st.one_of(
    around,
    st.sampled_from(["<add", "</Add>", "```\n", "`", "<b>{}</b>", "<Divde>{", "{}", "<Ad></Ad>"]),
    st.tuples(similar_names(), written_bodies).map(
        lambda both: f"<{both[0]}>{both[1]}</{both[0]}>"
    ),
)


@settings(max_examples=effort(60))
@given(st.lists(pieces_of_text, max_size=6))
def test_splitting_loses_no_text(parts: list[str]) -> None:
    text = "".join(parts)
    found = split_calls(text, NameMatcher(OFFERED, KNOWN))
    left = text
    for part in found:
        raw = part if isinstance(part, str) else part.raw
        # But for closing tags that stand apart from their call.
        at = left.index(raw)
        assert not left[:at].strip() or left[:at].strip().startswith("</")
        left = left[at + len(raw) :]
    assert not left.strip() or left.strip().startswith("</")


plain_parts = st.one_of(
    around,
    st.sampled_from(HTML).flatmap(lambda tag: bodies.map(lambda body: f"<{tag}>{body}</{tag}>")),
    st.tuples(similar_names(), bodies).map(lambda both: f"`<{both[0]}>{both[1]}</{both[0]}>`"),
    st.tuples(similar_names(), bodies).map(
        lambda both: f"\n\n```xml\n<{both[0]}>{both[1]}</{both[0]}>\n```\n"
    ),
    similar_names().map(lambda name: f"<{name}>of it</{name}>"),
    st.sampled_from(["<subtract>{}</subtract>", "<report>{}</report>", "<add", "</Add>"]),
)


@settings(deadline=None, max_examples=effort(30))
@given(st.lists(plain_parts, min_size=1, max_size=4), st.sampled_from([1, 3, 1000]))
@example(["Answer: `<Divde>{}</Divde>`", "<b>{}</b>"], 3)
def test_code_and_html_and_prose_are_left_alone(parts: list[str], pieces: int) -> None:
    text = "".join(parts)
    assume(text.strip())

    async def main() -> None:
        steps, read = await run_steps(ENTER, cut(text, pieces), streaming=True)
        assert len(read) == 2
        assert steps[-1].message == text.strip()
        assert steps[-1].notice is None
        shown = "".join(s.message or "" for s in steps if s.status is SceneStatus.STREAMING)
        assert shown == text
        event(f"tags: {'<' in text}")

    asyncio.run(main())


@settings(deadline=None, max_examples=effort(20))
@given(
    st.lists(
        st.one_of(
            plain_parts,
            st.sampled_from([ADD, call("Nope")]),
            st.tuples(similar_names(), written_bodies).map(
                lambda both: f"<{both[0]}>{both[1]}</{both[0]}>"
            ),
            st.sampled_from(["<Divde>{", '<add>{"a": 1</Add>', '<add>{"a": 1}', "<add>{a}</Mul>"]),
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 40),
)
def test_splitting_a_reply_into_chunks_changes_nothing(parts: list[str], pieces: int) -> None:
    text = "".join(parts)
    assume(text.strip())

    async def main(count: int) -> Any:
        steps, read = await run_steps(ENTER, cut(text, count), cut(text, count), "Done.", "Done.")
        return [(s.status, s.message, s.function, s.arguments, s.notice) for s in steps], len(read)

    assert asyncio.run(main(pieces)) == asyncio.run(main(1))


@pytest.mark.parametrize("name", ["Add", "add", "get_weather", "Multipy"])
@on_a_loop
async def test_a_tool_is_not_called_where_scenes_are_chosen(name: str) -> None:
    markup = f'<{name}>{{"a": 1}}</{name}>'
    steps, read = await run_steps(markup, ENTER, "Done.")
    assert f"Tool '{name}' not found." in read[1]
    assert "The scenes are: Calculator, Weather_Report." in read[1]
    assert statuses_of(steps)[0] == ("Error", f"Tool '{name}' not found")
    assert steps[-1].message == "Done."
    steps, _ = await run_steps(markup, markup)
    assert (steps[-1].message, steps[-1].stop_reason) == (markup, "completed")
    assert name in (steps[-1].notice or "")


@on_a_loop
async def test_a_misspelled_scene_anywhere_in_a_reply_is_no_answer() -> None:
    markup = "I choose. <Calculater>{}</Calculater>"
    steps, read = await run_steps(markup, ENTER, "Done.")
    assert "Scene 'Calculater' not found. Did you mean 'Calculator'?" in read[1]
    assert steps[-1].message == "Done."
    steps, _ = await run_steps(markup, markup)
    assert statuses_of(steps)[-2:] == [("Error", "Scene 'Calculater' not found"), ("Completed", "")]


@on_a_loop
async def test_an_error_names_the_nearest_tool_and_the_scene_that_has_it() -> None:
    _, read = await run_steps(ENTER, "<Multipy>{}</Multipy>", "Done.")
    assert "Tool 'Multipy' not found. Did you mean 'Multiply'? Available tools: Add, " in read[2]
    _, read = await run_steps(ENTER, "<get_weather>{}</get_weather>", "Done.")
    assert "'get_weather' is a tool of the scene 'Weather Report'" in read[2]


@on_a_loop
async def test_the_history_holds_refused_calls_with_those_that_ran() -> None:
    manager = manager_of(ENTER, f"So: {ADD}<Multipy>{{}}</Multipy>", "Done.")
    result = await manager.run("Go.")
    (aggregate,) = [
        m
        for m in result.messages
        if isinstance(m, tw.ToolAggregateMessage) and len(m.tool_calls) > 1
    ]
    assert [c.name for c in aggregate.tool_calls] == ["Add", "Multipy"]
    assert [r.error_code for r in aggregate.tool_results] == [None, ErrorCode.UNKNOWN_TOOL]
    assert [tool.function for tool in result.executed] == ["Add", "Multipy"]
    assert not any("<Multipy>" in m.text for m in result.messages if isinstance(m, tw.TextMessage))
    assert (result.text, result.notice) == ("Done.", None)


@on_a_loop
async def test_a_call_in_text_is_refused_again_after_a_valid_call() -> None:
    markup = "<Multipy>{}</Multipy>"
    _, read = await run_steps(ENTER, markup, ADD, markup, "Done.")
    assert [text.count("Tool 'Multipy' not found") for text in read] == [0, 0, 1, 0, 1]


@on_a_loop
async def test_an_answer_without_tools_has_no_markup_unnoticed() -> None:
    plan = json.dumps(
        {
            "answer": None,
            "steps": [{"id": 1, "scene": "Calculator", "purpose": "p", "depends_on": []}],
        }
    )
    markup = '<Add>{"a": 1, "b": 2}</Add>'
    steps, read = await run_steps(plan, "42.", markup, "It is 42.", mode="planning")
    assert len(read) == 4
    assert steps[-1].message == "It is 42."
    steps, _ = await run_steps(plan, "42.", markup, markup, mode="planning")
    assert (steps[-1].message, bool(steps[-1].notice)) == (markup, True)
    steps, _ = await run_steps(ENTER, ADD, markup, max_iterations=1, answer_at_limit=True)
    assert (steps[-1].message, bool(steps[-1].notice)) == (markup, True)


@on_a_loop
async def test_an_answer_in_place_of_a_plan_has_no_markup_unnoticed() -> None:
    markup = "<Add>{}</Add>"
    answer = json.dumps({"answer": markup, "steps": []})
    steps, read = await run_steps(answer, answer, mode="planning")
    assert "Tool 'Add' not found" in read[1]
    assert (steps[-1].message, bool(steps[-1].notice)) == (markup, True)


@on_a_loop
async def test_text_of_a_model_with_native_calls_is_only_text() -> None:
    markup = "<Multipy>{}</Multipy>"
    manager = manager_of([native("Calculator")], markup, is_native=True)
    steps = await steps_of(manager, "Go.")
    assert len(model_of(manager).requests) == 2
    assert (steps[-1].message, steps[-1].notice) == (markup, None)
