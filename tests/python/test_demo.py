"""The demo: recordings, tools, what is held back, and a live endpoint on the loopback."""

from __future__ import annotations

import datetime
import io
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolweave import Parser, ToolCall
from toolweave.cli import main
from toolweave.demo.endpoint import Endpoint, EndpointError, server_sent_data
from toolweave.demo.ledger import Ledger
from toolweave.demo.narrator import Narrator
from toolweave.demo.player import RECORDED_ON, Player
from toolweave.demo.recordings import Recording, contracts, recordings
from toolweave.demo.screens import PlainScreen, visible
from toolweave.demo.tools import ToolBox

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EACH = pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)
KEY = "sk-very-secret-0123456789"


# Recordings


def test_there_are_recordings_of_both_models_and_names_are_unique() -> None:
    names = [recording.name for recording in recordings()]
    assert len(names) == len(set(names)) >= 12
    assert {recording.model for recording in recordings()} == {
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-1.5b",
        None,
    }


@EACH
def test_a_recording_says_where_it_comes_from(recording: Recording) -> None:
    if recording.source == "recorded":
        assert f"recorded reply of {recording.model}, temperature" in recording.facts
        assert str(RECORDED_ON) in recording.facts
    else:
        assert recording.facts == "written by hand"
    assert recording.finish_reason in ("stop", "length")
    assert list(recording.delta_ms) == sorted(recording.delta_ms)


@EACH
def test_what_is_held_back_is_always_the_end_of_what_came_in(recording: Recording) -> None:
    parser = Parser(contracts())
    ledger = Ledger()
    so_far = ""
    for chunk in recording.chunks(None):
        so_far += chunk
        ledger.feed(chunk)
        for event in parser.push(chunk):
            ledger.take(event)
        assert so_far.endswith(ledger.held)
    for event in parser.finish(truncated=recording.finish_reason == "length"):
        ledger.take(event)
    assert ledger.held == ""


@EACH
def test_playing_a_recording_shows_all_of_its_text_and_its_history(recording: Recording) -> None:
    out = io.StringIO()
    Player(contracts(), Narrator(PlainScreen(out))).play(recording, None)
    shown = out.getvalue()
    assert shown.startswith(f"\n== {recording.name}: ")
    assert f"user {recording.prompt}" in shown
    assert "history" in shown
    first = "".join(recording.deltas).split("\n", 1)[0]
    if "<" not in first:
        assert f"    text {first}" in shown


def test_the_pace_is_that_of_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    recording = recordings()[0]
    assert "".join(recording.chunks(2)) == "".join(recording.deltas)
    expected = [
        min((after - before) / 2000, 2)
        for before, after in zip((0, *recording.delta_ms), recording.delta_ms, strict=False)
    ]
    assert slept == pytest.approx(expected)


# The command


def test_without_a_terminal_the_demo_plays_everything_as_plain_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "\x1b" not in printed.out
    for recording in recordings():
        assert f"== {recording.name}: " in printed.out
    for label in ("text", "held", "call", "args", "ready", "mended", "result", "invalid"):
        assert f"\n{label:>8} " in printed.out, label
    assert f"{len(recordings())} replies: " in printed.out


def test_one_recording_can_be_played_and_all_can_be_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(recording.name in listed for recording in recordings())
    assert main(["demo", "--only", "kelvin", "--fast"]) == 0
    printed = capsys.readouterr().out
    assert "== kelvin: " in printed
    assert "== add: " not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nothing"], "no recording 'nothing'; there are add, "),
        (["--prompt", "hello"], "--prompt goes with --model URL"),
        (["--model", "http://127.0.0.1:1/v1"], "needs --model-name NAME"),
        (["--model", "ftp://host", "--model-name", "m", "--prompt", "x"], "is not a URL"),
        (["--model", "http://h", "--model-name", "m", "--list"], "for recordings"),
        (
            ["--model", "http://h", "--model-name", "m", "--api-key-env", "NO_SUCH_KEY"],
            "the environment variable NO_SUCH_KEY is not set",
        ),
        (["--model", "http://127.0.0.1:1/v1", "--model-name", "m"], "--prompt TEXT says"),
        (
            ["--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--prompt", "x"],
            "cannot reach http://127.0.0.1:1/v1/chat/completions",
        ),
    ],
)
def test_options_that_cannot_work_are_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_without_rich_a_terminal_gets_plain_text_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("toolweave.cli.demo.find_spec", lambda _name: None)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["demo", "--fast", "--only", "add"]) == 0
    printed = capsys.readouterr()
    assert "pip install 'toolweave[cli]'" in printed.err
    assert "result 42" in printed.out


def test_a_terminal_shows_what_is_held_back_while_it_is() -> None:
    console = pytest.importorskip("rich.console")
    from toolweave.demo.colours import ColourScreen

    out = io.StringIO()
    terminal = console.Console(file=out, force_terminal=True, width=100, highlight=False)
    with ColourScreen(terminal) as screen:
        player = Player(contracts(), Narrator(screen))
        for recording in recordings():
            player.play(recording, None)
    drawn = out.getvalue()
    assert "held back: it may be a call" in drawn
    assert "\x1b[30;43m<Add" in drawn


def test_a_stream_that_cannot_encode_a_character_gets_an_escape() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Narrator(PlainScreen(out)).say("user", "Zoé")
    out.flush()
    assert raw.getvalue() == b"    user Zo\\xe9\n"


def test_control_characters_are_spelled_out() -> None:
    assert visible("a\n\t\x1b[31mé") == "a\\n\\t\\x1b[31mé"


# The tools


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="call_0", name=name, arguments=arguments, raw="", index=0, repairs=())


def answer(name: str, **arguments: Any) -> str:
    return ToolBox(RECORDED_ON).run(call(name, **arguments)).result


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("Add", 15, 27, "42"),
        ("Add", 0.1, 0.2, "0.3"),
        ("Add", 6.02e23, 2, "602000000000000000000002"),
        ("Add", 12345678901234567890123, 1, "12345678901234567890124"),
        ("Multiply", 12.5, -4, "-50"),
        ("Multiply", 3, 0.5, "1.5"),
        ("Multiply", -0.0, 3, "-0"),
    ],
)
def test_sums_are_exact(name: str, a: float, b: float, expected: str) -> None:
    assert answer(name, a=a, b=b) == expected


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 1 << 2_000])
def test_a_number_that_cannot_be_reckoned_with_is_an_error(number: float) -> None:
    result = ToolBox(RECORDED_ON).run(call("Multiply", a=number, b=2))
    assert (result.is_error, result.error_code) == (True, "tool_error")
    assert result.result.startswith("Error executing tool: ")


def test_weather_is_that_of_the_month_in_the_unit_asked_for() -> None:
    assert answer("GetWeather", location="Nice, France").startswith("Nice: 18 °C")
    assert "64 °F" in answer("GetWeather", location="nice", unit="fahrenheit")
    assert "no weather for 'Atlantis'; there is for San" in answer(
        "GetWeather", location="Atlantis"
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "booked: Gusto, 3 people, Friday 2025-08-01 13:00, GUS-0801-03"),
        ({"restaurantName": " gusto "}, "booked: Gusto"),
        ({"restaurantName": "Sushi Dai"}, "no restaurant 'Sushi Dai'; there are Adler"),
        ({"date": "2025-04-31"}, "not a date and a time"),
        ({"date": "tomorrow"}, "not a date and a time"),
        ({"date": "2025-05-11"}, "2025-05-11 is in the past; today is 2025-05-12"),
        ({"date": "2025-08-04"}, "Gusto is closed on Mondays"),
        ({"time": "23:00"}, "Gusto is open from 12:00 to 22:00"),
        ({"numberOfPeople": 0}, "at least one person"),
        ({"numberOfPeople": 25}, "24 seats left"),
    ],
)
def test_a_booking_is_made_or_refused_for_a_reason(changed: dict[str, Any], expected: str) -> None:
    wish = {"restaurantName": "Gusto", "date": "2025-08-01", "time": "13:00", "numberOfPeople": 3}
    assert expected in answer("BookRestaurant", **{**wish, **changed})


def test_seats_that_are_booked_are_gone() -> None:
    tools = ToolBox(RECORDED_ON)
    wish = {"restaurantName": "Bar <Centrale> & Co", "date": "2025-05-20", "time": "21:00"}
    assert not tools.run(call("BookRestaurant", **wish, numberOfPeople=6)).is_error
    assert "2 seats left" in tools.run(call("BookRestaurant", **wish, numberOfPeople=3)).result


def test_mail_is_written_but_not_sent() -> None:
    tools = ToolBox(RECORDED_ON)
    mail = {"subject": "Lünch", "body": "a\nb", "priority": "high"}
    result = tools.run(call("SendEmail", to=["bob@example.com", "eve@example.com"], **mail))
    assert "nothing is sent" in result.result
    (message,) = tools.outbox
    assert message["To"] == "bob@example.com, eve@example.com"
    assert message["Importance"] == "high"
    assert message.get_content().splitlines() == ["a", "b"]
    for bad in ("bob", "bob@example.com\nBcc: eve@example.com", "@", "a b@c"):
        assert tools.run(call("SendEmail", to=[bad], **mail)).is_error
    assert tools.run(call("SendEmail", to=["a@b"], subject="x\r\nBcc: e@f", body="")).is_error
    assert len(tools.outbox) == 1


# A live endpoint


def test_server_sent_events_are_read_as_servers_write_them() -> None:
    stream = (
        b"\xef\xbb\xbf: keep-alive\n\ndata: one\n\n:\r\n\r\ndata:two\r\ndata: lines\r\n\r\n"
        b'event: x\nid: 7\nretry: 1\ndata\n\nnot a field\n\ndata: {"a": 1}\n\ndata: last'
    )
    assert list(server_sent_data(stream.splitlines(keepends=True))) == [
        "one",
        "two\nlines",
        "",
        '{"a": 1}',
        "last",
    ]


def delta(text: str | None = None, *, finish: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": {"content": text, **more}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


USAGE = b'data: {"choices": [], "usage": {"total_tokens": 9}}\n\n'
DONE = b"data: [DONE]\n\n"


class Answer:
    """What the server is to answer."""

    def __init__(
        self,
        *parts: bytes,
        status: int = 200,
        kind: str = "text/event-stream; charset=utf-8",
        headers: Sequence[tuple[str, str]] = (),
        length: int | None = None,
    ) -> None:
        self.parts = parts
        self.status = status
        self.kind = kind
        self.headers = headers
        self.length = length


class Served:
    """A server, and what it was sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []


@contextmanager
def serving(*answers: Answer) -> Iterator[Served]:
    waiting = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            served.requests.append(
                {"path": self.path, "headers": dict(self.headers), "body": json.loads(body)}
            )
            answer = waiting.pop(0)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            if answer.length is not None:
                self.send_header("Content-Length", str(answer.length))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            for part in answer.parts:
                self.wfile.write(part)
                self.wfile.flush()

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Served(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(*parts: bytes, **how: Any) -> tuple[str, str, Any]:
    """Text, thinking and the reply, of one request."""
    with serving(Answer(*parts, **how)) as served:
        reply = Endpoint(served.url, "m", KEY, timeout=10).ask([{"role": "user", "content": "x"}])
        pieces = list(reply)
    text = "".join(piece.text for piece in pieces if not piece.reasoning)
    return text, "".join(piece.text for piece in pieces if piece.reasoning), reply


def test_a_stream_in_good_order() -> None:
    text, thought, reply = ask(
        b": ping\n\n",
        delta("", role="assistant"),
        delta(None, reasoning_content="hm"),
        delta("Hé"),
        b": ping\n\n",
        delta("llo 🍵"),
        delta(finish="stop"),
        USAGE,
        DONE,
        delta("after the end"),
    )
    assert (text, thought) == ("Héllo 🍵", "hm")
    assert (reply.finish_reason, reply.truncated, reply.remarks) == ("stop", False, [])


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_reply_that_was_cut_off_is_truncated(reason: str) -> None:
    _, _, reply = ask(delta("x"), delta(finish=reason), DONE)
    assert reply.truncated


def test_no_finish_reason_is_remarked_on() -> None:
    text, _, reply = ask(delta("x"), DONE)
    assert (text, reply.truncated) == ("x", False)
    assert reply.remarks == [
        (
            "the server gave no finish_reason; the stream ended in good order, "
            "so the reply is taken as complete"
        )
    ]
    text, _, reply = ask(delta("x"))
    assert (text, reply.truncated) == ("x", True)
    assert "taken as cut off" in reply.remarks[-1]


def test_a_connection_that_breaks_keeps_what_came() -> None:
    text, _, reply = ask(delta("half"), length=10_000)
    assert text == "half"
    assert reply.truncated
    assert "taken as cut off" in reply.remarks[-1]


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {"choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]}
    text, _, reply = ask(json.dumps(message).encode(), kind="application/json")
    assert (text, reply.truncated) == ("all", False)


def test_native_tool_calls_are_remarked_on_once() -> None:
    native = delta(tool_calls=[{"index": 0}])
    _, _, reply = ask(native, native, delta(finish="tool_calls"), DONE)
    assert [remark for remark in reply.remarks if "native" in remark] == reply.remarks
    assert len(reply.remarks) == 1


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((delta("x"), b'data: {"error": {"message": "overloaded"}}\n\n'), "reported: overloaded"),
        ((b"data: <html>\n\n",), "something else than JSON: '<html>'"),
        ((b"data: " + b"x" * (1 << 20) + b"\n\n",), "a line of more than"),
        ((b"data: " + b"[" * 500_000 + b"\n\n",), "something else than JSON"),
    ],
)
def test_a_stream_that_is_none_is_an_error(parts: tuple[bytes, ...], message: str) -> None:
    with pytest.raises(EndpointError, match=message):
        ask(*parts)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, f'{{"error": {{"message": "bad key {KEY}"}}}}', r"answered 401: bad key \[key\]"),
        (404, '{"error": "no such model"}', "answered 404: no such model"),
        (429, "slow\ndown", "answered 429: slow down"),
        (500, "", "answered 500: Internal Server Error"),
        (503, "[" * 10_000, "answered 503: "),
    ],
)
def test_an_http_error_says_what_the_server_said_but_never_the_key(
    status: int, body: str, message: str
) -> None:
    with pytest.raises(EndpointError, match=message) as raised:
        ask(body.encode(), status=status, kind="application/json")
    assert KEY not in str(raised.value)


def test_the_key_is_not_sent_on_to_another_host() -> None:
    with serving(Answer(delta("stolen"), DONE)) as other:
        with pytest.raises(EndpointError, match=f"redirected to {other.url}"):
            ask(status=307, headers=[("Location", other.url)])
        assert other.requests == []


def test_the_key_is_sent_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEMO_KEY", KEY)
    with serving(Answer(delta(f"Hello {KEY[:3]}", finish="stop"), DONE)) as served:
        arguments = ["demo", "--model", served.url, "--model-name", "m", "--prompt", "Hi"]
        assert main([*arguments, "--api-key-env", "DEMO_KEY"]) == 0
    (request,) = served.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["Authorization"] == f"Bearer {KEY}"
    printed = capsys.readouterr()
    assert KEY not in printed.out + printed.err
    assert KEY not in repr(Endpoint("http://h", "m", KEY))
    with pytest.raises(EndpointError) as raised:
        Endpoint("http://h", "m", f"{KEY}\n")
    assert KEY not in str(raised.value)


def test_results_go_back_to_the_model_until_it_calls_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = [
        delta(piece) for piece in ("I'll add.\n\n<A", 'dd>\n{"a": 1', "5, ", '"b": 27}\n</Add>')
    ]
    with serving(
        Answer(*first, delta(finish="stop"), DONE),
        Answer(delta("It is 42."), delta(finish="stop"), DONE),
    ) as served:
        arguments = ["demo", "--model", served.url, "--model-name", "m", "--prompt", "15 + 27?"]
        assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "result 42" in printed
    assert "text It is 42." in printed
    assert printed.index("the results go back") < printed.index("It is 42.")
    one, two = (request["body"] for request in served.requests)
    assert one["model"] == "m"
    assert one["stream"] is True
    assert one["messages"][0]["role"] == "system"
    assert f"Today is {datetime.date.today()}" in one["messages"][0]["content"]  # noqa: DTZ011
    assert one["messages"][1:] == [{"role": "user", "content": "15 + 27?"}]
    assert two["messages"][:2] == one["messages"]
    history = "".join(message["content"] for message in two["messages"][2:])
    assert "Add" in history
    assert "42" in history


def test_a_model_that_only_calls_tools_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    again = Answer(delta('<Add>{"a": 1, "b": 1}</Add>', finish="stop"), DONE)
    with serving(*[again] * 4) as served:
        arguments = ["demo", "--model", served.url, "--model-name", "m", "--prompt", "loop"]
        assert main(arguments) == 0
    assert len(served.requests) == 4
    assert "stopped after 4 requests" in capsys.readouterr().out


def test_streams_are_where_the_readme_says() -> None:
    folder = Path(__file__).resolve().parents[2] / "examples" / "streams"
    names = [recording.name for recording in recordings()]
    files = [file.name for file in sorted(folder.iterdir()) if file.name != "systems.json"]
    assert files == [f"{number:02}-{name}.json" for number, name in enumerate(names, 1)]
