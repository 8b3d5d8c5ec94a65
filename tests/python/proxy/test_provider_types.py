"""Replies of the three APIs have the types of the providers, and their clients assemble them."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from openai_endpoint import Reply, answering
from paths import CASES
from provider_types import APIS, DOCUMENTS, check_error, check_events, check_type

from .conftest import proxying
from .test_openai_client import TOOLS as CHAT_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "unused"
QUESTION: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
PATHS = {"chat": "chat/completions", "messages": "messages", "responses": "responses"}
ADD = CHAT_TOOLS[0]["function"]
TOOLS: dict[str, Any] = {
    "chat": CHAT_TOOLS,
    "messages": [{"name": ADD["name"], "input_schema": ADD["parameters"]}],
    "responses": [{"type": "function", "name": ADD["name"], "parameters": ADD["parameters"]}],
}


def replies(api: str) -> list[Any]:
    cases = json.loads((CASES / "proxy" / f"{api}_replies.json").read_text("utf-8"))
    return [pytest.param(api, case, id=f"{api}: {case['name']}") for case in cases]


@contextmanager
def replaying(events: list[str]) -> Iterator[str]:
    """Answer each request with a stream of these events."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write("".join(f"{event}\n\n" for event in events).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing, instead of writing to stderr."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        thread.join()


def assembled(api: str, events: list[str]) -> Any:
    """Return the reply as the provider's client assembles it from events."""
    with replaying(events) as url:
        if api == "messages":
            with (
                anthropic.Anthropic(base_url=url, api_key=KEY) as claude,
                claude.messages.stream(**QUESTION) as message,
            ):
                return message.get_final_message().to_dict()
        with openai.OpenAI(base_url=url, api_key=KEY) as client:
            if api == "chat":
                with client.chat.completions.stream(**QUESTION) as completion:
                    completion.until_done()
                    return completion.current_completion_snapshot.to_dict()
            with client.responses.stream(model="m", input="Hi") as response:
                last: Any = list(response)[-1]
                return last.response.to_dict()


def assert_repeats(found: Any, expected: Any, path: str = "") -> None:
    """Check that a document has the fields of another; clients add those that are absent."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert_repeats(found.get(key), value, f"{path}.{key}")
    elif isinstance(expected, list) and expected:
        assert len(found) == len(expected), path
        for at, value in enumerate(expected):
            assert_repeats(found[at], value, f"{path}[{at}]")
    else:
        assert (found or None) == (expected or None), path


@pytest.mark.parametrize(("api", "case"), [case for api in APIS for case in replies(api)])
def test_golden_replies_have_the_types_of_the_provider(api: str, case: Any) -> None:
    streamed = any("start" in part for part in case["parts"])
    check_events(api, case["events"], streamed=streamed)
    found = assembled(api, case["events"])
    if "document" not in case:
        return
    expected = case["document"]
    check_type(DOCUMENTS[api], expected)
    if api != "responses":  # the clients leave out what they do not know
        expected.pop("toolweave", None)
    if api == "chat" and not case.get("include_usage"):
        expected.pop("usage", None)
    assert_repeats(found, expected)


CALLS = ('<add>{"a": 1, "b": 2}</add>', "<add>{'a': 1, b: \"2\"}</add>", '<add>{"a": 1}</add>')
HERMES = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
FUNCTION = {"name": "add", "arguments": '{"a": 1, "b": 2}'}
NATIVE = {"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": FUNCTION}]}
PIECES: Any = st.one_of(
    st.text(st.sampled_from("ab<>/{}\"'\\ \né\0"), min_size=1, max_size=8),
    st.sampled_from([*CALLS, HERMES, "<add>{", "</add>", NATIVE]),
    st.builds(lambda text: {"reasoning_content": text}, st.text(min_size=1, max_size=4)),
)
ENDS = st.sampled_from([*(("stop", False),) * 4, ("length", False), ("content_filter", False)])


class Upstream:
    """A model that gives the same reply to each request, and the proxies in front of it."""

    reply = Reply()

    def __init__(self) -> None:
        self.urls: list[str] = []


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    found = Upstream()
    with (
        answering(lambda _: found.reply) as endpoint,
        proxying(endpoint.url) as natural,
        proxying(endpoint.url, mode="recover") as recover,
        proxying(endpoint.url, stream_arguments=True) as streaming,
    ):
        found.urls = [natural, recover, streaming]
        yield found


@given(
    pieces=st.lists(PIECES, max_size=6),
    end=ENDS | st.just((None, True)),
    proxy=st.integers(0, 2),
)
@settings(max_examples=effort(100), deadline=None)
def test_any_reply_has_the_types_of_the_provider(
    upstream: Upstream, pieces: list[Any], end: tuple[str | None, bool], proxy: int
) -> None:
    finish, drop = end
    upstream.reply = Reply(pieces, finish=finish, drop=drop)
    for api in APIS:
        request = {"model": "m", "tools": TOOLS[api]}
        request |= {"input": "Hi"} if api == "responses" else QUESTION
        url = f"{upstream.urls[proxy]}/{PATHS[api]}"
        for stream in (False, True):
            response = httpx.post(url, json={**request, "stream": stream}, timeout=20.0)
            if response.status_code != 200:
                check_error(api, response.json())
            elif stream:
                events = response.text.removesuffix("\n\n").split("\n\n")
                check_events(api, events, streamed=proxy == 2)
            else:
                check_type(DOCUMENTS[api], response.json())
