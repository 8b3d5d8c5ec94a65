"""Literal and random replies for the parser, and properties of their events."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

import toolweave as tw

OBJECT = {"type": "object"}
INTEGER = {"type": "integer"}
STRING = {"type": "string"}

TOOLS: list[Any] = [
    {
        "name": "GetWeather",
        "parameters": {
            "type": "object",
            "properties": {"city": STRING, "unit": {"enum": ["celsius", "fahrenheit"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
    {
        "name": "Add",
        "parameters": {
            "type": "object",
            "properties": {"a": INTEGER, "b": INTEGER},
            "required": ["a", "b"],
        },
    },
    {
        "name": "WriteFile",
        "parameters": {
            "type": "object",
            "properties": {"path": STRING, "content": STRING},
            "required": ["path", "content"],
        },
    },
    {"name": "Ping", "parameters": {"type": "object", "properties": {}}},
    {"name": "math.factorial", "parameters": {"type": "object", "properties": {"n": INTEGER}}},
    "Any",
    "Émoji",
    "summary",
]
NAMES = [tool if isinstance(tool, str) else tool["name"] for tool in TOOLS]
MARKERS = [*NAMES, "tool_call", "tool_response", "think", "thinking"]

# Both markups of a call.
FORMS = {
    "tag": ("<{}>", "</{}>"),
    "attribute": ('<tool_call name="{}">', "</tool_call>"),
}
# Frames around a payload.
FRAMES = {
    "bare": ("", ""),
    "lines": ("\n", "\n"),
    "fenced": ("\n```json\n", "\n```\n"),
    "inline fence": ("```", "```"),
    "crlf": ("\r\n```json\r\n", "\r\n```\r\n"),
}

FIELD = {
    tw.TextDelta: "text",
    tw.ReasoningDelta: "text",
    tw.ToolCall: "raw",
    tw.InvalidToolCall: "raw",
    tw.Discarded: "raw",
    tw.FabricatedResult: "raw",
}


def source(events: Iterable[tw.Event]) -> str:
    """Return the part of the reply that events account for."""
    return "".join(getattr(e, FIELD[type(e)]) for e in events if type(e) in FIELD)


def _whole(event: tw.Event) -> tuple[Any, ...] | None:
    """Return a key that fragments of one event share; None for a complete event."""
    match event:
        case tw.TextDelta() | tw.ReasoningDelta():
            return (type(event),)
        case tw.ToolCallDelta(index):
            return (tw.ToolCallDelta, index)
        case tw.Discarded(_, "too_large"):
            return (tw.Discarded,)
    return None


def joined(events: Iterable[tw.Event]) -> list[tw.Event]:
    """Merge adjacent deltas, and adjacent leftovers of oversized input."""
    done: list[tw.Event] = []
    for whole, group in itertools.groupby(events, _whole):
        match whole:
            case None:
                done += group
            case (tw.ToolCallDelta, index):
                done.append(tw.ToolCallDelta(index, "".join(e.fragment for e in group)))
            case (tw.Discarded,):
                done.append(tw.Discarded("".join(e.raw for e in group), "too_large"))
            case (kind,):
                done.append(kind("".join(e.text for e in group)))
    return done


@functools.cache
def shared_parser(**options: Any) -> tw.Parser:
    """Return a cached parser for `TOOLS`; `finish` resets it between replies."""
    return tw.Parser(TOOLS, **options)


def feed(chunks: Iterable[str], *, truncated: bool = False, **options: Any) -> list[tw.Event]:
    """Return the events of a parser for a reply that arrives in chunks."""
    own = options.pop("tools", TOOLS)
    parser = tw.Parser(own, **options) if own is not TOOLS else shared_parser(**options)
    events = [event for chunk in chunks for event in parser.push(chunk)]
    return [*events, *parser.finish(truncated=truncated)]


def completed_events(events: Iterable[tw.Event]) -> list[tw.Event]:
    """Return the events without those of incomplete calls."""
    return joined(e for e in events if not isinstance(e, tw.ToolCallStart | tw.ToolCallDelta))


def read(reply: str, **options: Any) -> list[tw.Event]:
    """Return the events of a reply, and check that they cover it and do not depend on chunks."""
    events = feed([reply], **options)
    assert source(events) == reply
    for size in (1, 4):
        assert joined(feed(pieces(reply, size), **options)) == joined(events)
    return completed_events(events)


def pieces(reply: str, size: int) -> list[str]:
    """Return the reply in chunks of `size` characters."""
    return [reply[at : at + size] for at in range(0, len(reply), size)]


def split_at(reply: str, cuts: Sequence[int]) -> list[str]:
    """Return the reply cut at these positions."""
    ends = [*sorted(cut % (len(reply) + 1) for cut in cuts), len(reply)]
    return [reply[a:b] for a, b in zip([0, *ends], ends)]  # noqa: B905 (one longer)


def is_inside_escape(payload: str) -> set[int]:
    """Return the positions in JSON text at which a cut splits an escape or a surrogate pair."""
    pair = r"\\u[dD][89abAB]..\\u[dD][c-fC-F].."
    spans = re.finditer(rf"{pair}|\\u....|\\.", payload, re.DOTALL)
    return {at for span in spans for at in range(span.start() + 1, span.end())}


def wrap(form: str, name: str, payload: str, frame: str = "bare") -> str:
    """Return a complete call."""
    begin, end = FORMS[form]
    before, after = FRAMES[frame]
    return begin.format(name) + before + payload + after + end.format(name)


def only(reply: str, **options: Any) -> tw.ToolCall | tw.InvalidToolCall:
    """Return the only call of the reply."""
    (event,) = read(reply, **options)
    assert isinstance(event, tw.ToolCall | tw.InvalidToolCall)
    return event


def arguments(reply: str, **options: Any) -> dict[str, Any]:
    """Return the arguments of the only call of the reply."""
    call = only(reply, **options)
    assert isinstance(call, tw.ToolCall), call
    return call.arguments


def repairs(call: tw.Event) -> list[str]:
    """Return the kinds of the repairs of a valid call."""
    assert isinstance(call, tw.ToolCall), call
    return [repair.kind for repair in call.repairs]


def kinds(events: list[tw.Event]) -> list[str]:
    """Summarize events: text as it is, calls by name, the rest by class or kind."""
    short = []
    for event in events:
        match event:
            case tw.TextDelta(text):
                short.append(repr(text))
            case tw.ToolCall():
                short.append(event.name)
            case tw.InvalidToolCall():
                short.append(event.kind)
            case tw.Discarded(_, reason):
                short.append(reason)
            case _:
                short.append(type(event).__name__)
    return short


# Malformed replies.

PIECES = [
    *("<GetWeather>", "</GetWeather>", "<Add>", "</Add>", "<Any>", "</Any>", "<Émoji>"),
    *("</Émoji>", "<Any/>", "<Any >", "< Any>", "<Unknown>", "<any>", "<Any x='1'>"),
    *('<tool_call name="Any">', "<tool_call name='any'>", "<tool_call name=Ping id=1>"),
    *('<tool_call name="nope">', '<tool_call name="Any"/>', "<tool_call>", "</tool_call>"),
    *("</tool_call >", '<tool_response name="Any">', "</tool_response>", "<tool_response/>"),
    *("<think>", "</think>", "<thinking>", "</thinking>", "<think/>", "<math.factorial>"),
    *("<summary>", "</summary>", "<summary/>", "\n<Any>x</Any>", "{label}", "{a: ", "```jsx\n"),
    *('{"a": 1}, {"a": 2}', '{"city": "Oslo", "unit": null}'),
    *("<", "</", ">", "/>", "<A", "dd>", "<tool_", "call", "name=", '<tool_call name="a>b">'),
    *("{}", "{", "}", '{"city": "Oslo"}', '{"a": 1, "b": 2}', '{"a": [1, -0.0, 1e5, null]}'),
    *('{"a": "', '"}', '"', "'", ":", ",", "[", "]", "{'a': 'b'}", '{"a": 1,}', '{"a": "x\ny"}'),
    *('{"a": "</Any>"}', '{"a": "</tool_call>\n"}', '{"a": "\n</Any>\n', '{"</Any>": 1}'),
    *("\\", "\\\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\u12", "\\x", "\\</Any>"),
    *("```", "```json", "```json\n", "\n```\n", "````", "``", "`", "~~~", "~~~\n", "~"),
    *("\n", "\r\n", " ", "    ", "\t", "\x00", "text", "a < b", "é", "😀", "\u2028", "nul"),
    *("true", "None", "12", "-", "// c\n", "# c\n", "/* c */", "---", "NaN", "1e400", "&lt;"),
]


def hostile(most: int = 24) -> st.SearchStrategy[str]:
    """Return a strategy for replies made of fragments in any order."""
    return st.lists(st.sampled_from(PIECES), max_size=most).map("".join)


@st.composite
def plausible(draw: st.DrawFn) -> str:
    """Draw mostly valid replies: calls with anomalies in and between them."""
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        begin, end = FORMS[draw(st.sampled_from(sorted(FORMS)))]
        name = draw(st.sampled_from([*NAMES, "nope", "any"]))
        before, after = FRAMES[draw(st.sampled_from(sorted(FRAMES)))]
        odd = draw(hostile(5))
        body = draw(st.sampled_from(["{}", '{"a": 1, "b": 2}', odd, f'{{"a": "{odd}"}}', odd]))
        close = draw(st.sampled_from([after + end, after + end, after, end, ""]))
        parts += [begin.format(name), before, body, close.format(name), draw(hostile(2))]
    return "".join(parts)


replies = hostile() | plausible() | st.text("<>/`~{}[]\"\\nAy _=':, \n\ré&", max_size=60)
limits = st.builds(
    tw.Limits,
    max_depth=st.sampled_from([1, 2, 128]),
    max_argument_bytes=st.sampled_from([0, 8, 30, 1 << 20]),
    max_repair_bytes=st.sampled_from([0, 10, 1 << 20]),
    max_tag_bytes=st.sampled_from([16, 40, 512]),
    max_calls=st.sampled_from([0, 1, 2, 1000]),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "repair": st.sampled_from(["none", "syntax", "schema"]),
        "deltas": st.booleans(),
        "in_code": st.sampled_from(["text", "call"]),
        "reasoning_tags": st.sampled_from([(), ("think",), ("a.b", "think")]),
        "limits": limits,
        "truncated": st.booleans(),
    },
)

# Well-formed replies.

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
strings = texts | st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=8,
)
objects = st.dictionaries(strings, values, max_size=4)
prose = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<`~"), max_size=20)
styles = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"indent": "\t", "ensure_ascii": False},
        {"separators": (",", ":")},
        {"ensure_ascii": False, "separators": (" , ", " : ")},
    ]
)


@st.composite
def clean(draw: st.DrawFn) -> tuple[str, list[tuple[str, dict[str, Any], str]]]:
    """Draw a well-formed reply, with the name, the arguments and the JSON of each call."""
    reply, calls = draw(prose), []
    for _ in range(draw(st.integers(1, 4))):
        begin, end = FORMS[draw(st.sampled_from(sorted(FORMS)))]
        before, after = FRAMES[draw(st.sampled_from(sorted(FRAMES)))]
        name = draw(st.sampled_from(["Any", "Émoji"]))
        arguments = draw(objects)
        payload = json.dumps(arguments, **draw(styles))
        reply += begin.format(name) + before + payload + after + end.format(name) + draw(prose)
        calls.append((name, arguments, payload))
    return reply, calls


def canonical_json(value: Any) -> str:
    """Return JSON in which 1 and 1.0, and 0.0 and -0.0, differ."""
    return json.dumps(value, sort_keys=True)


def calls_in(events: Iterable[tw.Event]) -> Iterator[tw.ToolCall]:
    """Return the valid calls."""
    return (event for event in events if isinstance(event, tw.ToolCall))
