"""A live model: an endpoint on the loopback, in good and in bad order."""

from __future__ import annotations

import datetime
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from toolweave.cli import main
from toolweave.demo.endpoint import Endpoint, EndpointError, server_sent_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEY = "sk-very-secret-0123456789"


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
    # Written as the prompt asks for it; what the tool said comes from the user.
    assert "<Add>\n```json\n{" in one["messages"][0]["content"]
    assert two["messages"][2:] == [
        {
            "role": "assistant",
            "content": ('I\'ll add.\n\n<Add>\n```json\n{\n  "a": 15,\n  "b": 27\n}\n```\n</Add>'),
        },
        {"role": "user", "content": '<tool_response name="Add">\n42\n</tool_response>'},
    ]


def test_a_request_ends_with_results_even_if_the_model_went_on_after_its_call() -> None:
    reply = 'Hm. <Add>{"a": 1, "b": 1}</Add> It is 3. <tool_call name="Gone">{"x": 1}</tool_call>'
    with serving(
        Answer(delta(reply, finish="stop"), DONE), Answer(delta("2", finish="stop"), DONE)
    ) as served:
        arguments = ["demo", "--model", served.url, "--model-name", "m", "--prompt", "1 + 1?"]
        assert main(arguments) == 0
    _, second = (request["body"]["messages"] for request in served.requests)
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    said, results = (message["content"] for message in second[2:])
    assert said.index("It is 3.") < said.index("<Add>") < said.index("<Gone>")
    assert results == (
        '<tool_response name="Add">\n2\n</tool_response>\n'
        '<tool_response name="Gone" status="error">\n'
        "Tool 'Gone' not found. Available tools: "
        "GetWeather, BookRestaurant, Add, Multiply, SendEmail\n</tool_response>"
    )


def test_a_model_that_only_calls_tools_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    again = Answer(delta('<Add>{"a": 1, "b": 1}</Add>', finish="stop"), DONE)
    with serving(*[again] * 4) as served:
        arguments = ["demo", "--model", served.url, "--model-name", "m", "--prompt", "loop"]
        assert main(arguments) == 0
    assert len(served.requests) == 4
    assert "stopped after 4 requests" in capsys.readouterr().out
