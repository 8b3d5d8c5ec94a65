"""Tools at remote endpoints, over real connections."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler_registries import Registry
from servers.sse import Answer, Do, Served, serving
from toolweave._core import ToolEntry
from toolweave.exceptions import HandlerError, ToolServerError
from toolweave.handlers import run_handler
from toolweave.handlers._remote import _ssl_context, event_data
from toolweave.registry import ToolRegistry

ASKED = {"query": "crème brûlée", "site": "recipes"}
WAIT = 10.0
# The events of NLWeb's own endpoint, while it works and at the end.
MESSAGES: list[dict[str, Any]] = [
    {"message_type": "tool_selection", "selected_tool": "search", "score": 90},
    {"message_type": "result_batch", "results": [{"name": "Crème brûlée", "score": 88}]},
    {"message_type": "complete"},
]
STREAM = [b"data: " + json.dumps(message).encode() + b"\n\n" for message in MESSAGES]


def reply(*pieces: bytes, kind: str = "application/json", **more: Any) -> Answer:
    return Answer(pieces, kind=kind, **more)


def host(server: Served) -> str:
    return server.url.removeprefix("http://")


def asked(
    *answers: Answer | Callable[[dict[str, Any]], Answer],
    parameters: Any = ASKED,
    path: str = "/ask",
    **options: Any,
) -> tuple[Any, list[dict[str, Any]]]:
    """Return the value of a tool at a server, and the requests that the server got."""

    async def main() -> tuple[Any, list[dict[str, Any]]]:
        async with serving(*answers) as server:
            entry = ToolEntry("remote", method="url", path=server.url + path)
            given = {"allowed_hosts": [host(server)], **options}
            run = await run_handler(Registry(), entry, parameters, **given)
            return run.value, server.requests

    return asyncio.run(main())


def refused(*answers: Answer | Callable[[dict[str, Any]], Answer], **options: Any) -> str:
    """Return the error message for a server that answers incorrectly."""
    with pytest.raises(ToolServerError) as raised:
        asked(*answers, **options)
    assert raised.value.server.startswith("127.0.0.1:")
    return str(raised.value)


def test_parameters_are_posted_as_json_and_the_answer_is_read_as_json() -> None:
    value, [request] = asked(reply(b'{"results": [{"name"', b': "soup"}]}'))
    assert value == {"results": [{"name": "soup"}]}
    assert request["path"] == "/ask"
    assert request["body"] == ASKED
    assert request["headers"]["content-type"] == "application/json"
    assert request["headers"]["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("base", "path", "leads_to"),
    [
        ("/", "ask", "/ask"),
        ("/v2/", "ask", "/v2/ask"),
        ("/v2/", "/api/search", "/api/search"),
        ("/v2/page", "../ask?x=1", "/ask?x=1"),
    ],
)
@pytest.mark.parametrize("base_url_from", ["the registry", "the caller"])
def test_a_relative_path_is_joined_to_the_base_url(
    base: str, path: str, leads_to: str, base_url_from: str
) -> None:
    async def main() -> None:
        async with serving(reply(b"1")) as server:
            own = server.url + base if base_url_from == "the registry" else "https://example.org"
            registry = ToolRegistry(base_url=own)
            more = {} if base_url_from == "the registry" else {"base_url": server.url + base}
            entry = ToolEntry("remote", method="url", path=path)
            given: dict[str, Any] = {"allowed_hosts": [host(server)], **more}
            assert (await run_handler(registry, entry, ASKED, **given)).value == 1
            assert server.requests[0]["path"] == leads_to

    asyncio.run(main())


@pytest.mark.parametrize("path", ["//elsewhere.example/ask", "https://elsewhere.example/ask"])
def test_no_path_bypasses_the_allowed_hosts(path: str) -> None:
    registry = ToolRegistry(base_url="https://api.example.org/")
    entry = ToolEntry("remote", method="url", path=path)
    running = run_handler(registry, entry, ASKED, allowed_hosts=["api.example.org"])
    with pytest.raises(HandlerError, match=r"elsewhere\.example, which is not allowed"):
        asyncio.run(running)


def test_the_ssl_context_is_created_once_for_all_requests() -> None:
    asked(reply(b"1"))
    before = _ssl_context.cache_info()
    asked(reply(b"1"))
    after = _ssl_context.cache_info()
    assert (before.misses, after.misses, after.hits) == (1, 1, before.hits + 1)


def test_an_event_stream_becomes_the_list_of_its_messages() -> None:
    value, _ = asked(reply(*STREAM, kind="text/event-stream; charset=utf-8"))
    assert value == MESSAGES


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (reply("crème".encode(), kind="text/plain"), "crème"),
        (reply(b"data: [DONE]\n\ndata: ok", kind="text/event-stream"), ["[DONE]", "ok"]),
        (reply(b"", kind="text/event-stream"), None),
        (reply(b" \n", kind="application/json"), None),
        (reply(b"[1]", kind="application/ld+json"), [1]),
        (reply(b"[1]", kind=""), [1]),
    ],
)
def test_text_is_a_string_and_an_empty_body_is_none(answer: Answer, expected: Any) -> None:
    assert asked(answer)[0] == expected


EVENTS = st.lists(st.lists(st.text(alphabet="a: é\u2028\x0b", max_size=6), min_size=1, max_size=3))


@given(events=EVENTS, end=st.sampled_from(["\n", "\r", "\r\n"]), comment=st.booleans())
def test_events_are_read_with_any_line_ending(
    events: list[list[str]], end: str, comment: bool
) -> None:
    text = "".join(
        (f": still here{end}" if comment else f"id: 7{end}")
        + "".join(f"data: {line}{end}" for line in lines)
        + end
        for lines in events
    )
    assert event_data(text) == ["\n".join(lines) for lines in events]


# Allowed hosts


@pytest.mark.parametrize(
    ("path", "allowed", "message"),
    [
        ("http://example.org/ask", [], r"allowed_hosts=['example.org']"),
        ("http://example.org:81/ask", ["example.org"], r"allowed_hosts=['example.org:81']"),
        ("http://example.org.evil.net/", ["example.org"], "leads to example.org.evil.net"),
        ("http://evil.net#example.org", ["example.org"], "leads to evil.net"),
        (
            "http://example.org@evil.net/",
            ["example.org", "evil.net"],
            "contain a user name or password",
        ),
        ("https://example.org:80/", ["example.org"], "leads to example.org:80"),
        ("http://[::1]/ask", ["example.org"], r"allowed_hosts=['[::1]']"),
        ("file:///etc/passwd", ["", "example.org"], "must be an absolute http or https URL"),
        ("ftp://example.org/", ["example.org"], "must be an absolute http or https URL"),
        ("/ask", ["example.org"], "must be an absolute http or https URL"),
        ("", ["example.org"], "must be an absolute http or https URL"),
        ("http://", ["example.org"], "must be an absolute http or https URL"),
        ("http://a:port/", ["a"], "must be a URL"),
    ],
)
def test_a_url_that_is_not_allowed_is_refused_before_a_request(
    path: str, allowed: list[str], message: str
) -> None:
    entry = ToolEntry("remote", method="url", path=path)
    with pytest.raises(HandlerError) as raised:
        asyncio.run(run_handler(Registry(), entry, ASKED, allowed_hosts=allowed))
    assert message in str(raised.value)
    assert raised.value.handler == path


def test_hosts_match_in_any_case_and_with_the_default_port() -> None:
    for allowed in (["LOCALHOST:80"], ["localhost"]):
        entry = ToolEntry("remote", method="url", path="http://LocalHost/ask")
        asked: list[str] = []

        def answer(request: httpx.Request, asked: list[str] = asked) -> httpx.Response:
            asked.append(str(request.url))
            return httpx.Response(200, json=1)

        async def main(entry: ToolEntry, allowed: list[str], answer: Any) -> Any:
            async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
                return await run_handler(
                    Registry(), entry, {}, allowed_hosts=allowed, client=client
                )

        assert asyncio.run(main(entry, allowed, answer)).value == 1
        assert asked == ["http://localhost/ask"]


def redirect(to: str, status: int = 307) -> Answer:
    return Answer([b"{}"], status=status, headers=[f"Location: {to}"])


def test_a_redirect_on_the_same_host_is_followed_with_the_parameters() -> None:
    value, requests = asked(redirect("/v2/ask"), redirect("ask/", 308), reply(b"[2]"))
    assert value == [2]
    assert [request["path"] for request in requests] == ["/ask", "/v2/ask", "/v2/ask/"]
    assert [request["body"] for request in requests] == [ASKED] * 3


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([redirect("http://localhost/ask")], "redirects to http://localhost/ask; only the same"),
        ([redirect("http://127.0.0.1:9/ask")], "redirects to http://127.0.0.1:9/ask, which leads"),
        ([redirect("file:///etc/passwd")], "redirects to file:/etc/passwd; only the same host"),
        ([redirect("//evil.net/ask")], "redirects to http://evil.net/ask; only the same host"),
        ([redirect("/ask")], "redirects more than 3 times"),
        ([redirect("/ask", 302)], "answered 302 X to /ask; only 307 and 308 redirect a POST"),
    ],
)
def test_a_redirect_to_anywhere_else_is_not_followed(answers: list[Answer], message: str) -> None:
    assert message in refused(*answers)


def test_a_client_that_follows_redirects_does_not_bypass_the_checks() -> None:
    async def main() -> None:
        async with serving(reply(b"1")) as other, serving(redirect(f"{other.url}/x")) as server:
            entry = ToolEntry("remote", method="url", path=server.url)
            async with httpx.AsyncClient(follow_redirects=True) as client:
                with pytest.raises(ToolServerError, match="redirects to"):
                    await run_handler(
                        Registry(), entry, {}, allowed_hosts=[host(server)], client=client
                    )
            assert other.requests == []

    asyncio.run(main())


def test_a_given_client_uses_its_headers_and_stays_open() -> None:
    async def main() -> list[dict[str, Any]]:
        async with serving(reply(b"1")) as server:
            entry = ToolEntry("remote", method="url", path=server.url)
            async with httpx.AsyncClient(headers={"Authorization": "Bearer k"}) as client:
                for _ in range(2):
                    await run_handler(
                        Registry(), entry, {}, allowed_hosts=[host(server)], client=client
                    )
            return server.requests

    assert [each["headers"]["authorization"] for each in asyncio.run(main())] == ["Bearer k"] * 2


# Invalid responses


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (reply(b"{}", status=500), "answered 500 X"),
        (reply(b"{}", status=404), "answered 404 X"),
        (reply(b'{"a": '), "answered as application/json, but not with JSON"),
        (reply(b"\x89PNG", kind="image/png"), "answered as image/png, but not with JSON"),
        (reply(b"soup", kind=""), "answered without a content type, but not with JSON"),
        (reply(b"[" * 100_000), "but not with JSON"),
        (reply(b'"\xff"'), "but not with JSON"),
        (reply(b"[1", Do.CUT), "the request to"),
        (reply(b"[1]", Do.END), "the request to"),
    ],
)
def test_an_invalid_response_is_a_tool_server_error(answer: Answer, message: str) -> None:
    assert message in refused(answer)


def test_an_endless_response_is_stopped_at_the_limit() -> None:
    endless = reply(*[b"x" * 1000] * 50, Do.HOLD, kind="text/plain")
    assert "answered with more than 20000 bytes" in refused(endless, max_response_bytes=20_000)
    value, _ = asked(reply(b"x" * 20_000, kind="text/plain"), max_response_bytes=20_000)
    assert value == "x" * 20_000


def test_a_compressed_response_is_an_error() -> None:
    bomb = reply(gzip.compress(b"0" * 10_000_000), headers=["Content-Encoding: gzip"])
    assert "must answer without content encoding, got gzip" in refused(bomb)


def test_an_unreachable_server_is_a_tool_server_error() -> None:
    async def main() -> None:
        async with serving(reply(b"1")) as server:
            pass
        entry = ToolEntry("remote", method="url", path=server.url)
        with pytest.raises(ToolServerError, match=f"the request to {host(server)} failed"):
            await run_handler(Registry(), entry, {}, allowed_hosts=[host(server)])

    asyncio.run(main())


def test_a_hanging_endpoint_times_out() -> None:
    async def main() -> None:
        async with serving(reply(b"[1", Do.HOLD)) as server:
            entry = ToolEntry("remote", method="url", path=server.url)
            with pytest.raises(TimeoutError, match=r"'remote' did not finish within 0\.05 seconds"):
                await run_handler(Registry(), entry, {}, allowed_hosts=[host(server)], timeout=0.05)

    asyncio.run(main())


def test_cancelling_closes_the_connection() -> None:
    async def main() -> None:
        arrived = asyncio.Event()

        def answer(_request: dict[str, Any]) -> Answer:
            arrived.set()
            return reply(b"[1", Do.HOLD)

        async with serving(answer) as server:
            entry = ToolEntry("remote", method="url", path=server.url)
            task = asyncio.create_task(
                run_handler(Registry(), entry, {}, allowed_hosts=[host(server)])
            )
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.client_left()

    asyncio.run(asyncio.wait_for(main(), WAIT))
