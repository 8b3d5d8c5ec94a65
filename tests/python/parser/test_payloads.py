"""The JSON in a call, in both tag forms, whole and in chunks of 1 and 4 characters."""

from __future__ import annotations

import json

import pytest

import toolweave as tw
from parser_replies import (
    FORMS,
    FRAMES,
    TOOLS,
    arguments,
    canonical_json,
    completed_events,
    feed,
    joined,
    kinds,
    only,
    pieces,
    read,
    repairs,
    wrap,
)

FORM = pytest.mark.parametrize("form", sorted(FORMS))


@FORM
def test_a_closing_tag_inside_a_string_is_text(form: str) -> None:
    _, end = FORMS[form]
    end = end.format("Any")
    for text in (end, f"{end}{end}", f"a {end} b", f"\n{end}\n", f"</tool_call>{end}<Ping/>"):
        for body in ({"a": text, "b": 1}, {text: [text]}):
            call = only(wrap(form, "Any", json.dumps(body)))
            assert (call.arguments, call.repairs) == (body, ())


@FORM
@pytest.mark.parametrize("fence", ["```", "```\n", "\n```\n", "```json\n{}\n```\n", "~~~"])
def test_a_code_fence_inside_a_string_is_text(form: str, fence: str) -> None:
    body = {"path": "a.md", "content": fence}
    for frame in FRAMES:
        call = only(wrap(form, "WriteFile", json.dumps(body), frame))
        assert (call.arguments, call.repairs) == (body, ())


@FORM
@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_every_framing_gives_the_same_call(form: str, frame: str) -> None:
    reply = wrap(form, "Add", '{"a": 1, "b": 2}', frame)
    call = only(reply)
    assert (call.arguments, call.repairs, call.raw) == ({"a": 1, "b": 2}, (), reply)
    assert kinds(read(f"x{reply}y")) == ["'x'", "Add", "'y'"]
    assert kinds(read(f"x\n{reply}\r\ny")) == ["'x\\n'", "Add", "'\\r\\ny'"]


@FORM
@pytest.mark.parametrize(
    "fence",
    ["```", "```JSON", "```json5", "``` json ", "```tool_code", "```a b=c", "```\t", "````json"],
)
def test_the_label_of_a_fence_does_not_matter(form: str, fence: str) -> None:
    marks = "`" * fence.count("`")
    begin, end = (part.format("Add") for part in FORMS[form])
    reply = "\n".join([begin, fence, '{"a": 1, "b": 2}', marks, end])
    assert arguments(reply) == {"a": 1, "b": 2}


@FORM
def test_crlf_inside_json_is_white_space(form: str) -> None:
    payload = '{\r\n  "a": 1,\r\n  "b": 2\r\n}'
    assert only(wrap(form, "Add", payload, "crlf")).repairs == ()


@FORM
@pytest.mark.parametrize(
    "number",
    [
        *("9007199254740993", "12345678901234567890123", "1.0", "-0.0", "1e5", "0", "-1", "1E-2"),
        *("1.7976931348623157e308", "5e-324", "0.1", "9" * 4000),
    ],
)
def test_numbers_are_kept(form: str, number: str) -> None:
    reply = wrap(form, "Any", f'{{"n": {number}}}')
    call = only(reply)
    assert canonical_json(call.arguments) == canonical_json({"n": json.loads(number)})
    assert type(call.arguments["n"]) is type(json.loads(number))
    (delta,) = [e for e in tw.parse(reply, TOOLS) if isinstance(e, tw.ToolCallDelta)]
    assert delta.fragment == f'{{"n": {number}}}'


@FORM
@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 5000, "01", "+1", ".5", "1.", "0x1F"])
def test_numbers_out_of_range_are_never_changed_silently(form: str, number: str) -> None:
    event = only(wrap(form, "Any", f'{{"n": {number}}}'))
    assert isinstance(event, tw.InvalidToolCall) or event.repairs, event
    assert isinstance(
        only(wrap(form, "Any", f'{{"n": {number}}}'), repair="none"), tw.InvalidToolCall
    )


@FORM
def test_surrogate_pairs_are_one_character(form: str) -> None:
    call = only(wrap(form, "Any", r'{"a\ud83d\ude00b": "\ud83d\ude00\uD83D\uDE00", "é": "😀"}'))
    assert call.arguments == {"a😀b": "😀😀", "é": "😀"}
    assert call.repairs == ()


@FORM
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (r"\ud83d", "\ufffd"),
        (r"\ude00", "\ufffd"),
        (r"x\ud83dy", "x\ufffdy"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"),
        (r"\ud83d\n", "\ufffd\n"),
        (r"\ud83d\u0041", "\ufffdA"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_lone_surrogates_become_the_replacement_character(form: str, text: str, meant: str) -> None:
    reply = wrap(form, "Any", f'{{"a": "{text}"}}')
    call = only(reply)
    assert call.arguments == {"a": meant}
    assert set(repairs(call)) == {"lone_surrogate"}
    assert kinds([only(reply, repair="none")]) == ["invalid_json"]


@FORM
def test_raw_newlines_and_tabs_in_a_string_are_repaired_unless_strict(form: str) -> None:
    reply = wrap(form, "WriteFile", '{"path": "a", "content": "one\n\ttwo\r\n"}')
    call = only(reply)
    assert call.arguments["content"] == "one\n\ttwo\r\n"
    assert set(repairs(call)) == {"control_character"}
    assert kinds([only(reply, repair="none")]) == ["invalid_json"]


@FORM
def test_of_repeated_keys_the_last_wins(form: str) -> None:
    call = only(wrap(form, "Any", '{"a": 1, "b": 2, "a": 3}'))
    assert (call.arguments, call.repairs) == ({"a": 3, "b": 2}, ())


@FORM
@pytest.mark.parametrize("depth", [1, 127, 128, 129, 200, 100_000])
@pytest.mark.parametrize("brackets", ["[]", '{"a":}'])
def test_arguments_beyond_the_depth_limit_are_too_large(
    form: str, depth: int, brackets: str
) -> None:
    open_, close = brackets[:-1], brackets[-1]
    inner = depth - 1
    payload = '{"a": ' + open_ * inner + "1" + close * inner + "}"
    reply = wrap(form, "Any", payload) + " ok <Ping/>"
    events = joined(tw.parse(reply, TOOLS))
    assert events == joined(feed(pieces(reply, 1 if depth < 1000 else 997)))
    shown = kinds(completed_events(events))
    wanted = ["Any"] if depth <= 128 else ["too_large", "too_large"]
    assert shown == [*wanted, "' ok '", "Ping"]


@FORM
def test_deep_brackets_that_never_close_end_with_the_reply(form: str) -> None:
    reply = FORMS[form][0].format("Any") + '{"a": ' + "[" * 10_000
    assert kinds(read(reply)) == ["too_large", "too_large"]


def test_a_call_beyond_a_limit_is_invalid_and_the_next_is_valid() -> None:
    good = "<Ping/>"
    for reply, limits, kind in [
        ('<Any>{"a": "xxxxxxxxxx"}</Any>', tw.Limits(max_argument_bytes=8), "too_large"),
        ('<Any>{"a": [[1]]}</Any>', tw.Limits(max_depth=2), "too_large"),
        ('<Any>{"a": 1,}</Any>', tw.Limits(max_repair_bytes=4), "invalid_json"),
    ]:
        events = kinds(read(reply + good, limits=limits))
        assert events[0] == kind
        assert events[-1] == "Ping"
    assert kinds(read(good * 3, limits=tw.Limits(max_calls=2))) == ["Ping", "Ping", "too_many"]


def test_a_call_at_the_limit_is_valid() -> None:
    payload = '{"a": "xx"}'
    reply = f"<Any>{payload}</Any>"
    assert kinds(read(reply, limits=tw.Limits(max_argument_bytes=len(payload)))) == ["Any"]
    assert kinds(read(reply, limits=tw.Limits(max_argument_bytes=len(payload) - 1))) == [
        "too_large",
        "too_large",
    ]


@pytest.mark.parametrize("blank", [" ", "\n", "\r\n"])
def test_more_white_space_than_a_tag_may_be_long_makes_a_tag_text(blank: str) -> None:
    for count in (1, 16 // len(blank), 18, 1000):
        reply = "<Ping>" + blank * count + "{}</Ping>"
        events = read(reply, limits=tw.Limits(max_tag_bytes=16))
        fits = len(blank) * count <= 16
        assert kinds(events) == (["Ping"] if fits else [repr(reply)])
