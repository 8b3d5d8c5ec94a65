"""Chunks of chat completions as servers send them, read without a server."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.dialects import call
from toolweave import FinishReason, JoinedReply, Joiner, Update
from toolweave._core import ChunkReader
from toolweave.exceptions import ModelError
from toolweave.models._streaming import read_reply


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


async def streamed(chunks: Iterable[object]) -> AsyncIterator[object]:
    for one in chunks:
        yield one


def as_it_is(error: Exception) -> ModelError:
    assert isinstance(error, ModelError)
    return error


def updates(chunks: Iterable[object]) -> list[Update]:
    async def read() -> list[Update]:
        return [
            update async for update in read_reply(streamed(chunks), ChunkReader(), "m", as_it_is)
        ]

    return asyncio.run(read())


def joined(chunks: Iterable[object]) -> JoinedReply:
    joiner = Joiner()
    for update in updates(chunks):
        joiner.push(update)
    return joiner.finish()


def calls(*fragments: dict[str, Any], finish: str = "tool_calls") -> list[tuple[str, str, Any]]:
    """Return id, name and arguments of each call, with one chunk for each fragment."""
    reply = joined([*(chunk(tool_calls=[fragment]) for fragment in fragments), chunk(finish)])
    assert reply.problems == ()
    made = [one for message in reply.messages for one in getattr(message, "tool_calls", ())]
    return [(one.id, one.name, one.arguments) for one in made]


def fragment(
    index: int | None, identity: str | None, name: str | None, arguments: Any = None
) -> Any:
    return call(index, id=identity, name=name, arguments=arguments)


AB = [("c1", "A", {"a": 1}), ("c2", "B", {"b": 2})]


@pytest.mark.parametrize(
    "fragments",
    [
        pytest.param(
            [
                fragment(0, "c1", "A", ""),
                fragment(0, None, None, '{"a":'),
                fragment(0, None, None, " 1}"),
                fragment(1, "c2", "B", ""),
                fragment(1, None, None, '{"b": 2}'),
            ],
            id="ids on the first fragment only",
        ),
        pytest.param(
            [
                fragment(0, "c1", "A", '{"a"'),
                fragment(1, "c2", "B", '{"b"'),
                fragment(0, None, None, ": 1}"),
                fragment(1, None, None, ": 2}"),
            ],
            id="two at a time",
        ),
        pytest.param(
            [fragment(None, "c1", "A", '{"a": 1}'), fragment(None, "c2", "B", '{"b": 2}')],
            id="no index, whole calls",
        ),
        pytest.param(
            [
                fragment(None, "c1", "A"),
                fragment(None, None, None, '{"a"'),
                fragment(None, None, None, ": 1}"),
                fragment(None, "c2", "B", '{"b"'),
                fragment(None, "c2", None, ": 2}"),
            ],
            id="no index, fragments",
        ),
        pytest.param(
            [fragment(0, "c1", "A", '{"a": 1}'), fragment(0, "c2", "B", '{"b": 2}')],
            id="the same index for each call",
        ),
        pytest.param(
            [
                fragment(0, "c1", "A", '{"a"'),
                fragment(0, "c1", "A", ": 1}"),
                fragment(1, "c2", "B", '{"b"'),
                fragment(1, "c2", "B", ": 2}"),
            ],
            id="ids and names with every fragment",
        ),
        pytest.param(
            [
                fragment(0, "c1", "A", '{"a"'),
                fragment(0, "other", None, ": 1}"),
                fragment(1, "c2", "B", '{"b": 2}'),
            ],
            id="a new id with every fragment",
        ),
        pytest.param(
            [fragment(0, "c1", "A", {"a": 1}), fragment(1, "c2", "B", {"b": 2})],
            id="arguments as objects",
        ),
        pytest.param(
            [
                fragment(0, None, "A"),
                fragment(0, "c1", None, '{"a": 1}'),
                fragment(5, "", "B", '{"b": 2}'),
                fragment(5, "c2", None, ""),
            ],
            id="late ids, gaps between indexes",
        ),
    ],
)
def test_the_fragments_of_every_server_give_the_same_calls(fragments: list[Any]) -> None:
    assert calls(*fragments) == AB


def test_arguments_given_as_objects_keep_all_digits() -> None:
    arguments = {"big": 10**400, "negative": -(10**25), "float": 1e300, "items": [2**64, None]}
    made = calls(fragment(0, "c1", "A", arguments))
    assert made[0][2] == arguments


def test_calls_without_ids_are_distinguished_by_index_or_name() -> None:
    expected = [
        (f"call_{number}", name, arguments) for number, (_, name, arguments) in enumerate(AB)
    ]
    for indexes in ((0, 1), (0, 0), (None, None)):
        made = calls(
            fragment(indexes[0], None, "A", '{"a"'),
            fragment(indexes[0], None, None, ": 1}"),
            fragment(indexes[1], None, "B", '{"b": 2}'),
        )
        assert made == expected


def test_an_id_that_repeats_is_made_unique() -> None:
    made = calls(
        fragment(0, "c", "A", '{"a": 1}'),
        fragment(1, "c", "B", '{"b"'),
        fragment(1, None, None, ": 2}"),
        fragment(1, "c", "B", ""),
    )
    assert made == [("c", "A", {"a": 1}), ("c#2", "B", {"b": 2})]


def test_a_name_in_pieces_is_put_together() -> None:
    pieces = [fragment(0, "c", "Get"), fragment(0, "c", "Weather"), fragment(0, None, None, "{}")]
    assert calls(*pieces) == [("c", "GetWeather", {})]


def test_a_fragment_that_says_nothing_new_gives_no_update() -> None:
    assert len(updates([chunk(tool_calls=[fragment(0, "c", "A", "")])] * 3)) == 2


texts = st.text('ab"\\{}é🌍 \n', max_size=12)


def cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(edges)]


@given(
    texts,
    texts,
    st.lists(st.dictionaries(texts, texts, max_size=2), max_size=3),
    st.lists(st.integers(0, 100), max_size=6),
)
def test_however_a_reply_is_cut_into_chunks_it_says_the_same(
    thought: str, text: str, arguments: list[dict[str, str]], places: list[int]
) -> None:
    def chunks(places: list[int]) -> Iterable[object]:
        yield from (chunk(reasoning_content=piece) for piece in cut(thought, places))
        yield from (chunk(content=piece) for piece in cut(text, places))
        for index, value in enumerate(arguments):
            yield chunk(tool_calls=[fragment(index, f"c{index}", "A")])
            for piece in cut(json.dumps(value), places):
                yield chunk(tool_calls=[fragment(index, None, None, piece)])
        yield chunk("stop")

    reply = joined(chunks(places))
    assert reply == joined(chunks([]))
    by_kind = {type(message).__name__: message for message in reply.messages}
    assert getattr(by_kind.get("ReasoningMessage"), "text", "") == thought
    assert getattr(by_kind.get("TextMessage"), "text", "") == text
    made = getattr(by_kind.get("ToolCallMessage"), "tool_calls", ())
    assert [one.arguments for one in made] == arguments


KEYS = [
    "choices",
    "index",
    "delta",
    "content",
    "tool_calls",
    "function",
    "name",
    "id",
    "type",
    "arguments",
    "finish_reason",
    "usage",
    "prompt_tokens",
    "prompt_tokens_details",
    "reasoning",
    "text",
    "thinking",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_whatever_a_server_sends_the_reader_ends_with_one_reason(chunks: list[Any]) -> None:
    *others, last = updates(chunks)
    assert isinstance(last.reason, FinishReason)
    assert not any(hasattr(update, "reason") for update in others)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("abort", "missing"),
        ("error", "missing"),
        (None, "missing"),
    ],
)
def test_finish_reasons_of_providers_are_mapped(
    sent: str | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert joined([chunk(content="Well"), chunk(sent)]).finish_reason == reason
    assert ("it is taken as cut off" in caplog.text) is (reason == "missing")


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 5}, (7, 5, 0)),
        ({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}, (7, 0, 3)),
        ({"prompt_tokens": 7, "prompt_tokens_details": None}, (7, 0, 0)),
        ({"prompt_tokens": 7, "prompt_cache_hit_tokens": 4}, (7, 0, 4)),
        ({"prompt_tokens": None, "completion_tokens": -1}, None),
        (None, None),
    ],
)
def test_usage_is_read_in_each_of_its_forms(usage: Any, counts: Any) -> None:
    *found, _ = updates([{"choices": [], "usage": usage}] * 2)
    given = [(one.input_tokens, one.output_tokens, one.cached_input_tokens) for one in found]
    assert given == ([counts] if counts else [])


@pytest.mark.parametrize("finished", [True, False])
def test_a_connection_that_breaks_after_the_end_breaks_nothing(finished: bool) -> None:
    broken = ModelError("the connection broke", "acme")

    async def chunks() -> AsyncIterator[object]:
        yield chunk("stop" if finished else None, content="All.")
        raise broken

    async def read() -> list[Update]:
        return [update async for update in read_reply(chunks(), ChunkReader(), "m", as_it_is)]

    if finished:
        assert len(asyncio.run(read())) == 2
    else:
        with pytest.raises(ModelError) as raised:
            asyncio.run(read())
        assert raised.value is broken
