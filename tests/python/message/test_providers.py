"""Messages to and from the OpenAI and Anthropic clients, validated by their own types."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from paths import CASES

FOLDER = CASES / "message"


def cases(name: str, direction: str) -> list[dict[str, Any]]:
    loaded = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return [case for case in loaded if case.get("direction", direction) == direction]


def by_name(case: dict[str, Any]) -> str:
    return str(case["name"])


@pytest.fixture(scope="module")
def openai_type() -> Any:
    pytest.importorskip("openai")
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    return TypeAdapter(list[ChatCompletionMessageParam])


@pytest.fixture(scope="module")
def anthropic_type() -> Any:
    pytest.importorskip("anthropic")
    from anthropic.types import MessageParam
    from pydantic import TypeAdapter

    return TypeAdapter(list[MessageParam])


def check_types(adapter: Any, dicts: Any) -> None:
    """Validate with the types of the client, including lazy `Iterable` fields."""

    def consume(value: Any) -> None:
        if isinstance(value, dict):
            for item in value.values():
                consume(item)
        elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
            for item in value:
                consume(item)

    consume(adapter.validate_python(dicts))


def run_case(case: dict[str, Any], convert: Any) -> Any:
    if error := case.get("error"):
        with pytest.raises(tw.MessageError) as caught:
            convert()
        assert error["says"] in str(caught.value)
        assert (caught.value.index, caught.value.path) == (
            error["index"],
            error["path"],
        )
        return None
    return convert()


def options(case: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: case[name] for name in names if name in case}


@pytest.mark.parametrize("case", cases("openai.json", "to"), ids=by_name)
def test_openai_cases_hold_towards_the_client(case: dict[str, Any], openai_type: Any) -> None:
    chosen = options(case, "dangling", "reasoning")
    dicts = run_case(case, lambda: tw.to_openai(case["messages"], **chosen))
    if dicts is not None:
        assert dicts == case["dicts"]
        check_types(openai_type, dicts)


@pytest.mark.parametrize("case", cases("openai.json", "from"), ids=by_name)
def test_openai_cases_hold_from_the_client(case: dict[str, Any]) -> None:
    read = run_case(case, lambda: tw.from_openai(case["dicts"]))
    if read is not None:
        expected = [tw.message_from_dict(message) for message in case["messages"]]
        assert read == expected


@pytest.mark.parametrize("case", cases("anthropic.json", "to"), ids=by_name)
def test_anthropic_cases_hold_towards_the_client(case: dict[str, Any], anthropic_type: Any) -> None:
    request = run_case(
        case,
        lambda: tw.to_anthropic(case["messages"], **options(case, "dangling")),
    )
    if request is not None:
        system, dicts = request
        assert dicts == case["dicts"]
        assert system == case.get("system")
        check_types(anthropic_type, dicts)


@pytest.mark.parametrize("case", cases("anthropic.json", "from"), ids=by_name)
def test_anthropic_cases_hold_from_the_client(case: dict[str, Any]) -> None:
    read = run_case(
        case,
        lambda: tw.from_anthropic(case["dicts"], system=case.get("system")),
    )
    if read is not None:
        expected = [tw.message_from_dict(message) for message in case["messages"]]
        assert read == expected


words = st.text('abc<&"é', min_size=1, max_size=8)
objects = st.dictionaries(
    words, st.integers() | words | st.none() | st.lists(words, max_size=2), max_size=3
)


@st.composite
def conversations(draw: st.DrawFn) -> list[tw.Message]:
    messages: list[tw.Message] = []
    number = 0
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            messages.append(tw.TextMessage(draw(words)))
            continue
        arguments = draw(st.lists(objects, max_size=2))
        if draw(st.booleans()) or not arguments:
            messages.append(tw.TextMessage(draw(words), role="assistant"))
        if arguments:
            calls = [
                tw.ToolCall(f"call_{number + index}", "f", value, "", index)
                for index, value in enumerate(arguments)
            ]
            number += len(calls)
            answers = [tw.ToolResult(call.id, "f", draw(words)) for call in calls]
            messages.append(tw.ToolAggregateMessage(calls, answers))
    return messages


def without_raw(messages: list[tw.Message]) -> list[tw.Message]:
    return [
        message.__replace__(tool_calls=[call.__replace__(raw="") for call in message.tool_calls])
        if isinstance(message, tw.ToolAggregateMessage)
        else message
        for message in messages
    ]


@given(conversations())
@settings(max_examples=effort(60), deadline=None)
def test_conversations_come_back_from_openai(openai_type: Any, messages: list[tw.Message]) -> None:
    dicts = tw.to_openai(messages)
    check_types(openai_type, dicts)
    assert without_raw(tw.from_openai(dicts)) == messages


@given(conversations(), st.none() | words)
@settings(max_examples=effort(60), deadline=None)
def test_conversations_come_back_from_anthropic(
    anthropic_type: Any, messages: list[tw.Message], system: str | None
) -> None:
    if system is not None:
        messages = [tw.TextMessage(system, role="system"), *messages]
    prompt, dicts = tw.to_anthropic(messages)
    assert prompt == system
    check_types(anthropic_type, dicts)
    assert tw.from_anthropic(dicts, system=prompt) == messages


def test_responses_of_openais_client_are_accepted(openai_type: Any) -> None:
    from openai.types.chat import ChatCompletion

    response = ChatCompletion.model_validate(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "logprobs": None,
                    "message": {
                        "role": "assistant",
                        "content": "See:",
                        "refusal": None,
                        "tool_calls": [
                            {
                                "id": "a",
                                "type": "function",
                                "function": {"name": "f", "arguments": '{"x": 1}'},
                            }
                        ],
                    },
                }
            ],
        }
    )
    history = [
        {"role": "user", "content": "Hi"},
        response.choices[0].message,
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    expected = [
        tw.TextMessage("Hi"),
        tw.TextMessage("See:", role="assistant"),
        tw.ToolAggregateMessage(
            [tw.ToolCall("a", "f", {"x": 1}, '{"x": 1}')],
            [tw.ToolResult("a", "f", "1")],
        ),
    ]
    assert tw.from_openai(history) == expected
    check_types(openai_type, tw.to_openai(history))
    with pytest.raises(tw.MessageError, match=r"choices\[0\].message"):
        tw.from_openai([response])
    with pytest.raises(TypeError, match="list of messages, got ChatCompletion"):
        tw.from_openai(response)


def test_responses_of_anthropics_client_are_accepted(
    anthropic_type: Any,
) -> None:
    from anthropic.types import Message

    response = Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 2},
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "See:", "citations": None},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            ],
        }
    )
    result = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
    read = tw.from_anthropic([response, {"role": "user", "content": [result]}])
    assert [message.kind for message in read] == [
        "reasoning",
        "text",
        "tools_aggregate",
    ]
    assert {message.generation_id for message in read} == {"msg_1"}
    assert read[0].metadata["anthropic"]["response"]["usage"]["output_tokens"] == 2
    _, dicts = tw.to_anthropic(read)
    check_types(anthropic_type, dicts)
    assert [block["type"] for block in dicts[0]["content"]] == [
        "thinking",
        "text",
        "tool_use",
    ]


def test_conversations_are_accepted_in_any_form() -> None:
    mixed = [
        "Hi",
        tw.TextMessage("Hello", role="assistant"),
        {"kind": "text", "role": "user", "text": "Add"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "f", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    assert [message["role"] for message in tw.to_openai(mixed)] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]
    assert tw.to_openai("Hi") == tw.to_openai(tw.TextMessage("Hi")) == tw.to_openai(iter(["Hi"]))


@pytest.mark.parametrize(
    ("messages", "error", "says"),
    [
        (None, TypeError, "list of messages, got NoneType"),
        (b"x", TypeError, "list of messages, got bytes"),
        ({"role": "user"}, TypeError, "list of messages, got dict"),
        ([3], TypeError, "message 0 must be a message, a str or a dict, got int"),
        (
            ["x", {"role": "user", "content": {1}}],
            TypeError,
            "message 1: not JSON at /content",
        ),
        (
            ["x", {"kind": "text", "role": "user"}],
            tw.MessageError,
            "message 1 at /text is missing",
        ),
        (
            ["x", {"role": "user", "content": "y"}, {"role": "user"}, "z"],
            tw.MessageError,
            "message 2 at /content",
        ),
        (
            ["x", {"role": "user", "content": "y"}, {"role": "user"}],
            tw.MessageError,
            "message 2 at /content",
        ),
    ],
)
def test_bad_conversations_are_refused_by_position(
    messages: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as caught:
        tw.to_openai(messages)
    assert says in str(caught.value)


def test_an_unknown_dangling_option_is_refused() -> None:
    with pytest.raises(ValueError, match="answer, omit, raise"):
        tw.to_openai([], dangling="hope")  # type: ignore[arg-type]


def test_other_objects_are_not_read_as_messages() -> None:
    for read in (tw.from_openai, tw.from_anthropic):
        for item in ("x", tw.TextMessage("x"), 3):
            with pytest.raises(TypeError, match="message 0 must be a dict or a message of the"):
                read([item])  # type: ignore[list-item]


def test_any_mapping_is_accepted() -> None:
    message = MappingProxyType({"role": "user", "content": "x"})
    assert tw.from_openai([message]) == [tw.TextMessage("x")]
