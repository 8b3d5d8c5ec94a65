"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolweave
from toolweave.cli import main
from toolweave.cli._parse import rechunk

ADD: dict[str, Any] = {
    "name": "Add",
    "description": "Adds two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
}
REPLY = 'I add.\n<Add>\n{"a": 1, "b": 2}\n</Add>\nDone.\n'


@pytest.fixture
def tools(tmp_path: Path) -> str:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([ADD]), encoding="utf-8")
    return str(file)


@pytest.fixture
def reply(tmp_path: Path) -> str:
    file = tmp_path / "reply.txt"
    file.write_text(REPLY, encoding="utf-8", newline="")
    return str(file)


def events(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def joined(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events with adjacent deltas joined, so that chunk boundaries do not matter."""
    result: list[dict[str, Any]] = []
    for event in found:
        last = result[-1] if result else {"event": None}
        for kind, field in (("text_delta", "text"), ("tool_call_delta", "fragment")):
            if event["event"] == last["event"] == kind:
                result[-1] = {**last, field: last[field] + event[field]}
                break
        else:
            result.append(event)
    return result


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "toolweave", *arguments],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"toolweave {toolweave.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["dance"], ["parse", "--chunk", "0"], ["contracts"]])
def test_invalid_usage_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: toolweave" in capsys.readouterr().err


def test_an_unknown_option_shows_the_usage_of_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["parse", "--every"])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "usage: toolweave parse" in error
    assert "unrecognized arguments: --every" in error


def test_parse_prints_one_event_a_line(
    tools: str, reply: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", "--tools", tools, reply]) == 0
    found = joined(events(capsys.readouterr().out))
    assert [event["event"] for event in found] == [
        "text_delta",
        "tool_call_start",
        "tool_call_delta",
        "tool_call",
        "text_delta",
    ]
    call = found[3]
    assert list(call) == ["event", "id", "name", "arguments", "raw", "index", "repairs"]
    assert call["arguments"] == {"a": 1, "b": 2}
    assert found[0]["text"] + call["raw"] + found[4]["text"] == REPLY


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_chunk_boundaries_do_not_change_the_output(
    chunk: int, tools: str, reply: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["parse", "--tools", tools, reply])
    whole = joined(events(capsys.readouterr().out))
    main(["parse", "--tools", tools, "--chunk", str(chunk), reply])
    assert joined(events(capsys.readouterr().out)) == whole


def test_rechunking_keeps_the_text() -> None:
    chunks = ["", "abc", "d", "", "efghij"]
    assert list(rechunk(chunks, 4)) == ["abcd", "efgh", "ij"]
    assert list(rechunk([], 4)) == []


def test_parse_reads_standard_input_and_python_m_works(tools: str) -> None:
    done = run("parse", "--tools", tools, stdin=REPLY.encode())
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout == run("parse", "--tools", tools, "-", stdin=REPLY.encode()).stdout
    assert b'"tool_call"' in done.stdout


def test_output_is_utf8_in_any_locale(tmp_path: Path, tools: str) -> None:
    text = "Zoé: 🍵\r\n"
    done = subprocess.run(
        [sys.executable, "-m", "toolweave", "parse", "--tools", tools],
        input=text.encode(),
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(filter(None, sys.path))},
        timeout=60,
        check=True,
        cwd=tmp_path,
    )
    found = joined(events(done.stdout.decode("utf-8")))
    assert [event["text"] for event in found] == [text]


def test_without_contracts_no_tool_is_known(reply: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", reply]) == 0
    printed = capsys.readouterr()
    assert "no tool is known" in printed.err
    assert {event["event"] for event in events(printed.out)} == {"text_delta"}


def test_check_exits_with_1_if_a_call_is_invalid(
    tmp_path: Path, tools: str, reply: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", "--check", "--tools", tools, reply]) == 0
    bad = tmp_path / "bad.txt"
    bad.write_text('<Add>{"a": 1}</Add>', encoding="utf-8")
    assert main(["parse", "--tools", tools, str(bad)]) == 0
    assert main(["parse", "--check", "--tools", tools, str(bad)]) == 1
    invalid = events(capsys.readouterr().out)[-1]
    assert invalid["event"] == "invalid_tool_call"
    assert invalid["kind"] == "schema_violation"
    assert invalid["violations"][0]["keyword"] == "required"


def test_a_reply_that_was_cut_off_completes_no_call(
    tmp_path: Path, tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.txt"
    cut.write_text('<Add>{"a": 1, "b": 2', encoding="utf-8")
    main(["parse", "--truncated", "--no-deltas", "--tools", tools, str(cut)])
    *_, last = events(capsys.readouterr().out)
    assert (last["event"], last["kind"]) == ("invalid_tool_call", "unclosed")


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"abc\xff", 3),
        (b"\xff", 0),
        (b"a" * 65_535 + b"\xc3(", 65_535),
        (b"caf\xc3", 3),
        ("é".encode() * 40_000 + b"\x80", 80_000),
    ],
)
def test_invalid_utf8_is_reported_with_its_position(
    data: bytes, offset: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes(data)
    assert main(["parse", str(file)]) == 2
    message = capsys.readouterr().err
    assert f"not UTF-8: byte 0x{data[offset]:02x} at offset {offset} " in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON"),
        ("[{]", "line 1, column 3"),
        ("[" * 100_000, "is not JSON"),
        ("7", "contract 1: "),
        ('[{"name": "Add"}, []]', "contract 2: "),
        ('{"description": "nameless"}', 'contract 1: tool definition: "name" is missing'),
        ('{"name": 7}', "contract 1: "),
        ('{"name": "a b"}', "contract 1: "),
        ('{"name": "a", "parametres": {}}', 'unknown key "parametres"'),
        ('{"name": "a", "parameters": {"type": "array"}}', "contract 1: parameters of tool"),
        ('{"name": "a", "parameters": {"maximum": NaN}}', "contract 1: "),
        ('{"name": "a", "parameters": {"minimum": "1"}}', "at /minimum"),
        ('{"name": "a", "parameters": {"$ref": "http://localhost/x"}}', "nothing is fetched"),
        ('[{"name": "a"}, {"name": "a"}]', '"a" is given more than once'),
    ],
)
def test_an_invalid_contract_is_reported(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "contracts.json"
    file.write_text(content, encoding="utf-8")
    assert main(["contracts", str(file)]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert str(file) in printed


@pytest.mark.parametrize("path", ["no/such/file", "."])
def test_an_unreadable_file_is_reported(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["parse", path], ["parse", "--tools", path], ["contracts", path]):
        assert main(arguments) == 2
        assert f"cannot read {path}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrapped",
    [
        ADD,
        [ADD],
        {"model": "m", "tools": [ADD]},
        [{"type": "function", "function": {**ADD, "strict": True}}],
        [{"type": "function", "strict": True, **ADD}],
        [{"input_schema": ADD["parameters"], **{key: ADD[key] for key in ("name", "description")}}],
    ],
)
def test_contracts_are_read_in_every_supported_format(
    wrapped: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "contracts.json"
    file.write_text(json.dumps(wrapped), encoding="utf-8")
    assert main(["contracts", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "## Add" in printed
    assert "Adds two numbers." in printed
    assert "- b (number)" in printed


def test_contracts_are_shown_in_a_dialect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = {"a": {"type": "integer", "minimum": 1}}
    tool = {"name": "Add", "parameters": {"type": "object", "properties": properties}}
    file = tmp_path / "contracts.json"
    file.write_text(json.dumps(tool), encoding="utf-8")

    assert main(["contracts", str(file), "--dialect", "gemma4"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("<|tool>declaration:Add{")
    assert printed.err == "tool 'Add': at /properties/a: \"minimum\" is not shown\n"

    assert main(["contracts", str(file), "--dialect", "hermes"]) == 0
    assert capsys.readouterr().err == ""

    assert main(["contracts", str(file), "--dialect", "qwen"]) == 2
    assert 'dialect: "qwen" is not a dialect; known ones:' in capsys.readouterr().err

    file.write_text(json.dumps({"name": "add-up"}), encoding="utf-8")
    assert main(["contracts", str(file), "--dialect", "pythonic"]) == 2
    error = capsys.readouterr().err
    assert 'contracts.json: tool "add-up" cannot be presented in the dialect "pythonic"' in error


def test_a_closed_pipe_is_no_error(tmp_path: Path, tools: str) -> None:
    file = tmp_path / "long.txt"
    file.write_text(REPLY * 20_000, encoding="utf-8")
    command = [sys.executable, "-m", "toolweave", "parse", "--tools", tools, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(60)
    assert errors == b""
    assert process.returncode == 0


def test_numbers_are_printed_exactly_or_the_call_is_invalid(
    tmp_path: Path, tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.txt"
    file.write_text(
        '<Add>{"a": 0.1, "b": 12345678901234567890123}</Add><Add>{"a": 1e400, "b": 1}</Add>',
        encoding="utf-8",
    )
    assert main(["parse", "--tools", tools, "--no-deltas", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert '"arguments": {"a": 0.1, "b": 12345678901234567890123}' in lines[1]
    last = json.loads(lines[-1], parse_constant=pytest.fail)
    assert (last["event"], last["kind"]) == ("invalid_tool_call", "invalid_json")


def test_output_is_flushed_before_waiting_for_input(tools: str) -> None:
    command = [sys.executable, "-m", "toolweave", "parse", "--tools", tools, "--chunk", "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"ab")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"event": "text_delta", "text": "ab"}
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
@pytest.mark.parametrize(
    ("redirected", "code", "message"),
    [
        (">&-", 0, b""),
        ("<&-", 0, b""),
        ("2>&-", 0, b""),
        pytest.param(
            ">/dev/full",
            2,
            b"toolweave parse: cannot write: No space left on device\n",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full"),
        ),
    ],
)
def test_closed_and_full_streams_end_without_a_traceback(
    redirected: str, code: int, message: bytes, tools: str
) -> None:
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'exec "$0" -m toolweave parse --tools "$1" {redirected}',
            sys.executable,
            tools,
        ],
        input=REPLY.encode() * 1000,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, message)
