"""Message classes, wire JSON and the joiner."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from paths import CASES

FOLDER = CASES / "message"


def cases(name: str) -> list[Any]:
    loaded: list[Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return loaded


def by_name(case: dict[str, Any]) -> str:
    return str(case["name"])


# Laws

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
envelopes = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(list(tw.Role)) | st.sampled_from([str(role) for role in tw.Role]),
        "id": texts,
        "from_agent": texts,
        "generation_id": texts,
        "run_id": texts,
        "chat_id": st.none() | texts,
        "metadata": json_objects,
        "extra": st.dictionaries(st.sampled_from(["x1", "x2"]), json_values, max_size=2),
    },
)
repairs = st.builds(
    tw.Repair,
    path=texts,
    kind=st.sampled_from(["trailing_comma", "type"]),
    before=json_values,
    after=json_values,
)


@st.composite
def calls(draw: st.DrawFn) -> list[tw.ToolCall]:
    return [
        tw.ToolCall(
            f"call_{index}",
            draw(texts),
            draw(json_objects),
            draw(texts),
            index,
            draw(st.lists(repairs, max_size=2)),
        )
        for index in range(draw(st.integers(0, 3)))
    ]


@st.composite
def results(draw: st.DrawFn) -> list[tw.ToolResult]:
    return [
        tw.ToolResult(
            f"call_{index}",
            draw(texts),
            draw(texts),
            value=draw(st.none() | st.integers()),
            is_error=draw(st.booleans()),
            error_code=draw(st.none() | st.sampled_from(list(tw.ErrorCode))),
            duration=draw(st.none() | st.floats(0, 1e9)),
        )
        for index in range(draw(st.integers(0, 3)))
    ]


@st.composite
def messages(draw: st.DrawFn) -> tw.Message:
    envelope = draw(envelopes)
    made = draw(calls())
    ids = {call.id for call in made}
    counts = st.integers(0, 2**64 - 1)
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return tw.TextMessage(draw(texts), **envelope)
    if kind == 1:
        return tw.ReasoningMessage(draw(texts), **envelope)
    if kind == 2:
        return tw.ToolCallMessage(made, **envelope)
    if kind == 3:
        return tw.ToolResultMessage(draw(results()), **envelope)
    if kind == 4:
        answers = [result for result in draw(results()) if result.tool_call_id in ids]
        return tw.ToolAggregateMessage(made, draw(st.permutations(answers)), **envelope)
    if kind == 5:
        cost = draw(st.none() | st.floats(0, 1e6))
        return tw.UsageMessage(draw(counts), draw(counts), draw(counts), cost, **envelope)
    envelope.pop("extra", None)
    return tw.UnknownMessage("hologram", {"beams": draw(json_values)}, **envelope)


@given(messages())
@settings(max_examples=effort(80), deadline=None)
def test_every_message_comes_back_from_every_form(message: tw.Message) -> None:
    text = message.to_json()
    assert text.startswith('{"kind":')
    assert json.loads(text) == message.to_dict()
    for back in (
        tw.message_from_json(text),
        tw.message_from_json(text.encode()),
        type(message).from_json(text),
        tw.message_from_dict(message.to_dict()),
        type(message).from_dict(message.to_dict()),
        pickle.loads(pickle.dumps(message)),
        copy.deepcopy(message),
    ):
        assert back == message
        assert hash(back) == hash(message)
        assert type(back) is type(message)
        assert repr(back) == repr(message) or "value=" in repr(message)


@given(st.lists(texts, max_size=5), json_objects, st.data())
@settings(max_examples=effort(60), deadline=None)
def test_splits_and_the_order_of_results_do_not_matter(
    texts: list[str], arguments: dict[str, Any], data: st.DataObject
) -> None:
    raw = json.dumps(arguments)
    places = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    bounds = list(zip([0, *places], [*places, len(raw)], strict=True))
    stream: list[tw.Update] = [tw.TextDelta(text) for text in texts]
    for number, (start, end) in enumerate(bounds):
        first = number == 0
        stream.append(
            tw.ToolCallUpdate("a" if first else None, 0, "f" if first else None, raw[start:end])
        )
    result = tw.ToolResult("a", "f", "1", value=object())
    stream.insert(data.draw(st.integers(0, len(stream))), result)
    stream.insert(data.draw(st.integers(0, len(stream))), tw.UsageUpdate(1, 2))
    joiner = tw.Joiner(chat_id="c")
    for update in [*stream, tw.FinishUpdate("tool_calls")]:
        joiner.push(update)
    joined = joiner.finish()
    assert joined.problems == ()
    assert joined.missing == ()
    call = tw.ToolCall("a", "f", arguments, raw)
    expected: list[tw.Message] = []
    if "".join(texts):
        expected.append(tw.TextMessage("".join(texts), role="assistant", chat_id="c"))
    expected.append(tw.ToolAggregateMessage([call], [result], chat_id="c"))
    expected.append(tw.UsageMessage(1, 2, chat_id="c"))
    assert list(joined.messages) == expected
    aggregate = joined.messages[-2]
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert aggregate.tool_results[0] is result


@given(
    st.recursive(
        texts | st.integers() | st.none(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["kind", "role", "text", "toolCalls", "name", "content"]),
                x,
            )
        ),
    )
)
@settings(max_examples=effort(60), deadline=None)
def test_invalid_messages_raise_a_clear_error(value: Any) -> None:
    for read in (
        tw.message_from_dict,
        lambda v: tw.from_openai([v]),
        lambda v: tw.from_anthropic([v]),
    ):
        try:
            read(value)
        except (tw.MessageError, TypeError) as err:
            assert "message" in str(err) or "JSON" in str(err)


# Golden cases


@pytest.mark.parametrize("case", cases("wire.json"), ids=by_name)
def test_wire_cases_hold(case: dict[str, Any]) -> None:
    if error := case.get("error"):
        with pytest.raises(tw.MessageError) as caught:
            tw.message_from_dict(case["json"])
        assert error["says"] in str(caught.value)
        assert caught.value.path == error["path"]
        return
    message = tw.message_from_dict(case["json"])
    assert message.to_dict() == case.get("written", case["json"])
    assert tw.message_from_json(json.dumps(case["json"])) == message


def update(value: dict[str, Any]) -> tw.Update:
    match value:
        case {"text": text}:
            return tw.TextDelta(text)
        case {"reasoning": text}:
            return tw.ReasoningDelta(text)
        case {"fragment": part}:
            return tw.ToolCallUpdate(*map(part.get, ("id", "index", "name", "args")))
        case {"call": call}:
            fields = {"kind": "tools_call", "role": "assistant", "toolCalls": [call]}
            return tw.ToolCallMessage.from_dict(fields).tool_calls[0]
        case {"result": result}:
            fields = {"kind": "tool_result", "role": "tool", "toolResults": [result]}
            return tw.ToolResultMessage.from_dict(fields).tool_results[0]
        case {"usage": tokens}:
            return tw.UsageUpdate(*tokens)
        case {"finish": reason}:
            return tw.FinishUpdate(reason)
    raise AssertionError(value)


@pytest.mark.parametrize("case", cases("joiner.json"), ids=by_name)
def test_joiner_cases_hold(case: dict[str, Any]) -> None:
    joiner = tw.Joiner()
    for value in case["updates"]:
        joiner.push(update(value))
    joined = joiner.finish()
    assert [message.to_dict() for message in joined.messages] == case["messages"]
    assert joined.finish_reason == case["finish"]
    assert list(joined.missing) == case.get("missing", [])
    assert [problem.kind for problem in joined.problems] == case.get("problems", [])
    assert pickle.loads(pickle.dumps(joined)) == joined


@pytest.mark.parametrize("name", ["Role", "MessageKind", "ErrorCode", "FinishReason"])
def test_names_are_the_same_everywhere(name: str) -> None:
    wire = json.loads((FOLDER / "names.json").read_text())[name]
    members = list(getattr(tw, name))
    assert members == wire
    assert [f"{member}" for member in members] == wire
    assert json.loads(json.dumps(members)) == wire


# Classes

CALL = tw.ToolCall("a", "f", {"x": 1})
RESULT = tw.ToolResult("a", "f", "1")


def test_classes_match_by_position() -> None:
    match tw.ToolAggregateMessage([CALL], [RESULT]):
        case tw.ToolAggregateMessage(
            (tw.ToolCall(id, name, arguments),), (tw.ToolResult(_, _, result),)
        ):
            assert (id, name, arguments, result) == ("a", "f", {"x": 1}, "1")
        case other:
            pytest.fail(repr(other))


def test_names_come_back_as_members_and_are_taken_as_strings() -> None:
    message = tw.TextMessage("x", role="assistant")
    assert message.role is tw.Role.ASSISTANT
    assert message.kind is tw.MessageKind.TEXT
    assert tw.FinishUpdate("stop").reason is tw.FinishReason.STOP
    result = tw.ToolResult("a", "f", "", error_code="timeout")
    assert result.error_code is tw.ErrorCode.TIMEOUT
    assert result.is_error, "an error code makes it an error"


def test_kinds_have_default_roles() -> None:
    assert tw.TextMessage("x").role == "user"
    assert tw.ToolCallMessage([CALL]).role == "assistant"
    assert tw.ToolResultMessage([RESULT]).role == "tool"


def test_big_integers_stay_exact() -> None:
    big = 10**40 + 7
    call = tw.ToolCall("a", "f", {"x": big, "y": -big})
    assert call.arguments == {"x": big, "y": -big}
    (back,) = tw.ToolCallMessage.from_json(tw.ToolCallMessage([call]).to_json()).tool_calls
    assert back == call


def test_objects_are_frozen_and_copy_their_arguments() -> None:
    arguments = {"x": [1]}
    call = tw.ToolCall("a", "f", arguments)
    arguments["x"].append(2)
    assert call.arguments == {"x": [1]}
    with pytest.raises(AttributeError):
        call.id = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        tw.TextMessage("x").role = tw.Role.USER  # type: ignore[misc]


def test_the_value_of_a_result_is_not_compared() -> None:
    assert tw.ToolResult("a", "f", "1", value=object()) == RESULT
    assert tw.ToolResult("a", "f", "1", value=[1]).value == [1]
    assert "value" not in tw.ToolResultMessage([tw.ToolResult("a", "f", "1", value=3)]).to_json()


def test_repr_shows_what_is_there() -> None:
    assert repr(CALL) == "ToolCall(id='a', name='f', arguments={'x': 1})"
    assert repr(tw.TextDelta("x")) == "TextDelta(text='x')"


def test_copies_can_replace_fields() -> None:
    message = tw.TextMessage("x", metadata={"a": 1})
    assert message.__replace__(chat_id="c") == tw.TextMessage("x", metadata={"a": 1}, chat_id="c")


def test_results_of_an_aggregate_are_in_the_order_of_the_calls() -> None:
    two = [tw.ToolCall("a", "f", {}), tw.ToolCall("b", "f", {}, index=1)]
    answers = [tw.ToolResult("b", "f", "2"), tw.ToolResult("a", "f", "1")]
    aggregate = tw.ToolAggregateMessage(two, answers)
    assert [result.result for result in aggregate.tool_results] == ["1", "2"]
    with pytest.raises(tw.MessageError, match="no message before it makes that call"):
        tw.ToolAggregateMessage([], [RESULT])
    with pytest.raises(tw.MessageError, match="repeats"):
        tw.ToolAggregateMessage([CALL, CALL], [])


def test_joining_continues_after_finish() -> None:
    joiner = tw.Joiner(generation_id="g")
    joiner.push(CALL)
    joiner.push(tw.FinishUpdate(tw.FinishReason.TOOL_CALLS))
    assert joiner.finish().missing == ("a",)
    joiner.push(RESULT)
    joined = joiner.finish()
    assert joined.messages == (tw.ToolAggregateMessage([CALL], [RESULT], generation_id="g"),)
    assert joined.missing == ()


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: tw.TextMessage(), TypeError, "text"),
        (lambda: tw.TextMessage(None), TypeError, "str"),
        (lambda: tw.TextMessage(b"x"), TypeError, "str"),
        (lambda: tw.TextMessage("x", "user"), TypeError, "positional"),
        (lambda: tw.TextMessage("x", rule="user"), TypeError, "'rule'"),
        (
            lambda: tw.TextMessage("x", role="bot"),
            ValueError,
            "system, user, assistant, tool",
        ),
        (
            lambda: tw.TextMessage("x", role=3),
            TypeError,
            "role must be a Role or its string",
        ),
        (lambda: tw.TextMessage("x", id=3), TypeError, "id must be a str or None"),
        (
            lambda: tw.TextMessage("x", metadata=[]),
            TypeError,
            "metadata: expected a dict",
        ),
        (
            lambda: tw.TextMessage("x", metadata={"a": {1}}),
            TypeError,
            "/a: set is not a JSON type",
        ),
        (lambda: tw.TextMessage("x", metadata=cyclic()), ValueError, "contains itself"),
        (
            lambda: tw.TextMessage("x", metadata={"a": deep(100_000)}),
            ValueError,
            "deeper",
        ),
        (lambda: tw.TextMessage("x", extra={"text": "y"}), tw.MessageError, "/extra"),
        (lambda: tw.UnknownMessage("text"), tw.MessageError, "/fields"),
        (
            lambda: tw.UnknownMessage("new", {"role": "user"}),
            tw.MessageError,
            "/fields",
        ),
        (lambda: tw.ToolCall("a", "f", [1]), TypeError, "expected a dict"),
        (
            lambda: tw.ToolCall("a", "f", {"x": float("nan")}),
            TypeError,
            "nan is not a JSON number",
        ),
        (lambda: tw.ToolCall("a", "f", {}, index=-1), OverflowError, ""),
        (
            lambda: tw.ToolCallMessage(CALL),
            TypeError,
            "iterable of ToolCall, got ToolCall",
        ),
        (lambda: tw.ToolCallMessage("ab"), TypeError, "iterable of ToolCall, got str"),
        (lambda: tw.ToolCallMessage([CALL, RESULT]), TypeError, "item 1 is ToolResult"),
        (
            lambda: tw.ToolResult("a", "f", "", error_code="x"),
            ValueError,
            "unknown_tool",
        ),
        (
            lambda: tw.ToolResult("a", "f", "", duration=float("inf")),
            ValueError,
            "duration",
        ),
        (lambda: tw.UsageMessage(1.5), TypeError, "float"),
        (lambda: tw.UsageMessage(cost=float("nan")), ValueError, "cost"),
        (lambda: tw.FinishUpdate("end"), ValueError, "content_filter"),
        (lambda: tw.MessageBase(), TypeError, "MessageBase"),
        (lambda: tw.Joiner().push("x"), TypeError, "expected a TextDelta"),
        (lambda: tw.message_from_json(None), TypeError, "str or bytes"),
        (lambda: tw.message_from_json(""), tw.MessageError, "no JSON"),
        (lambda: tw.message_from_json(b"\xff"), tw.MessageError, "no JSON"),
        (
            lambda: tw.message_from_json("[" * 100_000),
            tw.MessageError,
            "recursion limit",
        ),
        (lambda: tw.message_from_dict(cyclic()), ValueError, "contains itself"),
        (
            lambda: tw.UsageMessage.from_json('{"kind":"text","role":"user","text":""}'),
            tw.MessageError,
            "the kind of a UsageMessage",
        ),
    ],
)
def test_errors_state_what_would_be_valid(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        make()
    notes = getattr(caught.value, "__notes__", [])
    assert says in "\n".join([str(caught.value), *notes])


def test_errors_survive_pickling() -> None:
    with pytest.raises(tw.MessageError) as caught:
        tw.message_from_dict({"kind": "text", "role": "user"})
    back = pickle.loads(pickle.dumps(caught.value))
    assert (str(back), back.index, back.path) == (str(caught.value), None, "/text")
    assert isinstance(back, ValueError)
