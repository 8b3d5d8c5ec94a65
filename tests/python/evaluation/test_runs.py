"""Runs of `toolweave eval` against a server: replies, resumption, errors, scores and pages."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openai_endpoint import Delta, Reply, serving
from toolweave.cli import main
from toolweave.evaluation import NativeCall, RawReply, load_replies
from toolweave.profiles import Profile

TOOL = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
CITIES = ("Oslo", "Rome", "Lima")
MODEL = "qwen2.5-coder-1.5b-instruct"


def natural(city: str) -> str:
    return f'<get_weather>{{"city": "{city}"}}</get_weather>'


def hermes(city: str) -> str:
    arguments = json.dumps({"name": "get_weather", "arguments": {"city": city}})
    return f"<tool_call>\n{arguments}\n</tool_call>"


def native(city: str) -> Reply:
    function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    return Reply([{"tool_calls": [call]}], "tool_calls")


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    file = tmp_path / "cases.jsonl"
    lines = [
        {
            "id": city,
            "kind": "wanted",
            "messages": [{"role": "user", "content": f"Weather in {city}?"}],
            "tools": [TOOL],
            "expected": [{"name": "get_weather", "arguments": {"city": [city]}}],
        }
        for city in CITIES
    ]
    lines.append({**lines[0], "id": "thanks", "kind": "not wanted", "expected": []})
    lines[-1]["messages"] = [{"role": "user", "content": "Thanks <b>&amp;</b>!"}]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def command(cases: Path, *arguments: str) -> list[str]:
    replies = str(cases.parent / "replies.jsonl")
    return ["eval", "--cases", str(cases), "--replies", replies, *arguments]


def asked(url: str, ways: str) -> tuple[str, ...]:
    return ("--model", url, "--model-name", MODEL, "--ways", ways)


def rows(text: str) -> dict[str, dict[str, str]]:
    """Return the table of a report by way."""
    _, _, head, *lines = text.splitlines()
    names = re.split(r"\s{2,}", head)
    found = (re.split(r"\s{2,}", line) for line in lines[: lines.index("")])
    return {cells[0]: dict(zip(names, cells, strict=True)) for cells in found}


GOOD = [natural("Oslo"), natural("Rome"), natural("Paris"), "You are welcome."]
RUN = [*GOOD, native("Oslo"), hermes("Rome"), "I do not know.", "You are welcome."]


def test_a_run_prints_a_table_and_keeps_the_replies(
    cases: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with serving(*RUN) as endpoint:
        ways = asked(endpoint.url, "natural,native,recovered")
        saved = tmp_path / "profile.json"
        files = ("--save-profile", str(saved), "--html", str(tmp_path / "report.html"))
        assert main(command(cases, *ways, *files, "--max-tokens", "99")) == 0
    output = capsys.readouterr()
    table = rows(output.out)
    assert table["natural"]["right"] == "3"
    assert table["natural"]["wrong args"] == "1"
    assert (table["natural"]["calls"], table["natural"]["no call"]) == ("2/3", "1/1")
    assert table["native"]["right"] == "2"
    assert (table["native"]["unread"], table["native"]["missed"]) == ("1", "1")
    assert table["recovered"]["right"] == "3"
    assert table["recovered"]["tokens"] == "11"
    assert "Recommended: " in output.out
    assert output.err.splitlines()[-1] == "8/8"
    # `recovered` reads the replies to `native`.
    assert len(endpoint.requests) == 8
    assert [bool(request.get("tools")) for request in endpoint.requests] == [False] * 4 + [True] * 4
    assert {request["max_tokens"] for request in endpoint.requests} == {99}
    assert {request["temperature"] for request in endpoint.requests} == {0}
    replies = load_replies(tmp_path / "replies.jsonl")
    assert [(reply.case, reply.way) for reply in replies][3:5] == [
        ("thanks", "natural"),
        ("Oslo", "native"),
    ]
    assert replies[4].native_calls == (NativeCall("get_weather", '{"city": "Oslo"}', "c1"),)
    assert (replies[0].prompt_tokens, replies[0].completion_tokens) == (11, 7)
    profile = Profile.load(saved)
    assert profile.model == MODEL
    assert len(profile.table) == 3
    assert profile.date
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<details>") == 4
    assert "natural: wrong arguments" in page


def test_a_finished_run_asks_nothing_and_scores_without_the_model(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(*RUN) as endpoint:
        ways = asked(endpoint.url, "natural,native,recovered")
        main(command(cases, *ways))
        first = capsys.readouterr().out
        main(command(cases, *ways))
        assert len(endpoint.requests) == 8
    assert capsys.readouterr().out == first
    assert main(command(cases, "--rescore")) == 0
    assert capsys.readouterr().out == first
    assert main(command(cases, "--rescore", "--json", "--ways", "native")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["way"] for row in found["table"]] == ["native"]
    assert found["recommended"] is None
    assert {"case": "Rome", "way": "native", "outcome": "unread"} in found["outcomes"]


def test_a_case_that_has_changed_is_an_error_that_says_what_to_do(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(*GOOD) as endpoint:
        main(command(cases, *asked(endpoint.url, "natural")))
    # Other expected calls are scored anew.
    cases.write_text(cases.read_text().replace('["Lima"]', '["Paris"]'))
    capsys.readouterr()
    main(command(cases, "--rescore"))
    assert rows(capsys.readouterr().out)["natural"]["right"] == "4"
    cases.write_text(cases.read_text().replace("Weather in", "Temperature in"))
    assert main(command(cases, "--rescore")) == 2
    assert "other messages or tools than those of the case 'Oslo'" in capsys.readouterr().err


def test_a_changed_request_is_asked_again(cases: Path, tmp_path: Path) -> None:
    instructions = tmp_path / "instructions.txt"
    instructions.write_text("Be brief.")
    with serving(*GOOD, *GOOD) as endpoint:
        main(command(cases, *asked(endpoint.url, "natural")))
        more = ("--instructions", str(instructions))
        assert main(command(cases, *asked(endpoint.url, "natural"), *more)) == 0
        assert len(endpoint.requests) == 8
    first = endpoint.prompts()[4][0]
    assert first[0] == "system"
    assert first[1].startswith("Be brief.")


@pytest.mark.parametrize("status", [429, 500, 400])
def test_errors_are_recorded_and_asked_again(
    status: int, cases: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Retries of the client would wait for seconds.
    monkeypatch.setattr("toolweave.cli._endpoint.HttpModel", _without_retries)
    with serving(Reply(status=status), *GOOD[1:], natural("Oslo")) as endpoint:
        ways = asked(endpoint.url, "natural")
        assert main(command(cases, *ways)) == 0
        output = capsys.readouterr().out
        assert "\n1 request failed; natural, Oslo: ModelError: " in output
        table = rows(output)
        assert (table["natural"]["error"], table["natural"]["right"]) == ("1", "2")
        assert main(command(cases, *ways)) == 0
        assert len(endpoint.requests) == 5
    assert rows(capsys.readouterr().out)["natural"]["right"] == "3"
    replies = load_replies(cases.parent / "replies.jsonl")
    assert f"{status}" in (replies[0].error or "")
    assert [reply.case for reply in replies] == ["Oslo", "Rome", "Lima", "thanks", "Oslo"]


def _without_retries(*arguments: Any, **options: Any) -> Any:
    from toolweave.models.http import HttpModel

    return HttpModel(*arguments, **{**options, "max_retries": 0})


def test_a_reply_that_breaks_off_is_an_error(
    cases: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolweave.cli._endpoint.HttpModel", _without_retries)
    with serving(Reply(["<get_"], finish=None, drop=True), *GOOD[1:]) as endpoint:
        main(command(cases, *asked(endpoint.url, "natural")))
    assert rows(capsys.readouterr().out)["natural"]["error"] == "1"
    assert load_replies(cases.parent / "replies.jsonl")[0].error


def stalled(began: threading.Event, release: threading.Event) -> Iterator[str | Delta]:
    yield "<get_"
    began.set()
    release.wait(60)


def test_a_reply_that_takes_too_long_is_an_error(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began, release = threading.Event(), threading.Event()
    pieces: Any = stalled(began, release)
    with serving(Reply(pieces), *GOOD[1:]) as endpoint:
        main(command(cases, *asked(endpoint.url, "natural"), "--timeout", "0.5"))
        release.set()
    assert rows(capsys.readouterr().out)["natural"]["error"] == "1"
    # The timeouts of the whole reply and of its next piece may end at the same time.
    assert "0.5 s" in (load_replies(cases.parent / "replies.jsonl")[0].error or "")


def test_a_run_without_an_answer_fails(
    cases: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolweave.cli._endpoint.HttpModel", _without_retries)
    arguments = command(cases, *asked("http://127.0.0.1:9/v1", "natural"))
    saved = cases.parent / "profile.json"
    assert main(arguments) == 1
    assert rows(capsys.readouterr().out)["natural"]["error"] == "4"
    assert main([*arguments, "--save-profile", str(saved)]) == 2
    output = capsys.readouterr()
    assert "4 requests failed; natural, Lima: " in output.out
    assert "no way can be recommended" in output.err
    assert not saved.exists()


def test_an_endpoint_that_does_not_list_its_models_is_an_error(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        assert main(command(cases, "--model", url, "--timeout", "0.2")) == 2
    assert "timed out; name the model with --model-name" in capsys.readouterr().err


def test_a_terminal_shows_a_bar_from_the_start(
    cases: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with serving(*GOOD) as endpoint:
        main(command(cases, *asked(endpoint.url, "natural")))
    shown = capsys.readouterr().err.split("\r\x1b[K")
    assert [re.sub(r"[^#]", "", line) for line in shown] == [
        "", "", "#" * 7, "#" * 15, "#" * 22, "#" * 30, "",
    ]  # fmt: skip
    assert [line.rpartition("] ")[2] for line in shown[1:3]] == ["0/4 ", "1/4 natural Oslo"]


INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("toolweave", run_name="__main__")
"""
"""Program that is stopped by Ctrl-C, even if the tests run in the background of a shell."""


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_continues(
    stop: signal.Signals, cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began, release = threading.Event(), threading.Event()
    pieces: Any = stalled(began, release)
    with serving(*GOOD[:2], Reply(pieces), *GOOD[2:]) as endpoint:
        arguments = command(cases, *asked(endpoint.url, "natural"))
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTIBLE, *arguments], stderr=subprocess.DEVNULL
        )
        try:
            assert began.wait(60)
            os.kill(process.pid, stop)
            assert process.wait(60) in (-stop, 130)
        finally:
            process.kill()
            release.set()
        file = cases.parent / "replies.jsonl"
        assert [reply.case for reply in load_replies(file)] == ["Oslo", "Rome"]
        # A process that is killed while it writes leaves a part of a line.
        with file.open("ab") as opened:
            opened.write(b'{"case": "Lima", "way": "nat')
        assert main(arguments) == 0
        assert len(endpoint.requests) == 5
    output = capsys.readouterr()
    assert output.err.splitlines()[1:] == ["2/4", "4/4"]
    assert rows(output.out)["natural"]["right"] == "3"
    assert "an incomplete last line of 28 bytes is dropped" in output.err
    assert [reply.case for reply in load_replies(file)] == [*CITIES, "thanks"]


def test_several_requests_are_made_at_once(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(*["Hm."] * 4) as endpoint:
        main(command(cases, *asked(endpoint.url, "natural"), "--concurrency", "3"))
        assert len(endpoint.requests) == 4
    assert rows(capsys.readouterr().out)["natural"]["missed"] == "3"


def test_tools_of_a_file_replace_those_of_the_cases(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own_tools.py"
    file.write_text(
        "from __future__ import annotations\n\n"
        "def get_weather(city: str) -> str:\n"
        '    """Look out of the window."""\n'
        "    return 'sunny'\n\n\n"
        "def _hidden() -> None: ...\n"
    )
    with serving(*GOOD) as endpoint:
        assert main(command(cases, *asked(endpoint.url, "natural"), "--tools", str(file))) == 0
        prompt = endpoint.prompts()[0][0][1]
    assert "Look out of the window." in prompt
    assert "_hidden" not in prompt
    capsys.readouterr()
    assert main(command(cases, "--rescore", "--tools", str(file))) == 0
    # With the tools of the cases, the replies are to other requests.
    assert main(command(cases, "--rescore")) == 2
    file.write_text("def rain() -> None: ...\n")
    capsys.readouterr()
    assert main(command(cases, "--rescore", "--tools", str(file))) == 2
    assert "case 'Oslo': /expected/0/name: must be one of the tools (rain)" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either --model URL or --rescore"),
        (("--model", "http://127.0.0.1:9/v1", "--rescore"), "give either --model URL or --rescore"),
        (("--rescore", "--replies", "missing.jsonl"), "cannot read missing.jsonl"),
        (("--rescore", "--cases", "missing.jsonl"), "cannot read missing.jsonl"),
        (("--rescore", "--bfcl", "x"), "--bfcl requires --cases bfcl:CATEGORY"),
        (("--rescore", "--queries", "x"), "--queries requires --select FILE"),
        (("--rescore", "--select", "x", "--tools", "y"), "--tools is not for --select"),
        (("--rescore", "--api-key-env", "X"), "--api-key-env requires --model URL"),
        (("--rescore", "--tools", "missing.py"), "cannot read missing.py"),
        (("--rescore", "--cases", "bfcl:"), "a category of BFCL must be one of simple, "),
        (("--rescore", "--html", "nowhere/r.html"), "cannot write nowhere/r.html: no such folder"),
        (("--rescore", "--save-profile", "nowhere/p"), "cannot write nowhere/p: no such folder"),
        (
            ("--model", "http://127.0.0.1:9/v1", "--replies", "nowhere/r.jsonl"),
            "cannot write nowhere/r.jsonl: no such folder",
        ),
        (
            ("--model", "http://127.0.0.1:9/v1", "--model-name", "m", "--ways", "klingon"),
            "a way must be native, recovered, json or a dialect (natural, ",
        ),
    ],
)
def test_wrong_usage_is_an_error(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("way", ["natural", "hermes", "qwen3_coder", "json", "glm45"])
def test_a_way_teaches_its_dialect_and_reads_it(
    way: str, cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = {
        "natural": natural("Oslo"),
        "hermes": hermes("Oslo"),
        "json": '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
        "qwen3_coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>"
        "\n</function>\n</tool_call>",
        "glm45": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
        "</tool_call>",
    }
    shown = {
        "natural": "<get_weather>",
        "hermes": '<tool_call>\n{"name"',
        "json": '```json\n{"name"',
        "qwen3_coder": "<function=",
        "glm45": "<arg_key>",
    }
    with serving(replies[way], *["Hm."] * 3) as endpoint:
        # The model's own dialect is `hermes`.
        assert main(command(cases, *asked(endpoint.url, way))) == 0
        assert not any(request.get("tools") for request in endpoint.requests)
        assert shown[way] in endpoint.prompts()[0][0][1]
        assert not any(
            other in endpoint.prompts()[0][0][1] for name, other in shown.items() if name != way
        )
    row = rows(capsys.readouterr().out)[way]
    assert (row["right"], row["missed"]) == ("2", "2")


def test_variants_of_a_way_change_the_request(cases: Path) -> None:
    ways = ("natural", "natural-full", "natural+reminder", "natural-fenced", "natural-tool_call")
    with serving(*["Hm."] * 20) as endpoint:
        assert main(command(cases, *asked(endpoint.url, ",".join(ways)))) == 0
        first = dict(zip(ways, endpoint.prompts()[::4], strict=True))
    plain = first["natural"]
    assert "Weather in Oslo?" in plain[-1][1]
    assert len(first["natural-full"][0][1]) > len(plain[0][1])
    assert first["natural+reminder"][0] == plain[0]
    assert first["natural+reminder"][-1][1].startswith("Weather in Oslo?\n")
    assert "```" in first["natural-fenced"][0][1]
    assert "```" not in plain[0][1]
    assert '<tool_call name="get_weather">' in first["natural-tool_call"][0][1]


def test_a_dialect_that_is_only_read_cannot_be_asked_but_scored(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(cases, *asked("http://127.0.0.1:9/v1", "react"))) == 2
    assert "must be one of natural, " in capsys.readouterr().err
    text = 'Thought: I look.\nAction: get_weather\nAction Input: {"city": "Oslo"}'
    (cases.parent / "replies.jsonl").write_text(RawReply("Oslo", "react", "m", text).to_json())
    assert main(command(cases, "--rescore")) == 0
    assert rows(capsys.readouterr().out)["react"]["right"] == "1"


def test_a_tool_that_a_dialect_cannot_name_is_an_error_of_its_cases_alone(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = cases.read_text()
    first, rest = text.split("\n", 1)
    cases.write_text(first.replace("get_weather", "get.weather()") + "\n" + rest)
    with serving(*GOOD[1:]) as endpoint:
        assert main(command(cases, *asked(endpoint.url, "pythonic"))) == 0
        assert len(endpoint.requests) == 3
    assert rows(capsys.readouterr().out)["pythonic"]["error"] == "1"
    assert "ContractError" in (load_replies(cases.parent / "replies.jsonl")[0].error or "")


def test_replies_of_several_models_need_a_name(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [RawReply("Oslo", "natural", model, natural("Oslo")) for model in ("one", "two")]
    text = "\n".join(line.to_json() for line in lines)
    (cases.parent / "replies.jsonl").write_text(text)
    assert main(command(cases, "--rescore")) == 2
    assert "has replies of one, two; choose one with --model-name" in capsys.readouterr().err
    assert main(command(cases, "--rescore", "--model-name", "two")) == 0
    assert main(command(cases, "--rescore", "--model-name", "three")) == 2


def test_replies_that_another_program_recorded_are_scored(
    cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"case": "Oslo", "way": "my prompt", "text": natural("Oslo"), "request": {"x": 1}}
    called = {**line, "way": "native", "text": None, "native_calls": [
        {"name": "get_weather", "arguments": {"city": "Oslo"}}]}  # fmt: skip
    text = "\n".join(map(json.dumps, (line, called)))
    (cases.parent / "replies.jsonl").write_text(text)
    assert main(command(cases, "--rescore")) == 0
    table = rows(capsys.readouterr().out)
    assert {name: row["right"] for name, row in table.items()} == {
        "my prompt": "1", "native": "1", "recovered": "1",
    }  # fmt: skip
