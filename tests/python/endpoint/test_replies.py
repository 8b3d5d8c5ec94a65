"""Replies of `HttpModel`: any response is read in the same way as by the other clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.dialects import (
    DONE,
    KEEP_ALIVE,
    call,
    delta,
    openai_calls,
    openai_chunk,
    openai_text,
    openai_usage,
)
from servers.http_models import ask, failed, in_one, model
from servers.model_answers import Read, read
from servers.raw import Script, raw_server
from servers.scripts import answer, document, events, raw
from toolweave import (
    FinishUpdate,
    FunctionContract,
    ReasoningDelta,
    TextDelta,
    ToolCallUpdate,
    Update,
    UsageUpdate,
)
from toolweave._core import ChunkReader

ADD = FunctionContract("Add", "Adds.", {"type": "object"})


def updates(*scripts: Script, **options: Any) -> list[Update]:
    came, _ = ask(*scripts, **options)
    assert came.error is None
    return in_one(came.updates)


def streamed(*steps: bytes, **options: Any) -> list[Update]:
    return updates(events(*steps), **options)


def test_text_is_followed_by_usage_and_the_end() -> None:
    pieces = ["Hel", "lo ", "wörld 🌍", "\n", '\u2028 \0 \\ "']
    assert streamed(*openai_text(pieces)) == [
        TextDelta("".join(pieces)),
        UsageUpdate(7, 5, 2),
        FinishUpdate("stop"),
    ]


def test_native_calls_arrive_in_fragments_with_ids_and_indices() -> None:
    steps = openai_calls([("c1", "Add", ['{"a"', ": 1}"]), ("c2", "Sub", ["{}"])])
    assert streamed(*steps, asked={"tools": [ADD]}) == [
        ToolCallUpdate("c1", 0, "Add", None),
        ToolCallUpdate("c1", 0, None, '{"a": 1}'),
        ToolCallUpdate("c2", 1, "Sub", None),
        ToolCallUpdate("c2", 1, None, "{}"),
        UsageUpdate(7, 5, 2),
        FinishUpdate("tool_calls"),
    ]


def test_arguments_may_be_an_object_instead_of_text() -> None:
    steps = [delta(tool_calls=[call(0, id="c1", name="Add", arguments={"a": [1, "é"]})])]  # type: ignore[arg-type]
    name, *_, finish = streamed(*steps, delta("stop"), DONE)
    assert isinstance(name, ToolCallUpdate)
    assert (name.function_name, json.loads(name.function_args or "")) == ("Add", {"a": [1, "é"]})
    assert finish == FinishUpdate("tool_calls")


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"reasoning_content": "Hm.", "reasoning": "Hm."},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
    ],
)
def test_reasoning_is_read_from_all_field_names(fields: dict[str, Any]) -> None:
    came = streamed(delta(**fields), delta(content="So."), delta("stop"), DONE)
    assert came == [ReasoningDelta("Hm."), TextDelta("So."), FinishUpdate("stop")]


def test_a_refusal_and_text_in_parts_are_text() -> None:
    parts = [{"type": "text", "text": "I "}, {"type": "text", "text": "cannot"}]
    assert streamed(delta(content=parts), delta(refusal=" do that."), delta("stop"), DONE) == [
        TextDelta("I cannot do that."),
        FinishUpdate("stop"),
    ]


def test_empty_chunks_and_further_choices_are_skipped() -> None:
    other = {"index": 1, "delta": {"content": "Other."}, "finish_reason": "length"}
    came = streamed(
        KEEP_ALIVE,
        openai_chunk(prompt_filter_results=[]),
        openai_chunk({"index": 0, "delta": None, "finish_reason": None}),
        delta(role="assistant", content=None),
        openai_chunk({"delta": {"content": "One"}}, other),
        KEEP_ALIVE,
        openai_chunk(other, {"index": 0, "delta": {"content": "."}, "finish_reason": ""}),
        openai_chunk(usage=None),
        delta("stop"),
        openai_chunk(other),
        openai_usage(0, 0),
        DONE,
    )
    assert came == [TextDelta("One."), FinishUpdate("stop")]


HELLO = json.dumps({"choices": [{"index": 0, "delta": {"content": "Hé"}}]}, ensure_ascii=False)
STOP = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
INDENTED = json.dumps(json.loads(HELLO), ensure_ascii=False, indent=1)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"data: {HELLO}\n\ndata: {STOP}\n\ndata: [DONE]\n\n", id="plain"),
        pytest.param(f"data:{HELLO}\n\ndata:{STOP}\n\ndata:[DONE]\n\n", id="no space"),
        pytest.param(f"data: {HELLO}\r\n\r\ndata: {STOP}\r\n\r\ndata: [DONE]\r\n\r\n", id="CRLF"),
        pytest.param(f"data: {HELLO}\r\rdata: {STOP}\r\rdata: [DONE]\r\r", id="CR"),
        pytest.param(f"data: {HELLO}\n\r\ndata: {STOP}\r\rdata: [DONE]\n\n", id="mixed"),
        pytest.param(f"\ufeffdata: {HELLO}\n\ndata: {STOP}\n\n", id="BOM, no DONE"),
        pytest.param(f"data: {HELLO}\n\ndata: {STOP}\n", id="no blank line in the end"),
        pytest.param(f"data: {HELLO}\n\ndata: {STOP}", id="no line end in the end"),
        pytest.param(f"data: {HELLO}\n\ndata: {STOP}\n\ndata: [DONE]", id="none after DONE"),
        pytest.param(
            "".join(f"data: {line}\n" for line in INDENTED.split("\n")) + f"\ndata: {STOP}\n\n",
            id="several lines",
        ),
        pytest.param(
            f": hello\n\nevent: x\nid: 1\nretry: 5\ndata: {HELLO}\nfield\n\n:\n\ndata: {STOP}\n\n",
            id="comments and other fields",
        ),
        pytest.param(f"data\ndata: {HELLO}\n\ndata\n\ndata: \n\ndata: {STOP}\n\n", id="empty data"),
        pytest.param(f"data: {HELLO} \n\n\n\n\ndata:   {STOP}\n\ndata: [DONE] \n\n", id="spaces"),
        pytest.param(
            f"data: {HELLO}\n\ndata: {STOP}\n\ndata: [DONE]\n\ndata: {HELLO}\n\nnonsense",
            id="more after DONE",
        ),
        pytest.param(
            f"data: {HELLO}\n\ndata: {STOP}\n\ndata: [DONE]\n\ndata: {{\n\n", id="faults after DONE"
        ),
    ],
)
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_all_notations_of_events_are_read(body: str, framing: Any) -> None:
    came = updates(events(body.encode(), framing=framing))
    assert came == [TextDelta("Hé"), FinishUpdate("stop")]


def test_a_reply_without_a_reason_is_taken_as_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    for end in ([DONE], []):
        caplog.clear()
        assert streamed(delta(content="Well"), *end) == [TextDelta("Well"), FinishUpdate("missing")]
        assert "reply of m ended without a finish reason; it is taken as cut off" in caplog.messages


def test_an_unknown_finish_reason_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert streamed(delta("abort"), DONE) == [FinishUpdate("missing")]
    [message] = [text for text in caplog.messages if "reply of m" in text]
    assert message == "reply of m ended with the finish reason 'abort'; it is taken as cut off"


@pytest.mark.parametrize(
    ("wrote", "reason"),
    [
        ("STOP", "stop"),
        ("eos", "stop"),
        ("model_length", "length"),
        ("function_call", "tool_calls"),
        ("safety", "content_filter"),
        ("abort", "missing"),
    ],
)
def test_finish_reasons_of_providers_are_mapped(wrote: str, reason: str) -> None:
    assert streamed(delta(content="Well"), delta(wrote), DONE)[-1] == FinishUpdate(reason)


COMPLETION = {
    "id": "r1",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": "Hm.",
                "content": "Sure.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "Add", "arguments": '{"a": 1}'},
                    },
                    {"id": "c2", "type": "function", "function": {"name": "Add", "arguments": ""}},
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {
        "prompt_tokens": 7,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 2},
    },
}


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_a_document_is_read_whether_or_not_a_stream_was_asked_for(
    streaming: bool, framing: Any
) -> None:
    came = updates(
        document(COMPLETION, framing=framing), streaming=streaming, asked={"tools": [ADD]}
    )
    assert came[:2] == [ReasoningDelta("Hm."), TextDelta("Sure.")]
    assert came[-2:] == [UsageUpdate(7, 5, 2), FinishUpdate("tool_calls")]
    made: dict[int | None, list[str]] = {}
    for update in came:
        if isinstance(update, ToolCallUpdate):
            parts = made.setdefault(update.index, ["", "", ""])
            parts[0] = update.tool_call_id or parts[0]
            parts[1] += update.function_name or ""
            parts[2] += update.function_args or ""
    assert made == {0: ["c1", "Add", '{"a": 1}'], 1: ["c2", "Add", ""]}


def test_a_stream_is_read_though_a_document_was_asked_for() -> None:
    assert streamed(*openai_text(["Hi"]), streaming=False)[0] == TextDelta("Hi")


@pytest.mark.parametrize("status", [None, 502])
def test_an_error_within_a_stream_is_an_error_after_what_came(status: int | None) -> None:
    broken: dict[str, Any] = {"message": "The model\nfell over.", "code": status}
    steps = [delta(content="One "), openai_chunk(error=broken), delta(content="two"), DONE]
    came, _ = ask(events(*steps))
    assert came.text == "One "
    failed(came, r"The model fell over\.", status=status)


def test_an_error_may_be_a_text_and_the_only_thing_in_the_stream() -> None:
    came, _ = ask(events(b'data: {"error": "out of memory"}\n\n'))
    failed(came, "out of memory")


texts = st.text('ab"\\<{}é🌍 \n\u2028', max_size=8)
KEYS = [
    *["choices", "index", "delta", "content", "tool_calls", "function", "name", "id", "type"],
    *["arguments", "finish_reason", "usage", "prompt_tokens", "prompt_tokens_details"],
    *["reasoning", "reasoning_content", "refusal", "text", "thinking", "cached_tokens"],
]
json_values = st.recursive(
    st.none() | st.integers(-3, 3) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


def maybe(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | value


fragments = st.fixed_dictionaries(
    {"index": st.sampled_from([None, 0, 0, 1, 1, 2, 7])},
    optional={
        "id": st.sampled_from([None, "", "c1", "c2", "c3"]),
        "type": st.just("function"),
        "function": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from([None, "", "Add", "Sub"]),
                "arguments": maybe(st.sampled_from(["", "{", '{"a": 1}', "}", "é"])),
            },
        ),
    },
)
deltas = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": maybe(texts) | st.lists(st.fixed_dictionaries({"text": texts}), max_size=2),
        "reasoning_content": maybe(texts),
        "reasoning": maybe(texts),
        "refusal": maybe(texts),
        "tool_calls": maybe(st.lists(fragments, max_size=3)),
    },
)
choices = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 0, 0, 1, None]),
        "delta": maybe(deltas),
        "finish_reason": st.sampled_from([None, None, "", "stop", "length", "tool_calls", "odd"]),
    },
)
counts = st.integers(-1, 9)
usages = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": maybe(counts),
        "completion_tokens": counts,
        "prompt_tokens_details": maybe(st.fixed_dictionaries({"cached_tokens": counts})),
        "prompt_cache_hit_tokens": counts,
    },
)
chunks = st.fixed_dictionaries(
    {}, optional={"choices": st.lists(choices, max_size=2), "usage": maybe(usages)}
)


class Shelf:
    """A server whose next answer can be changed, for property tests; created once."""

    def __init__(self) -> None:
        self.body: list[bytes] = []
        self.shape: dict[str, Any] = {}
        self._model = model("http://127.0.0.1")

    def script(self, connection: Any, request: Any) -> None:
        answer(*self.body, **self.shape)(connection, request)

    def ask_at(self, url: str) -> None:
        # With separate connections, which models of the same settings share.
        self._model = model(url, connect_timeout=9.5)

    def read(self, body: Iterable[bytes], **shape: Any) -> Read:
        self.body, self.shape = [*body], shape

        return asyncio.run(read(self._model))


@pytest.fixture(scope="module")
def shelf() -> Iterator[Shelf]:
    one = Shelf()
    with raw_server(one.script) as server:
        one.ask_at(server.url)
        yield one


def expected(values: Iterable[Any]) -> list[Update]:
    reader = ChunkReader()
    return [*(update for value in values for update in reader.push(value)), reader.finish()]


@given(values=st.lists(chunks, max_size=8), ascii=st.booleans())
def test_chunks_are_read_as_in_other_clients(
    shelf: Shelf,
    values: list[Any],
    ascii: bool,  # noqa: A002
) -> None:
    body = [b"data: %b\n\n" % json.dumps(v, ensure_ascii=ascii).encode() for v in values]
    came = shelf.read([*body, DONE])
    assert came.error is None
    assert in_one(came.updates) == in_one(expected(values))


@given(values=st.lists(st.dictionaries(st.sampled_from(KEYS), json_values), max_size=4))
def test_arbitrary_json_is_read_as_in_other_clients(shelf: Shelf, values: list[Any]) -> None:
    came = shelf.read([*(b"data: %b\n\n" % json.dumps(v).encode() for v in values), DONE])
    assert came.error is None
    assert in_one(came.updates) == in_one(expected(values))


@given(
    pieces=st.lists(st.text(max_size=8).filter(bool), max_size=5),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    places=st.lists(st.integers(0, 5000), max_size=30),
    framing=st.sampled_from(["chunked", "length", "close"]),
)
def test_a_reply_is_the_same_however_its_bytes_are_split(
    shelf: Shelf, pieces: list[str], newline: str, places: list[int], framing: str
) -> None:
    values = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    values.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(v, ensure_ascii=False)}{newline}{newline}" for v in values]
    whole = "".join([*lines, f"data: [DONE]{newline}{newline}"]).encode("utf-8", "surrogatepass")
    edges = sorted({0, len(whole), *(place % len(whole) for place in places)})
    came = shelf.read(
        (whole[start:end] for start, end in zip(edges, edges[1:])),  # noqa: B905, RUF007
        framing=framing,
    )
    assert came.error is None
    streamed = [TextDelta("".join(pieces))] if pieces else []
    assert in_one(came.updates) == [*streamed, FinishUpdate("stop")]


def test_a_body_may_come_byte_by_byte_with_its_head_and_its_framing() -> None:
    body = "".join(step.decode() for step in openai_text(["zwölf ", "🌍"])).encode()
    framed = b"%x;ext=1\r\n%b\r\n0\r\nTrailer: x\r\n\r\n" % (len(body), body)
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    whole = head + framed
    came = updates(raw(*(whole[at : at + 1] for at in range(len(whole)))))
    assert came[0] == TextDelta("zwölf 🌍")


def test_http_1_0_is_supported() -> None:
    steps = openai_text(["Hi"])
    assert updates(events(*steps, framing="close", version="HTTP/1.0"))[0] == TextDelta("Hi")


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/octet-stream", "TEXT/EVENT-STREAM"]
)
def test_a_stream_is_read_with_any_content_type(kind: str | None) -> None:
    assert streamed(*openai_text(["Hi"]))[0] == TextDelta("Hi")
    assert updates(events(*openai_text(["Hi"]), kind=kind))[0] == TextDelta("Hi")


def test_many_small_chunks_come_all_in_order() -> None:
    pieces = [f"{number} " for number in range(5000)]
    came, _ = ask(events(b"".join(openai_text(pieces)), framing="length"))
    assert came.error is None
    assert came.text == "".join(pieces)
