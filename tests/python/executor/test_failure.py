"""Result texts of failures: one useful line without internals of the program."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave import ErrorCode, InvalidToolCall, ToolResult, Violation
from toolweave.exceptions import ModelRetry, ToolError, ToolFailed, TransientToolError
from toolweave.executor import _failure as failure
from toolweave.executor._failure import CallFailure

PREFIX = "Error executing tool: "


def text(error: BaseException, **options: Any) -> str:
    found = failure.tool_error(error, **options)
    assert found.code is ErrorCode.TOOL_ERROR
    return found.text


@given(st.text(st.characters()), st.sampled_from(["none", "message"]))
def test_any_exception_becomes_one_short_line(message: str, detail: Any) -> None:
    shown = text(ValueError(message), detail=detail)
    assert len(shown.splitlines()) == 1
    assert len(shown) <= len(PREFIX) + 500
    assert "ValueError" not in shown.replace(message, "")
    # It can be part of a result and be encoded.
    assert ToolResult("id", "name", shown).result == shown
    shown.encode()


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("no such city", "Error executing tool: no such city"),
        ("no such city\nTraceback (most recent call last)", "Error executing tool: no such city"),
        ("\n \r\n  second line is the first\nthird", f"{PREFIX}second line is the first"),
        ("one\x85two", f"{PREFIX}one"),
        ("one\u2028two", f"{PREFIX}one"),
        ("", "Error executing tool."),
        ("  \n ", "Error executing tool."),
        ("half a \ud83d character", f"{PREFIX}half a � character"),
        ("x" * 500, PREFIX + "x" * 500),
        ("x" * 501, PREFIX + "x" * 499 + "…"),
        ("<Session object at 0x7f3a2b1c> is closed", f"{PREFIX}<Session object> is closed"),
    ],
)
def test_the_model_reads_the_first_line_of_an_exception(message: str, shown: str) -> None:
    assert text(RuntimeError(message)) == shown


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("cannot open /srv/app/secrets/key.pem", "cannot open key.pem"),
        ("[Errno 2] No such file: '/home/ada/notes.txt'", "[Errno 2] No such file: 'notes.txt'"),
        (r"cannot open C:\Users\ada\notes.txt", "cannot open notes.txt"),
        (r"cannot open \\server\share\notes.txt now", "cannot open notes.txt now"),
        ("cannot open ~/papers/notes.txt", "cannot open notes.txt"),
        ("see file:///var/log/app.log", "see app.log"),
        ('File "/usr/lib/python3.11/json/decoder.py", line 355', 'File "decoder.py", line 355'),
        ("not a directory: /var/lib/", "not a directory: lib"),
        ("path=/etc/app/conf.d, mode=r", "path=conf.d, mode=r"),
        ("/a/b: /c/d", "b: d"),
        # None of these is a path.
        ("404 for https://api.example.com/v1/users", "404 for https://api.example.com/v1/users"),
        ("and/or 1/2 on 22/11/2026", "and/or 1/2 on 22/11/2026"),
        ("unknown command /help", "unknown command /help"),
        ("application/json is not text/plain", "application/json is not text/plain"),
        ("docs/today/notes.txt is not there", "docs/today/notes.txt is not there"),
        ("use a // comment or \\ instead", "use a // comment or \\ instead"),
    ],
)
def test_absolute_paths_are_cut_down_to_their_last_part(message: str, shown: str) -> None:
    assert text(OSError(message)) == PREFIX + shown


def test_a_path_from_the_arguments_is_not_redacted() -> None:
    error = FileNotFoundError(2, "No such file or directory", "/data/today/notes.txt")
    assert text(error).endswith("directory: 'notes.txt'")
    for arguments in (
        {"path": "/data/today/notes.txt"},
        {"files": [{"path": "read /data/today/notes.txt, please"}]},
    ):
        assert text(error, arguments=arguments).endswith("directory: '/data/today/notes.txt'")
    assert text(error, arguments={"path": "/data"}).endswith("directory: 'notes.txt'")


@given(st.text("/\\.: a'C~", max_size=300))
def test_a_line_of_slashes_is_kept(line: str) -> None:
    assert len(failure.redact_paths(line)) <= len(line)


@pytest.mark.growth
@pytest.mark.parametrize(
    "line", ["/" * 10_000, "/a" * 5_000, "a/" * 5_000, "\\\\" * 5_000, "~/" * 5_000]
)
def test_redaction_of_a_hostile_line_takes_linear_time(line: str) -> None:
    began = time.process_time()
    text(ValueError(line))
    assert time.process_time() - began < 0.5


def test_details_can_be_hidden() -> None:
    assert text(ValueError("password is 123"), detail="none") == "Error executing tool."


def test_details_can_be_shown_in_full() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError as first:
            raise ValueError("one\ntwo") from first
    except ValueError as error:
        shown = text(error, detail="full")
        short = text(error, detail="full", max_chars=50)
    assert shown.startswith("Error executing tool: Traceback (most recent call last):")
    assert "KeyError: 'first'" in shown
    assert shown.endswith("ValueError: one\ntwo")
    assert short.startswith(shown[:50])
    assert "characters left out]" in short


@pytest.mark.parametrize(
    "error", [ToolError("a"), ModelRetry("a"), ToolFailed("a"), TransientToolError("a", 3.0)]
)
@pytest.mark.parametrize("detail", ["none", "message", "full"])
def test_the_text_of_a_tool_error_is_passed_on_whole(error: ToolError, detail: Any) -> None:
    whole = "Use one of:\n- /etc/app/a.conf\n- " + "x" * 1000
    error = type(error)(whole)
    assert text(error, detail=detail) == whole
    assert text(error, detail=detail, max_chars=10).startswith(whole[:10] + "\n[truncated: ")


def test_a_tool_error_without_text_is_still_a_failure() -> None:
    assert text(ToolFailed("")) == "Error executing tool."


class Unreadable(Exception):  # noqa: N818 - not raised
    def __init__(self, how: BaseException | object) -> None:
        self.how = how

    def __str__(self) -> str:
        if isinstance(self.how, BaseException):
            raise self.how
        return self.how  # type: ignore[return-value]

    __repr__ = __str__


@pytest.mark.parametrize("how", [ValueError("no"), RecursionError(), 7, None])
@pytest.mark.parametrize("detail", ["none", "message", "full"])
def test_an_exception_whose_str_raises_is_handled(how: Any, detail: Any) -> None:
    assert text(Unreadable(how), detail=detail).startswith("Error executing tool")


def test_the_result_of_an_unknown_tool_lists_the_available_ones() -> None:
    found = failure.unknown_tool("N", ["add", "subtract"])
    assert found == CallFailure(
        "Tool 'N' not found. Available tools: add, subtract", ErrorCode.UNKNOWN_TOOL
    )
    assert failure.unknown_tool("N", []).text == "Tool 'N' not found. There are no tools."


@pytest.mark.parametrize("name", ["getweather", "get-weather", "GetWeather", "get_wether"])
def test_the_result_of_a_misspelled_name_suggests_the_right_one(name: str) -> None:
    shown = failure.unknown_tool(name, ["add", "get_weather"]).text
    assert shown.endswith("Available tools: add, get_weather. Did you mean 'get_weather'?")


def test_the_list_of_available_tools_is_limited() -> None:
    names = [f"tool_{n}" for n in range(20_000)]
    began = time.process_time()
    shown = failure.unknown_tool("Tool-19999", names).text
    failure.unknown_tool("something_else_entirely", names)
    assert time.process_time() - began < 1.0
    assert shown.startswith("Tool 'Tool-19999' not found. Available tools: tool_0, tool_1, ")
    assert shown.endswith(", tool_49, and 19950 more. Did you mean 'tool_19999'?")


def test_a_name_is_quoted_on_one_short_line() -> None:
    shown = failure.unknown_tool("a\nb " + "x" * 200, []).text
    assert shown == "Tool 'a b " + "x" * 95 + "…' not found. There are no tools."


VIOLATIONS = (
    Violation("/unit", "enum", '/unit: "kelvin" is not one of "celsius"', ["celsius"], "kelvin"),
    Violation("", "required", "the property days is missing", "days", None),
)


def test_the_result_of_invalid_arguments_lists_every_violation() -> None:
    found = failure.invalid_arguments("forecast", VIOLATIONS)
    assert found.code is ErrorCode.INVALID_ARGUMENTS
    assert found.text == (
        "Invalid arguments for tool 'forecast': "
        '/unit: "kelvin" is not one of "celsius"; the property days is missing'
    )


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("unknown_tool", ErrorCode.UNKNOWN_TOOL),
        ("invalid_json", ErrorCode.INVALID_ARGUMENTS),
        ("schema_violation", ErrorCode.INVALID_ARGUMENTS),
        ("unclosed", ErrorCode.INVALID_ARGUMENTS),
        ("too_large", ErrorCode.TOO_LARGE),
        ("too_many", ErrorCode.TOO_MANY),
    ],
)
def test_the_result_of_an_invalid_call_depends_on_its_kind(kind: str, code: ErrorCode) -> None:
    call = InvalidToolCall(0, "call_0", "forecast", kind, "<raw>", VIOLATIONS)
    found = failure.invalid_call(call, ["weather"])
    assert found.code is code
    if kind == "unknown_tool":
        assert found == failure.unknown_tool("forecast", ["weather"])
    else:
        assert VIOLATIONS[0].message in found.text


@pytest.mark.parametrize(
    ("found", "shown", "code"),
    [
        (
            failure.timeout("a", 30),
            "Tool 'a' did not finish within 30 seconds and was stopped.",
            ErrorCode.TIMEOUT,
        ),
        (
            failure.timeout("a", 1.0, idle=True),
            "Tool 'a' reported nothing for 1 second and was stopped.",
            ErrorCode.TIMEOUT,
        ),
        (failure.cancelled("a"), "Tool 'a' was cancelled.", ErrorCode.CANCELLED),
        (
            failure.interrupted("a"),
            "Tool 'a' was interrupted before it finished; it may have had effects.",
            ErrorCode.INTERRUPTED,
        ),
        (
            failure.interrupted("a", started=False),
            "Tool 'a' was interrupted before it started.",
            ErrorCode.INTERRUPTED,
        ),
        (
            failure.denied("a", "not on Sundays"),
            "Tool 'a' was not run, since the call was not approved: not on Sundays",
            ErrorCode.DENIED,
        ),
        (
            failure.denied("a"),
            "Tool 'a' was not run, since the call was not approved.",
            ErrorCode.DENIED,
        ),
        (
            failure.rate_limited("a", 2.5),
            "Tool 'a' is called too often. Try again in 2.5 seconds.",
            ErrorCode.RATE_LIMITED,
        ),
        (
            failure.rate_limited("a", 1234.5678),
            "Tool 'a' is called too often. Try again in 1235 seconds.",
            ErrorCode.RATE_LIMITED,
        ),
        (
            failure.rate_limited("a", 0.0001),
            "Tool 'a' is called too often. Try again in 0.001 seconds.",
            ErrorCode.RATE_LIMITED,
        ),
    ],
)
def test_each_failure_has_a_text_and_a_code(
    found: CallFailure, shown: str, code: ErrorCode
) -> None:
    assert found == CallFailure(shown, code)
