"""`toolweave play`: the recordings and the printed lines."""

from __future__ import annotations

import asyncio
import io
import threading

import pytest
from rich.console import Console

from paths import EXAMPLES
from toolweave import Parser, Repair, ToolAggregateMessage, ToolCall, ToolResult, parse
from toolweave._demo.colours import ColourScreen
from toolweave._demo.player import HeldText, Player
from toolweave._demo.printer import LEGEND, REPAIR_EXPLANATIONS, EventPrinter, describe_repair
from toolweave._demo.recordings import RECORDED_ON, SELECTION, Recording, recordings
from toolweave._demo.screens import LineKind, PlainScreen, harmless, visible
from toolweave._demo.toolbox import ToolBox
from toolweave.cli import main
from toolweave.executor import ToolProgress, ToolStarted
from toolweave.models import complete
from virtual_time import run

CONTRACTS = [tool.contract for tool in ToolBox(RECORDED_ON).tools]
EACH = pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)


def test_there_are_recordings_of_both_models_and_names_are_unique() -> None:
    names = [recording.name for recording in recordings()]
    assert len(names) == len(set(names)) >= 12
    assert {recording.model for recording in recordings()} == {
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-1.5b",
        None,
    }


@EACH
def test_a_recording_states_its_origin(recording: Recording) -> None:
    if recording.source == "recorded":
        assert f"recorded reply of {recording.model}, temperature" in recording.facts
        assert str(RECORDED_ON) in recording.facts
    else:
        assert recording.facts == "written by hand"
    assert recording.finish_reason in ("stop", "length")
    assert list(recording.delta_ms) == sorted(recording.delta_ms)


@EACH
def test_held_back_text_is_always_the_end_of_the_input(recording: Recording) -> None:
    parser = Parser(CONTRACTS)
    held = HeldText()
    so_far = ""
    for chunk in recording.deltas:
        so_far += chunk
        held.feed(chunk)
        for event in parser.push(chunk):
            held.take(event)
        assert so_far.endswith(held.text)
    for event in parser.finish(truncated=recording.finish_reason == "length"):
        held.take(event)
    assert held.text == ""


def played(name: str) -> list[str]:
    """Play a recording in virtual time, and return its lines."""
    [recording] = [each for each in recordings() if each.name == name]
    out = io.StringIO()
    run(Player(EventPrinter(PlainScreen(out))).play(recording, None))
    return out.getvalue().splitlines()


@EACH
def test_playing_a_recording_shows_all_of_its_text_and_its_history(recording: Recording) -> None:
    lines = played(recording.name)
    assert lines[1].startswith(f"== {recording.name}: ")
    assert f"    user {recording.prompt}" in lines
    assert any(line.startswith(" history ") for line in lines)
    first = "".join(recording.deltas).split("\n", 1)[0]
    if "<" not in first:
        assert f"    text {first}" in lines


@EACH
def test_every_call_of_a_recording_is_shown_with_its_result(
    recording: Recording,
) -> None:
    lines = played(recording.name)
    begun = [line for line in lines if line.startswith("    call ")]
    ids = [line.rpartition("(")[2].rstrip(")") for line in begun]
    assert len(ids) == len(set(ids))
    shown = [line for line in lines if line[:8].strip() in ("result", "failed", "invalid")]
    for call_id in ids:
        assert any(call_id in line for line in shown), call_id
    together = [line for line in lines if line.startswith("     all ")]
    assert [line.rpartition("(")[2].partition(")")[0] for line in together] == ids
    not_recorded = "    note the reply to the results was not recorded"
    assert (not_recorded in lines) == bool(ids)


def test_tools_run_concurrently_while_the_model_still_writes() -> None:
    lines = [line for line in played("repairs") if "call_1_" in line and line[:8] != "    call"]
    mail, product = ([line for line in lines if f"call_1_{n}" in line] for n in (0, 1))
    assert [line[:8].strip() for line in mail] == ["starts", "works", "result", "all"]
    assert [line[:8].strip() for line in product] == ["starts", "result", "all"]
    # The mail takes longer: results arrive as tools finish, the aggregate in the order of calls.
    assert lines.index(mail[0]) < lines.index(product[0])
    assert lines.index(product[1]) < lines.index(mail[2])
    assert lines.index(mail[3]) < lines.index(product[2])


def test_the_recordings_are_linked() -> None:
    folder = EXAMPLES / "streams"
    names = [recording.name for recording in recordings()]
    files = [file.name for file in sorted(folder.iterdir()) if file.name != "systems.json"]
    assert files == [f"{number:02}-{name}.json" for number, name in enumerate(names, 1)]


def test_without_a_terminal_the_command_plays_everything_as_plain_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["play"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "\x1b" not in printed.out
    for recording in recordings():
        assert f"== {recording.name}: " in printed.out
    for kind, meaning in LEGEND.items():
        lines = [line for line in printed.out.splitlines() if line.startswith(f"{kind.value:>8} ")]
        assert lines[0] == f"{kind.value:>8} {meaning}"
        assert len(lines) > 1, kind
    count = len(recordings())
    assert f"\n{count} of {count} recordings: 27 calls ran after 23 repairs; " in printed.out


def test_one_recording_can_be_played_and_all_can_be_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["play", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(recording.name in listed for recording in recordings())
    assert main(["play", "--only", "kelvin", "--fast"]) == 0
    printed = capsys.readouterr().out
    assert "== kelvin: " in printed
    assert "== add: " not in printed


def sleeping(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace `asyncio.sleep` with a recorder of its delays."""
    slept: list[float] = []
    sleep, here = asyncio.sleep, threading.get_ident()

    async def at_once(seconds: float) -> None:
        # Servers of other tests may have threads with loops of their own.
        if threading.get_ident() != here:
            await sleep(seconds)
            return
        slept.append(seconds)
        await sleep(0)

    monkeypatch.setattr("asyncio.sleep", at_once)
    return slept


def test_the_pace_is_that_of_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = sleeping(monkeypatch)
    recording = recordings()[0]
    reply = asyncio.run(complete(recording.replay(2), recording.prompt))
    assert [message.text for message in reply.messages] == ["".join(recording.deltas)]
    expected = [
        min((after - before) / 2000, 0.5)
        for before, after in zip((0, *recording.delta_ms), recording.delta_ms, strict=False)
    ]
    assert [seconds for seconds in slept if seconds] == pytest.approx(expected)


def test_a_terminal_plays_a_selection_at_the_recorded_pace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept = sleeping(monkeypatch)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert main(["play"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in SELECTION if f"== {name}: " in shown] == list(SELECTION)
    assert f"{len(SELECTION)} of {len(recordings())} recordings: " in shown
    assert "--all" in shown
    assert 20 < sum(slept) < 60
    slept.clear()
    assert main(["play", "--fast"]) == 0
    assert max(slept) < 0.05
    assert f"{len(recordings())} of {len(recordings())} recordings: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nothing"], "no recording 'nothing'; there are add, "),
        (["--prompt", "hello"], "--prompt requires --model URL"),
        (["--model", "http://127.0.0.1:1/v1"], "needs --model-name NAME"),
        (["--model", "ftp://host", "--model-name", "m", "--prompt", "x"], "is not a URL"),
        (["--model", "http://h", "--model-name", "m", "--all"], "for recordings"),
        (
            ["--model", "http://h", "--model-name", "m", "--api-key-env", "NO_SUCH_KEY"],
            "the environment variable NO_SUCH_KEY is not set",
        ),
        (["--model", "http://127.0.0.1:1/v1", "--model-name", "m"], "--prompt TEXT says"),
        (
            ["--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--prompt", "x"],
            "toolweave play: http://127.0.0.1:1/v1: ",
        ),
    ],
)
def test_invalid_options_are_reported(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_without_rich_a_terminal_gets_plain_text_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("toolweave.cli._play.find_spec", lambda _name: None)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["play", "--fast", "--only", "add"]) == 0
    printed = capsys.readouterr()
    assert "pip install 'toolweave[cli]'" in printed.err
    assert "result call_1_0  42" in printed.out


def test_a_terminal_shows_held_back_text() -> None:
    out = io.StringIO()
    terminal = Console(file=out, force_terminal=True, width=100, highlight=False)

    async def play() -> None:
        with ColourScreen(terminal) as screen:
            player = Player(EventPrinter(screen))
            for recording in recordings():
                await player.play(recording, None)

    asyncio.run(play())
    drawn = out.getvalue()
    assert "\x1b[30;43m<Add\x1b[0m\x1b[2;33m  held back" in drawn


def test_a_stream_that_cannot_encode_a_character_gets_an_escape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["play", "--only", "kelvin", "--only", "next-tag-closes"]) == 0
    assert b"Nice: 18 \\xb0C" in raw.getvalue()


def test_control_characters_are_escaped() -> None:
    assert visible("a\n\t\x1b[31mé\xa0") == "a↵⇥\\x1b[31mé\xa0"
    assert harmless("\t\x1b[31mé\u202e\r") == "\t\\x1b[31mé\\u202e\\r"
    out = io.StringIO()
    EventPrinter(PlainScreen(out)).write(LineKind.RESULT, "\x1b]0;owned\x07\nsecond line")
    assert out.getvalue() == "  result \\x1b]0;owned\\x07\n  result second line\n"


def lines_of(reply: str) -> list[str]:
    """Return the lines for a reply that arrives character by character."""
    out = io.StringIO()
    printer = EventPrinter(PlainScreen(out))
    parser = Parser(CONTRACTS)
    held = HeldText()
    for ch in reply:
        held.feed(ch)
        for event in parser.push(ch):
            held.take(event)
            printer.event(event)
        printer.held(held.text)
    for event in parser.finish():
        printer.event(event)
    printer.end_line()
    return out.getvalue().splitlines()


def test_text_is_shown_line_by_line_without_the_blank_lines_around_it() -> None:
    shown = lines_of("\n\none\n\ntwo\n \n")
    assert [line for line in shown if "held" not in line] == [
        "    text one",
        "    text",
        "    text two",
    ]


def test_held_back_text_is_shown_with_its_outcome() -> None:
    assert lines_of("a < b\n")[1:] == ["    held <   for 1 delta, then it was text"]
    assert lines_of('<Add>{"a": 1, "b": 2}</Add>') == [
        "    held <Add>   for 5 deltas, then it began a call",
        "    call Add (call_0)",
        '    args {"a": 1, "b": 2}',
        "    held </Add   for 5 deltas, then it ended the call",
    ]


def test_invented_results_and_reasoning_are_labelled() -> None:
    assert lines_of("<tool_response>42</tool_response>")[-1] == (
        "invented a result that no tool gave: <tool_response>42</tool_response>"
    )
    assert "  thinks hm" in lines_of("<think>hm</think>ok")


def test_progress_and_results_are_shown_above_the_growing_line() -> None:
    out = io.StringIO()
    printer = EventPrinter(PlainScreen(out))
    (text, *_, call) = parse('On it<Add>{"a": 1, "b": 2}</Add>', CONTRACTS)
    printer.event(text)
    assert isinstance(call, ToolCall)
    printer.tool(ToolStarted("call_0", "Add", call.arguments))
    printer.tool(ToolProgress("call_0", "one\ntwo"))
    result = ToolResult("call_0", "Add", "3")
    refused = ToolResult("call_1", "Nope", "no such tool", is_error=True, error_code="unknown_tool")
    printer.tool(result)
    printer.tool(refused)
    failed = ToolResult("call_2", "Add", "out of paper", is_error=True, error_code="tool_error")
    printer.tool(ToolStarted("call_2", "Add", {}))
    printer.tool(failed)
    printer.tool(ToolAggregateMessage([call.__replace__(id="call_0")], [result]))
    assert out.getvalue().splitlines() == [
        '  starts Add (call_0)  {"a": 1, "b": 2}',
        "   works call_0  one",
        "   works call_0  two",
        "  result call_0  3",
        " invalid call_1  no such tool",
        "  starts Add (call_2)  {}",
        "  failed call_2  out of paper",
        "    text On it",
        "     all 1 of 1  Add (call_0)  done",
    ]
    assert printer.summary().startswith(
        "2 calls ran after 0 repairs; 1 with a result, 1 with an error of the tool"
    )


def test_a_repair_is_described_with_place_reason_and_values() -> None:
    assert describe_repair(Repair("/a", "type", "4", 4)) == (
        '/a: the schema declares another type, and the meaning is certain   "4" -> 4'
    )
    assert describe_repair(Repair("", "trailing_comma", ",", "")) == (
        "no comma before a closing bracket   , removed"
    )
    assert describe_repair(Repair("", "missing_closer", "", "}")) == (
        "a string or bracket was never closed   } added"
    )
    assert describe_repair(Repair("", "implicit_close", None, None)) == (
        "no closing tag; the call ends where its JSON or its fence ends"
    )


def test_every_repair_of_the_recordings_is_explained() -> None:
    kinds = {
        repair.kind
        for recording in recordings()
        for event in parse("".join(recording.deltas), CONTRACTS)
        if isinstance(event, ToolCall)
        for repair in event.repairs
    }
    assert len(kinds) > 8
    assert kinds <= REPAIR_EXPLANATIONS.keys()
