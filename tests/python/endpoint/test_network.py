"""Network between `HttpModel` and its server: names, addresses, TLS, proxies, HTTP/2."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from servers.adapters import KEY
from servers.dialects import delta, openai_text
from servers.http2 import Stream, http2_server
from servers.http_models import SHORT, ask, failed, model, nothing_logged_shows_the_key
from servers.model_answers import Read, read
from servers.proxies import proxy
from servers.raw import Connection, raw_server, unresponsive_server
from servers.scripts import events, refusal
from servers.sse import Do
from servers.tls import Authority
from toolweave.models.http import HttpModel

each_test = nothing_logged_shows_the_key

WHOLE = events(*openai_text(["Hi"]))
VARIABLES = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def answer_of(url: str, **options: Any) -> Read:
    async def main() -> Read:
        async with model(url, **options) as one:
            return await read(one)

    return asyncio.run(main())


def test_an_unreachable_server_is_an_error_that_names_its_url() -> None:
    with raw_server(WHOLE) as server:
        pass
    came = answer_of(server.url)
    error = failed(came, f"127.0.0.1:{server.port}", "refused")
    assert error.transient is True


def test_a_host_that_has_no_address_is_an_error_that_names_it() -> None:
    error = failed(answer_of("http://no-such-host.invalid", connect_timeout=5.0), "no-such-host")
    assert error.transient is True


def test_connecting_times_out() -> None:
    with unresponsive_server() as port:
        came = answer_of(f"http://127.0.0.1:{port}", connect_timeout=SHORT)
    assert failed(came, "0.2 s", f"127.0.0.1:{port}").transient is True


def test_a_server_with_an_unknown_root_certificate_is_rejected(authority: Authority) -> None:
    with raw_server(WHOLE, tls=authority.server()) as server:
        error = failed(answer_of(server.url), "certificate")
        assert server.requests == []
    assert error.transient is not True


@pytest.mark.parametrize("form", [str, Path, bytes])
def test_a_server_with_a_given_root_certificate_is_trusted(authority: Authority, form: Any) -> None:
    roots = authority.pem if form is bytes else form(authority.path)
    with raw_server(WHOLE, tls=authority.server()) as server:
        came = answer_of(server.url, roots=roots)
        assert (came.text, came.error) == ("Hi", None)


def test_the_root_certificates_of_the_system_are_used_by_default(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    with raw_server(WHOLE, tls=authority.server()) as server:
        came = answer_of(server.url)
        assert (came.text, came.error) == ("Hi", None)


@pytest.mark.parametrize("fault", [{"host": "other.example"}, {"expired": True}])
def test_an_invalid_certificate_is_rejected(authority: Authority, fault: Any) -> None:
    with raw_server(WHOLE, tls=authority.server(**fault)) as server:
        failed(answer_of(server.url, roots=authority.pem), "certificate")
        assert server.requests == []


def test_a_server_without_tls_behind_https_is_an_error() -> None:
    def greet(connection: Connection) -> None:
        connection.receive()
        connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.close()

    with raw_server(WHOLE, greeting=greet) as server:
        failed(answer_of(server.url.replace("http:", "https:")), "secure connection")


def test_a_reply_over_tls_that_is_cut_keeps_what_came(authority: Authority) -> None:
    with raw_server(events(delta(content="One "), Do.CUT), tls=authority.server()) as server:
        came = answer_of(server.url, roots=authority.pem)
    assert came.text == "One "
    failed(came)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(WHOLE) as server, proxy() as between:
        monkeypatch.setenv(name, between.url)
        assert answer_of(server.url, proxy="environment").text == "Hi"
        assert [one.target for one in between.requests] == [f"{server.url}/v1/chat/completions"]
        assert len(server.requests) == 1


def test_proxy_exceptions_of_the_environment_are_observed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with raw_server(WHOLE) as server, proxy() as between:
        monkeypatch.setenv("HTTP_PROXY", between.url)
        monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
        assert answer_of(server.url, proxy="environment").text == "Hi"
        assert between.requests == []


def test_the_proxy_option_overrides_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with raw_server(WHOLE) as server, proxy() as between:
        assert answer_of(server.url, proxy=between.url).text == "Hi"
        assert len(between.requests) == 1
        assert answer_of(server.url, proxy=None).text == "Hi"
        assert len(between.requests) == 1


@pytest.mark.parametrize("named", [True, False])
def test_tls_through_a_proxy_uses_a_tunnel_that_hides_the_key(
    authority: Authority, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw_server(WHOLE, tls=authority.server()) as server, proxy() as between:
        if named:
            monkeypatch.setenv("HTTPS_PROXY", between.url)
        way = "environment" if named else between.url
        came = answer_of(server.url, proxy=way, roots=authority.pem)
        assert (came.text, came.error) == ("Hi", None)
        (seen,) = between.requests
        assert (seen.method, seen.target) == ("CONNECT", f"127.0.0.1:{server.port}")
        assert KEY not in str(seen)


def test_the_password_of_a_proxy_is_sent_and_never_shown(authority: Authority) -> None:
    with raw_server(refusal(407, "Who are you?")) as between:
        url = between.url.replace("//", "//ann:s3cret@")
        for target in ("http://h.invalid", "https://h.invalid"):
            came = answer_of(target, proxy=url, roots=authority.pem)
            status = came.error.status if came.error else None
            assert status in (407, None)
            failed(came, status=status, secret="s3cret")
        sent = [one.headers["proxy-authorization"] for one in between.requests]
        assert sent == ["Basic YW5uOnMzY3JldA=="] * 2


def test_a_proxy_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(WHOLE) as gone:
        pass
    monkeypatch.setenv("HTTP_PROXY", gone.url.replace("//", "//ann:s3cret@"))
    with raw_server(WHOLE) as server:
        failed(answer_of(server.url, proxy="environment"), "refused", secret="s3cret")
        assert server.requests == []


def speak(stream: Stream) -> None:
    stream.head()
    for step in openai_text(["Hel", "lo"]):
        stream.send(step)
    stream.end()


def test_http_2_is_used_if_the_server_supports_it(authority: Authority) -> None:
    tls = authority.server(protocols=("h2", "http/1.1"))

    async def main(url: str) -> list[Read]:
        async with model(url, roots=authority.pem) as one:
            await read(one)  # opens the connection
            return [*await asyncio.gather(*(read(one) for _ in range(20)))]

    with http2_server(speak, tls=tls) as server:
        replies = asyncio.run(main(server.url))
        assert [(came.text, came.error) for came in replies] == [("Hello", None)] * 20
        assert {request.version for request in server.requests} == {"HTTP/2"}
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert len(server.raw.connections) == 1


def test_http_2_can_be_required_or_disabled(authority: Authority) -> None:
    with http2_server(speak) as server:
        assert answer_of(server.url, http_version="2").text == "Hello"
    with raw_server(WHOLE, tls=authority.server(protocols=("h2", "http/1.1"))) as old:
        came = answer_of(old.url, roots=authority.pem, http_version="1.1")
        assert (came.text, came.error) == ("Hi", None)
        assert old.requests[0].version == "HTTP/1.1"


@pytest.mark.parametrize("how", ["reset", "cut"])
def test_a_stream_of_http_2_that_is_reset_keeps_what_came(how: str) -> None:
    def broken(stream: Stream) -> None:
        stream.head()
        stream.send(delta(content="One "))
        getattr(stream, how)()

    with http2_server(broken) as server:
        came = answer_of(server.url, http_version="2")
    assert came.text == "One "
    failed(came)


def test_abandoning_a_reply_resets_only_its_own_stream() -> None:
    def hold(stream: Stream) -> None:
        stream.head()
        stream.send(delta(content="One "))
        if len(server.streams) == 1:
            stream.wait_until_left()
        else:
            stream.send(delta("stop"))
            stream.end()

    async def main() -> Read:
        async with model(server.url, http_version="2") as one:
            async for _ in one.stream([]):
                break
            await asyncio.to_thread(server.streams[0].left.wait, 10)
            return await read(one)

    with http2_server(hold) as server:
        came = asyncio.run(main())
        assert (came.text, came.error) == ("One ", None)
        assert server.streams[0].left.is_set()
        assert len(server.raw.connections) == 1


def test_a_server_without_tls_needs_no_root_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    came, _ = ask(WHOLE)
    assert (came.text, came.error) == ("Hi", None)
    with pytest.raises((ValueError, OSError), match=r"certificate|none"):
        HttpModel("https://h/v1", "m", KEY, roots=tmp_path / "none.pem")
