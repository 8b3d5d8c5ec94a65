"""Texts that are marked as natural: setting the mark, keeping it, and what is passed through."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import sys
from typing import Any

import pytest

import toolweave as tw
from toolweave.conversations import Conversation
from toolweave.lifecycle import StreamReducer
from toolweave.models import as_messages
from toolweave.natural import NaturalToolUseParser
from toolweave.store import MessageStore, StoreConversations
from toolweave.testing import ScriptedModel

CALL = '<Add>{"a": 1}</Add>'
MARKED = tw.TextMessage(CALL, role="assistant", id="m", natural=True)
PLAIN = tw.TextMessage(CALL, role="assistant", id="m")
ESCAPED = '&lt;Add>{"a": 1}&lt;/Add>'


# The mark.


def test_the_mark_is_part_of_the_message() -> None:
    assert MARKED.natural is True
    assert PLAIN.natural is False
    assert MARKED != PLAIN
    assert hash(MARKED) == hash(tw.TextMessage(CALL, role="assistant", id="m", natural=True))
    assert repr(MARKED).endswith(", natural=True)")
    assert "natural" not in repr(PLAIN)
    assert PLAIN.__replace__(natural=True) == MARKED


def test_every_form_of_the_message_keeps_the_mark() -> None:
    assert json.loads(MARKED.to_json())["natural"] is True
    assert "natural" not in PLAIN.to_dict()
    for message in (MARKED, PLAIN):
        for back in (
            tw.TextMessage.from_json(message.to_json()),
            tw.TextMessage.from_dict(message.to_dict()),
            tw.message_from_json(message.to_json()),
            tw.message_from_dict(message.to_dict()),
            pickle.loads(pickle.dumps(message)),
            copy.copy(message),
            copy.deepcopy(message),
        ):
            assert back == message


@pytest.mark.parametrize("wrong", [1, "true", [], {}])
def test_invalid_marks_are_rejected(wrong: Any) -> None:
    with pytest.raises(tw.MessageError, match=r"/natural is .*; expected true or false"):
        tw.message_from_dict({**PLAIN.to_dict(), "natural": wrong})
    # Where there are no notes, before Python 3.11, the core names no parameter.
    with pytest.raises(TypeError, match="natural" if sys.version_info >= (3, 11) else "bool"):
        tw.TextMessage("x", natural=wrong)


def test_only_texts_have_a_mark() -> None:
    with pytest.raises(TypeError, match="natural"):
        tw.ReasoningMessage("x", natural=True)  # type: ignore[call-arg]
    read = tw.message_from_dict(
        {"kind": "reasoning", "role": "assistant", "text": "x", "natural": True}
    )
    assert read.extra == {"natural": True}
    with pytest.raises(tw.MessageError, match="extra"):
        tw.TextMessage("x", extra={"natural": True})


# What is passed through.


def test_a_marked_text_of_the_assistant_is_sent_unchanged() -> None:
    parser = NaturalToolUseParser(ScriptedModel("Fine."), ["Add"])
    for message, expected in ((MARKED, CALL), (PLAIN, ESCAPED)):
        request = parser.request(["Go.", message, "Go on."])
        texts = [sent.text for sent in request.messages if isinstance(sent, tw.TextMessage)]
        assert texts[1:] == ["Go.", expected, "Go on."]


@pytest.mark.parametrize("role", ["user", "tool"])
@pytest.mark.parametrize("form", ["single", "turn", "split"])
def test_only_results_of_a_marked_user_text_are_passed_through(role: Any, form: Any) -> None:
    result = '<tool_response name="Add">\n3\n</tool_response>'
    text = tw.TextMessage(f"{result}\n{CALL}\n<tool_response>", role=role, natural=True)
    [written] = tw.consolidate([text], tools=["Add"], form=form)
    assert written.text == f"{result}\n{ESCAPED}\n&lt;tool_response>"


def test_consolidated_texts_are_marked_except_system_texts() -> None:
    history: list[str | tw.Message] = ["Hi.", tw.TextMessage("Be.", role="system"), MARKED]
    assert [message.natural for message in tw.consolidate(history)] == [True, False, True]
    assert not any(
        isinstance(message, tw.TextMessage) and message.natural
        for message in tw.parse_history(tw.consolidate(history))
    )


# Keeping the mark.


def test_the_store_keeps_the_mark() -> None:
    async def main() -> None:
        async with MessageStore("sqlite://") as store:
            chat = await store.create_chat()
            await store.write(chat.chat_id, messages=[MARKED])
            [message] = (await store.load(chat.chat_id)).messages
            assert isinstance(message, tw.TextMessage)
            assert message.natural is True

    asyncio.run(main())


def test_conversations_of_scenes_keep_the_mark() -> None:
    conversation = Conversation("ann", [MARKED, PLAIN])
    assert Conversation.from_dict(conversation.to_dict()).messages == [MARKED, PLAIN]

    async def main() -> None:
        async with MessageStore("sqlite://") as store:
            conversations = StoreConversations(store)
            async with conversations.lock("ann"):
                await conversations.save(conversation)
                loaded = await conversations.load("ann")
            assert loaded is not None
            assert loaded.messages == [MARKED, PLAIN]

    asyncio.run(main())


# Inputs that cannot set the mark.


def marks(messages: Any) -> list[bool]:
    return [message.natural for message in messages if isinstance(message, tw.TextMessage)]


def test_a_dict_among_messages_does_not_set_the_mark() -> None:
    assert marks(as_messages([MARKED.to_dict(), MARKED])) == [False, True]
    for form in ("single", "turn", "split"):
        [written] = tw.consolidate([MARKED.to_dict()], tools=["Add"], form=form)
        assert written.text == ESCAPED
    consolidator = tw.Consolidator(tools=["Add"])
    consolidator.push(MARKED.to_dict())
    assert consolidator.messages[0].text == ESCAPED


def test_messages_of_providers_do_not_set_the_mark() -> None:
    message = {"role": "assistant", "content": CALL, "natural": True, "metadata": {"natural": True}}
    assert marks(tw.from_openai([message])) == [False]
    assert marks(as_messages([message])) == [False]
    blocks = [{"type": "text", "text": CALL, "natural": True}]
    assert marks(tw.from_anthropic([{**message, "content": blocks}])) == [False]


def test_stream_events_do_not_set_the_mark() -> None:
    reducer = StreamReducer()
    event = {
        "kind": "text",
        "chatId": "c",
        "sequenceNumber": 1,
        "timestampUtc": 1_790_000_000_000,
        "messageId": "m",
        "role": "assistant",
        "delta": CALL,
        "natural": True,
        "metadata": {"natural": True},
    }
    reducer.push(event)
    reducer.push({**event, "sequenceNumber": 2, "delta": "", "done": True})
    assert marks(reducer.messages()) == [False]
