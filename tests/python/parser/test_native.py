"""Native calls, validated by the rules for inline calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from golden_events import exact, written
from paths import CASES

GOLDEN = json.loads((CASES / "native" / "arguments.json").read_text("utf-8"))
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_cases_come_out_as_written(case: Any) -> None:
    options = dict(case.get("options", {}))
    truncated = options.pop("truncated", False)
    if "limits" in options:
        options["limits"] = tw.Limits(**options["limits"])
    parser = tw.Parser(GOLDEN["tools"], **options)
    call = case["call"]
    event = parser.native_call(
        "id-7", call["name"], call["arguments"], index=2, truncated=truncated
    )
    assert exact(written(event)) == exact(case["event"])


@given(st.dictionaries(st.text(), ANYTHING, max_size=4), st.booleans())
def test_native_objects_are_validated_like_inline_ones(
    arguments: dict[str, Any], ascii_only: bool
) -> None:
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    call = tw.Parser(["Any"], repair="none").native_call("call_0", "Any", text)
    assert isinstance(call, tw.ToolCall)
    assert exact(call.arguments) == exact(arguments)
    assert call.repairs == ()
    [*_, inline] = tw.parse(f'<tool_call name="Any">{text}</tool_call>', ["Any"])
    assert isinstance(inline, tw.ToolCall)
    assert exact(call.arguments) == exact(inline.arguments)


@given(st.text(alphabet='{}[]":,\\ \n<>/`a1.-"{}'), st.booleans())
def test_any_text_is_a_call_with_an_object_or_an_invalid_call(text: str, truncated: bool) -> None:
    event = tw.Parser(["Any"]).native_call("x", "Any", text, index=1, truncated=truncated)
    assert (event.id, event.index, event.name, event.raw) == ("x", 1, "Any", text)
    if isinstance(event, tw.ToolCall):
        assert not truncated
        assert isinstance(event.arguments, dict)
    else:
        assert event.violations


def test_a_fresh_parser_has_the_tools_and_no_input() -> None:
    parser = tw.Parser(GOLDEN["tools"], id_factory=lambda index: f"mine-{index}")
    parser.push('<Add>{"a": 1, ')
    other = parser.fresh()
    assert other.finish() == ()
    [start, *_, call] = other.push('<Add>{"a": 3, "b": 4}</Add>')
    assert isinstance(start, tw.ToolCallStart)
    assert start.id == "mine-0"
    assert isinstance(call, tw.ToolCall)
    assert call.arguments == {"a": 3, "b": 4}
    [*_, first] = parser.push('"b": 2}</Add>')
    assert isinstance(first, tw.ToolCall)
    assert first.arguments == {"a": 1, "b": 2}


@pytest.mark.parametrize("wrong", [(1, "Add", "{}"), ("x", None, "{}"), ("x", "Add", b"{}")])
def test_other_types_than_text_are_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError):
        tw.Parser(["Add"]).native_call(*wrong)
