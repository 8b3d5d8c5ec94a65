"""Inputs that break other streaming parsers, in the natural dialect.

`[Name]` and `[/Name]` stand for the opening and the closing tag, so that each input exists
in both forms. An outcome is a text, a call with its arguments, or the kind of another event.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import toolweave as tw
from parser_replies import FORMS, canonical_json, completed_events, feed, joined, pieces, source

Call = tuple[str, dict[str, Any]]

BIG = "0123456789" * 1200
TRAPS: dict[str, tuple[str, list[str | Call | type]]] = {
    "T01 closing tag in a string": (
        '[WriteFile]\n{"path": "a", "content": "ends with [/WriteFile] here"}\n[/WriteFile]',
        [("WriteFile", {"path": "a", "content": "ends with [/WriteFile] here"})],
    ),
    "T01 code fence in a string": (
        '[WriteFile]\n```json\n{"path": "a", "content": "```py\\nx\\n```\\n"}\n```\n[/WriteFile]',
        [("WriteFile", {"path": "a", "content": "```py\nx\n```\n"})],
    ),
    "T02 several calls and texts": (
        'A [Any]{"n": 1}[/Any] B [Ping]{}[/Ping] C',
        ["A ", ("Any", {"n": 1}), " B ", ("Ping", {}), " C"],
    ),
    "T03 a tag in the chunk of a text": (
        "hi [Ping]{}[/Ping]",
        ["hi ", ("Ping", {})],
    ),
    "T03 half a tag, then an angle, then a tag": (
        "a <Pin b <[Ping]{}[/Ping]",
        ["a <Pin b <", ("Ping", {})],
    ),
    "T04 the end in half a tag": (
        "The answer is x <tool_ca",
        ["The answer is x <tool_ca"],
    ),
    "T05 a tag named in prose, then a call": (
        'Use [Any] like so: [Any]{"a": 1}[/Any]',
        ["Use [Any] like so: ", ("Any", {"a": 1})],
    ),
    "T06 a tag named in code, then a call": (
        'Use `[Any]` like so: [Any]{"a": 1}[/Any] ok',
        ["Use `[Any]` like so: ", ("Any", {"a": 1}), " ok"],
    ),
    "T07 a raw newline in a string": (
        '[Any]{"a": "one\ntwo"}[/Any]!',
        [("Any", {"a": "one\ntwo"}), "!"],
    ),
    "T08 a trailing comma": (
        '[Any]{"a": [1, 2,],}[/Any]!',
        [("Any", {"a": [1, 2]}), "!"],
    ),
    "T09 the last brace is missing": (
        '[Any]{"a": {"b": 1}[/Any]!',
        [("Any", {"a": {"b": 1}}), "!"],
    ),
    "T10 an unknown tool": (
        '<tool_call name="nope">{"a": 1}</tool_call> and [Ping]{}[/Ping]',
        ["unknown_tool", " and ", ("Ping", {})],
    ),
    "T11 a surrogate pair": (
        r'[Any]{"a": "a\ud83d\ude00b"}[/Any]',
        [("Any", {"a": "a😀b"})],
    ),
    "T12 numbers": (
        '[Any]{"a": [9007199254740993, 1.0, 1e5, -0.0]}[/Any]',
        [("Any", {"a": [9007199254740993, 1.0, 1e5, -0.0]})],
    ),
    "T13 no arguments": (
        "[Ping][/Ping]\n[Ping]\n[/Ping]",
        [("Ping", {}), "\n", ("Ping", {})],
    ),
    "T14 attributes in any order": (
        '<tool_call id="1" name="Any" x=2>{"a": 1}</tool_call>',
        [("Any", {"a": 1})],
    ),
    "T15 cut off in a string": (
        'Ok [WriteFile]\n{"path": "a", "content": "abc',
        ["Ok ", "unclosed"],
    ),
    "T16 a bad call, then a good one": (
        '[Any]{"a": oops}[/Any]\n[Any]{"a": 1}[/Any]',
        ["invalid_json", "\n", ("Any", {"a": 1})],
    ),
    "T17 no closing tag, then another call": (
        '[Any]{"a": 1}\n[Ping]{}\nDone.',
        [("Any", {"a": 1}), "\n", ("Ping", {}), "\nDone."],
    ),
    "T18 ten thousand characters in one argument": (
        f'[WriteFile]{{"path": "a", "content": "{BIG}"}}[/WriteFile]',
        [("WriteFile", {"path": "a", "content": BIG})],
    ),
    "T19 no line breaks": (
        'x[Any]{"a": 1}[/Any]y[Any]```{"a": 2}```[/Any]z',
        ["x", ("Any", {"a": 1}), "y", ("Any", {"a": 2}), "z"],
    ),
    "T20 CRLF": (
        'x\r\n[Any]\r\n```json\r\n{"a": 1}\r\n```\r\n[/Any]\r\ny',
        ["x\r\n", ("Any", {"a": 1}), "\r\ny"],
    ),
    "a result made up after a call": (
        '[Any]{"a": 1}[/Any]\n<tool_response name="Any">\n[Ping]{}[/Ping]</tool_response>',
        [("Any", {"a": 1}), "\n", tw.FabricatedResult],
    ),
    "a tool with letters of another alphabet": (
        '[Émoji]{"ключ": "値"}[/Émoji]',
        [("Émoji", {"ключ": "値"})],
    ),
    "a number too big to hold": (
        '[Any]{"a": 1e999}[/Any]',
        ["invalid_json"],
    ),
    "an empty name": (
        '<tool_call name="">{}</tool_call>[Ping]{}[/Ping]',
        ['<tool_call name="">{}</tool_call>', ("Ping", {})],
    ),
    "too few and too many arguments": (
        '[Add]{"a": 1}[/Add][GetWeather]{"city": "Oslo", "when": "now"}[/GetWeather]',
        ["schema_violation", "schema_violation"],
    ),
}


def set_in(form: str, text: str) -> str:
    """Return the text with its tags in one form."""
    begin, end = FORMS[form]
    text = re.sub(r"\[/([^\W\d]\w*)\]", lambda tag: end.format(tag[1]), text)
    return re.sub(r"\[([^\W\d]\w*)\]", lambda tag: begin.format(tag[1]), text)


def outcome(event: tw.Event) -> object:
    """Return an event in the format of the table."""
    match event:
        case tw.TextDelta(text):
            return text
        case tw.ToolCall():
            return (event.name, canonical_json(event.arguments))
        case tw.InvalidToolCall():
            return event.kind
        case _:
            return type(event)


@pytest.mark.parametrize("size", [1, 4, 1 << 20], ids=["1-char", "4-char", "one-shot"])
@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("trap", sorted(TRAPS))
def test_known_traps(trap: str, form: str, size: int) -> None:
    reply, wanted = TRAPS[trap]
    reply = set_in(form, reply)
    events = feed(pieces(reply, size))
    assert source(events) == reply
    expected: list[object] = []
    for want in wanted:
        match want:
            case str():
                expected.append(set_in(form, want))
            case (name, arguments):
                expected.append((name, set_in(form, canonical_json(arguments))))
            case _:
                expected.append(want)
    assert [outcome(event) for event in joined(completed_events(events))] == expected
