"""Calls and other text, in both tag forms, whole and in chunks of 1 and 4 characters."""

from __future__ import annotations

import pytest

import toolweave as tw
from parser_replies import (
    FORMS,
    NAMES,
    TOOLS,
    arguments,
    feed,
    joined,
    kinds,
    only,
    read,
    repairs,
    wrap,
)

FORM = pytest.mark.parametrize("form", sorted(FORMS))


# Tags.


@FORM
def test_prose_that_mentions_a_tag_is_prose(form: str) -> None:
    begin, end = FORMS[form]
    for reply in (
        f"Use {begin} to ask.",
        f"The tag is {begin}, closed by {end}.",
        f"{begin}",
        f"{begin}\n\n",
        f"({begin}) and so on.",
    ):
        text = reply.format("Any", "Any")
        if form == "attribute" and end in reply:
            # A name in an attribute with the matching closing tag is an attempt at a call.
            assert "invalid_json" in kinds(read(text))
        else:
            assert read(text) == [tw.TextDelta(text)]
    text = f"Use {begin.format('Any')} like so: " + wrap(form, "Any", '{"a": 1}')
    assert kinds(read(text)) == [repr(f"Use {begin.format('Any')} like so: "), "Any"]


@FORM
def test_a_false_start_does_not_hide_the_real_one(form: str) -> None:
    call = wrap(form, "Any", '{"a": 1}')
    for start in (call[:3], call[: call.index(">")], call[: call.index(">") + 1] + " ", "<", "<<"):
        assert kinds(read(f"{start}{call}!")) == [repr(start), "Any", "'!'"]


@FORM
def test_a_tag_cut_anywhere_is_still_a_tag(form: str) -> None:
    reply = "a" + wrap(form, "Any", '{"a": "é"}', "fenced") + "b"
    whole = list(tw.parse(reply, TOOLS))
    for one in range(len(reply)):
        for two in range(one, len(reply)):
            chunks = [reply[:one], reply[one:two], reply[two:]]
            assert joined(feed(chunks)) == whole, chunks


@FORM
def test_two_calls_and_three_texts_in_one_chunk_come_in_order(form: str) -> None:
    one, two = wrap(form, "Any", '{"a": 1}'), wrap(form, "Ping", "{}")
    events = read(f"A {one} B {two} C")
    assert kinds(events) == ["'A '", "Any", "' B '", "Ping", "' C'"]
    assert [(e.index, e.id) for e in events if isinstance(e, tw.ToolCall)] == [
        (0, "call_0"),
        (1, "call_1"),
    ]


@FORM
@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ('{"a": }', "invalid_json"),
        ('{"a": oops}', "invalid_json"),
        ('{{"a": 1}}', "invalid_json"),
        ('{"a": "x", "b": 1}', "schema_violation"),
        ('{"a": 1}', "schema_violation"),
        ("", "schema_violation"),
        ("\n", "schema_violation"),
    ],
)
def test_an_invalid_call_does_not_affect_the_next(form: str, bad: str, kind: str) -> None:
    good = wrap(form, "Add", '{"a": 1, "b": 2}')
    assert kinds(read(wrap(form, "Add", bad) + good + ".")) == [kind, "Add", "'.'"]
    assert kinds(read(wrap(form, "Add", bad, "fenced") + " " + good)) == [kind, "' '", "Add"]


@pytest.mark.parametrize(
    "good",
    [
        '<Ping>{"x": 1}</Ping>',
        "<Ping/>",
        "<tool_call name='Ping'/>",
        "<tool_call name=Ping>{}</tool_call>",
        '<tool_call name="Ping">{}</tool_call>',
    ],
)
@FORM
def test_an_unclosed_string_does_not_swallow_the_next_call(form: str, good: str) -> None:
    bad = wrap(form, "Any", '{"a": "b')
    assert kinds(read(f"{bad} then {good} end")) == ["Any", "' then '", "Ping", "' end'"]


@FORM
def test_an_empty_body_means_no_arguments(form: str) -> None:
    for name in ("Ping", "Any", "math.factorial"):
        for body in ("", " ", "\n", "\r\n\r\n", "```json\n```", "\n```\n\n```\n", "{}"):
            call = only(wrap(form, name, body))
            assert (call.name, call.arguments, call.repairs) == (name, {}, ())
        begin = FORMS[form][0].format(name)
        assert arguments(begin[:-1] + "/>") == {}
    violations = only(wrap(form, "Add", "")).violations
    assert [violation.keyword for violation in violations] == ["required", "required"]


@FORM
def test_a_complete_payload_without_its_closing_tag_is_a_call(form: str) -> None:
    begin, end = (part.format("Any") for part in FORMS[form])
    for tail, rest in {
        "": [],
        "\n": ["'\\n'"],
        " and so on": ["' and so on'"],
        "\n\n<Ping/>": ["'\\n\\n'", "Ping"],
        "</Other>": ["'</Other>'"],
        f" more {end} x": ["' more '", "orphan_close", "' x'"],
        f"}}{end}": ["'}'", "orphan_close"],
    }.items():
        events = read(f'{begin}{{"a": 1}}{tail}')
        assert kinds(events) == ["Any", *rest]
        assert repairs(events[0]) == ["implicit_close"]
    fenced = read(f'{begin}\n```json\n{{"a": 1}}\n```\nDone.')
    assert kinds(fenced) == ["Any", "'\\nDone.'"]
    assert fenced[0].raw.endswith("\n```")


@FORM
def test_a_truncated_reply_completes_no_call(form: str) -> None:
    reply = wrap(form, "Any", '{"a": "b\\n", "c": [1, 2]}', "fenced")
    begin = FORMS[form][0].format("Any")
    for end in range(len(reply)):
        events = tw.parse(reply[:end], TOOLS, truncated=True)
        assert not [e for e in events if isinstance(e, tw.ToolCall)]
        if end <= len(begin):
            assert list(events) == ([tw.TextDelta(reply[:end])] if end else [])
    assert kinds(read(reply, truncated=True)) == ["Any"]


@FORM
@pytest.mark.parametrize("payload", ['{"a": "bc', '{"a": "b\\', '{"a": "\\ud83d', '{"a": 1', "{"])
def test_a_payload_cut_off_by_the_end_is_unclosed_and_kept(form: str, payload: str) -> None:
    reply = FORMS[form][0].format("Any") + payload
    for truncated in (False, True):
        (event,) = read(reply, truncated=truncated)
        assert isinstance(event, tw.InvalidToolCall)
        assert (event.kind, event.raw) == ("unclosed", reply)
        deltas = [e for e in tw.parse(reply, TOOLS) if isinstance(e, tw.ToolCallDelta)]
        assert "".join(e.fragment for e in deltas) == payload


def test_an_unknown_tool_is_text_as_a_tag_and_an_event_as_an_attribute() -> None:
    assert kinds(read('<GetFlights>{"to": "Oslo"}</GetFlights>')) == [
        repr('<GetFlights>{"to": "Oslo"}</GetFlights>')
    ]
    reply = '<tool_call name="GetFlights">{"to": "Oslo"}</tool_call>'
    (event,) = read(reply)
    assert isinstance(event, tw.InvalidToolCall)
    assert (event.kind, event.name, event.raw) == ("unknown_tool", "GetFlights", reply)
    for name in NAMES:
        assert name in event.violations[0].message
    assert kinds(read('<tool_call name="GetFlights"/> ok')) == ["unknown_tool", "' ok'"]
    assert kinds(read("<tool_call name=x>{}", tools=[])) == ["unknown_tool"]


def test_case_matters_in_a_tag_and_not_in_an_attribute() -> None:
    for name in ("ANY", "any", "aNy"):
        text = wrap("tag", name, "{}")
        assert read(text) == [tw.TextDelta(text)]
        call = only(wrap("attribute", name, "{}"))
        assert (call.name, repairs(call)) == ("Any", ["name_case"])
    assert only(wrap("attribute", "Any", "{}")).repairs == ()
    two = ["Get", "GET"]
    assert only(wrap("attribute", "GET", "{}"), tools=two).name == "GET"
    assert kinds([only(wrap("attribute", "get", "{}"), tools=two)]) == ["unknown_tool"]


@pytest.mark.parametrize(
    "tag",
    [
        "<tool_call name='Any'>",
        "<tool_call name=Any>",
        '<tool_call   name = "Any"  >',
        '<tool_call\n\tname="Any"\r\n>',
        '<tool_call id="7" name="Any">',
        '<tool_call name="Any" id=7 x>',
        "<tool_call name='Any' note=\"a > b\">",
        '<tool_call data-name="Ping" name="Any">',
        '<tool_call name=" Any ">',
        '<tool_call name="Any" name="Ping">',
    ],
)
def test_attributes_are_read_leniently(tag: str) -> None:
    call = only(tag + '{"a": 1}</tool_call>')
    assert (call.name, call.arguments, call.repairs) == ("Any", {"a": 1}, ())


@pytest.mark.parametrize(
    "reply",
    [
        *('<Any x="1">{}</Any>', "< Any>{}</Any>", "<tool_call>{}</tool_call>", "</tool_call>"),
        *("<tool_call name=''>{}", "<tool_call nom='Any'>{}", "<TOOL_CALL name='Any'>{}"),
        *("</Any>", "<AnyX/>", "<any/>", "<Any / >", "<Any/ >", "\\<Any\\>{}", "&lt;Any/>"),
    ],
)
def test_other_tags_are_text(reply: str) -> None:
    assert read(reply) == [tw.TextDelta(reply)]


@pytest.mark.parametrize("body", ["[1]", "null", '"x"', "x", ">{}", "<a>x</a>"])
def test_a_tag_without_an_object_is_an_attempt_at_the_start_of_a_line(
    body: str,
) -> None:
    tag = wrap("tag", "Any", body)
    call = only(tag)
    assert isinstance(call, tw.InvalidToolCall)
    assert (call.kind, call.raw) == ("invalid_json", tag)
    assert read(f"x {tag}") == [tw.TextDelta(f"x {tag}")]


def test_the_longest_name_wins() -> None:
    tools = ["a", "ab", "a.b", "a/b", "a-b"]
    for name in tools:
        assert only(f"<{name}/>", tools=tools).name == name
        assert only(f"<{name}>{{}}</{name}>", tools=tools).name == name


# Around calls.


@FORM
def test_a_call_in_code_is_text_unless_asked_for(form: str) -> None:
    call = wrap(form, "Ping", "{}")
    for reply in (f"`{call}`", f"`` ` {call} ``", f"```\nsay {call}\n```", f"~~~\n#\n{call}\n~~~"):
        assert read(reply) == [tw.TextDelta(reply)]
        assert "Ping" in kinds(read(reply, in_code="call"))


@FORM
def test_a_fence_around_a_call_is_transparent(form: str) -> None:
    call = wrap(form, "Ping", "{}")
    for mark in ("```", "````", "~~~", "```xml", "  ```"):
        close = mark.removesuffix("xml").strip()
        assert kinds(read(f"Hm\n{mark}\n{call}\n{close}\nok")) == [
            repr("Hm\n" + mark[: mark.index(close)]),
            "fence",
            "Ping",
            "'\\n'",
            "fence",
            "'ok'",
        ]


@FORM
def test_a_code_block_ends_with_its_transparent_fence(form: str) -> None:
    call = wrap(form, "Ping", "{}")
    shown = kinds(read(f"```\n{call}\n~~~\ncode\n~~~\n```\nDone. {call}"))
    assert shown.count("Ping") == 2


@FORM
def test_nothing_in_reasoning_is_a_call(form: str) -> None:
    call = wrap(form, "Ping", "{}")
    for tag in ("think", "thinking"):
        assert read(f"<{tag}>Try {call}?</{tag}>{call}")[:3] == [
            tw.Discarded(f"<{tag}>", "reasoning_tag"),
            tw.ReasoningDelta(f"Try {call}?"),
            tw.Discarded(f"</{tag}>", "reasoning_tag"),
        ]
    assert kinds(read(f"<think>{call}", reasoning_tags=())) == ["'<think>'", "Ping"]
    assert kinds(read(f"<why>{call}", reasoning_tags=("why",))) == [
        "reasoning_tag",
        "ReasoningDelta",
    ]


@FORM
def test_a_result_written_by_the_model_is_fabricated(form: str) -> None:
    call = wrap(form, "Ping", "{}")
    for tag, name in {
        '<tool_response name="Ping">': "Ping",
        "<tool_response name='nope' status=error>": "nope",
        "<tool_response>": None,
    }.items():
        made_up = f"{tag}\n{call}\n</tool_response>"
        assert read(f"{call}\n{made_up} end")[1:] == [
            tw.TextDelta("\n"),
            tw.FabricatedResult(name, made_up),
            tw.TextDelta(" end"),
        ]
        assert read(made_up[:-3]) == [tw.FabricatedResult(name, made_up[:-3])]
