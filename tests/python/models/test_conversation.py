"""`as_messages`: conversations in every form, alone and mixed."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave import (
    MessageError,
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
    to_openai,
)
from toolweave.models import as_messages

ASKED: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "Add", "arguments": '{"a":1}'}}
    ],
}
ANSWERED = {"role": "tool", "tool_call_id": "c1", "content": "2"}
CALL = ToolCall("c1", "Add", {"a": 1})


class Dumpable:
    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


def test_a_text_is_one_message_of_the_user() -> None:
    assert as_messages("Hi") == [TextMessage("Hi")]
    assert as_messages(["Hi", "there"]) == [TextMessage("Hi"), TextMessage("there")]


@pytest.mark.parametrize(
    "alone",
    [
        TextMessage("Hi", role="system"),
        {"role": "system", "content": "Hi"},
        MappingProxyType({"role": "system", "content": "Hi"}),
        {"kind": "text", "role": "system", "text": "Hi"},
        Dumpable({"role": "system", "content": "Hi"}),
    ],
)
def test_a_message_may_stand_alone_or_in_any_iterable(alone: Any) -> None:
    expected = [TextMessage("Hi", role="system")]
    assert as_messages(alone) == as_messages([alone]) == as_messages(iter((alone,))) == expected


def test_messages_come_back_as_the_same_objects_in_a_new_list() -> None:
    given = [TextMessage("Hi"), ReasoningMessage("Hm")]
    taken = as_messages(given)
    assert taken is not given
    assert all(one is other for one, other in zip(taken, given, strict=True))


def test_calls_and_results_in_the_form_of_openai_become_one_message() -> None:
    taken = as_messages([{"role": "user", "content": "1 + 1?"}, Dumpable(ASKED), ANSWERED])
    assert [type(message) for message in taken] == [TextMessage, ToolAggregateMessage]
    assert to_openai(taken)[1:] == [
        ASKED,
        ANSWERED,
    ]


@pytest.mark.parametrize("between", [[], [TextMessage("Wait.")], ["Wait."]])
def test_a_result_finds_its_call_among_converted_messages(between: list[Any]) -> None:
    taken = as_messages([ToolCallMessage([CALL]), *between, ANSWERED])
    assert taken[-1] == ToolResultMessage([ToolResult("c1", "Add", "2")])


def test_a_result_finds_its_call_among_dicts_even_if_an_older_one_has_its_id() -> None:
    older = ToolAggregateMessage([CALL], [ToolResult("c1", "Add", "old")])
    taken = as_messages([older, ASKED, ANSWERED])
    assert isinstance(taken[1], ToolAggregateMessage)
    assert taken[1].tool_results[0].result == "2"


def test_a_result_after_a_message_finds_the_call_in_a_dict_before_it() -> None:
    taken = as_messages([ASKED, TextMessage("Wait."), ANSWERED])
    assert [type(message) for message in taken] == [
        ToolCallMessage,
        TextMessage,
        ToolResultMessage,
    ]


texts = st.text("ab<&é", max_size=5)
entries = st.one_of(
    texts.map(lambda text: (text, TextMessage(text))),
    texts.map(lambda text: (TextMessage(text), TextMessage(text))),
    texts.map(lambda text: ({"role": "user", "content": text}, TextMessage(text))),
    texts.map(lambda text: (TextMessage(text).to_dict(), TextMessage(text))),
    texts.map(lambda text: (Dumpable({"role": "user", "content": text}), TextMessage(text))),
)


@given(st.lists(entries, max_size=8))
def test_however_forms_are_mixed_each_entry_gives_its_message_in_order(
    mixed: list[tuple[Any, TextMessage]],
) -> None:
    assert as_messages([entry for entry, _ in mixed]) == [message for _, message in mixed]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"role": "narrator", "content": "x"}, 'message {} at /role is the string "narrator"'),
        ({"content": "x"}, "message {} at /role is missing"),
        ({"kind": "text"}, "message {} at /"),
        (ANSWERED, 'message {} holds a result for "c1", but no message before it makes that call'),
    ],
)
@given(before=st.lists(entries, max_size=4))
def test_an_error_names_the_message_whatever_stands_before_it(
    wrong: Any, says: str, before: list[tuple[Any, TextMessage]]
) -> None:
    with pytest.raises(MessageError) as raised:
        as_messages([*(entry for entry, _ in before), wrong])
    assert raised.value.index == len(before)
    assert str(raised.value).startswith(says.format(len(before)))


def test_an_error_names_an_invalid_result_of_a_converted_call_too() -> None:
    with pytest.raises(MessageError, match=r"^message 1 at /content ") as raised:
        as_messages([ToolCallMessage([CALL]), {**ANSWERED, "content": 7}])
    assert (raised.value.index, raised.value.path) == (1, "/content")


async def async_texts() -> Any:
    yield "Hi"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (7, "must be a str, a message, a dict, or an iterable of these, got int"),
        (None, "got NoneType"),
        (b"Hi", "got bytes"),
        (async_texts(), "got async_generator; collect it first"),
        (["Hi", 7], "message 1 must be a message, a str or a dict, got int"),
        ([["Hi"]], "message 0 must be a message, a str or a dict, got list"),
    ],
)
def test_a_value_that_is_not_a_conversation_is_a_type_error(wrong: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        as_messages(wrong)
