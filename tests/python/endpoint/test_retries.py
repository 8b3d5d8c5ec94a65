"""Error statuses: retries, their number and delays, and the errors of permanent failures."""

from __future__ import annotations

import email.utils
import json
import re
import time
from typing import Any

import pytest

from servers.adapters import KEY
from servers.dialects import delta, openai_text
from servers.http_models import ask, failed, nothing_logged_shows_the_key
from servers.raw import raw_server
from servers.scripts import answer, document, events, raw, redirect, refusal
from servers.sse import Do

each_test = nothing_logged_shows_the_key

WHOLE = events(*openai_text(["Hi"]))
PASSING = [408, 409, 429, 500, 502, 503, 504, 529]
LASTING = [400, 401, 403, 404, 405, 413, 422, 501]


@pytest.mark.parametrize("status", PASSING)
def test_transient_statuses_are_retried_up_to_the_limit(status: int) -> None:
    storm = refusal(status, "Busy.", "Retry-After-Ms: 1")
    came, server = ask(storm, storm, WHOLE, max_retries=2)
    assert (came.text, came.error) == ("Hi", None)
    assert len(server.requests) == 3
    assert len({request.body for request in server.requests}) == 1

    came, server = ask(storm, max_retries=2)
    error = failed(came, f"answered with status {status}: Busy", status=status)
    assert len(server.requests) == 3
    assert error.transient is True
    assert error.retry_after == pytest.approx(0.001)


@pytest.mark.parametrize("status", LASTING)
def test_permanent_errors_are_not_retried(status: int) -> None:
    came, server = ask(refusal(status, "No such thing."), max_retries=5)
    error = failed(came, rf"answered with status {status}: No such thing\.", status=status)
    assert len(server.requests) == 1
    assert error.transient is False
    assert error.retry_after is None


def test_an_exhausted_quota_is_not_transient() -> None:
    came, _ = ask(refusal(429, "Pay.", code="insufficient_quota"))
    assert failed(came, "Pay", status=429).transient is False


@pytest.mark.parametrize("status", [200, 201, 204, 206])
def test_a_successful_status_without_a_reply_is_an_error(status: int) -> None:
    came, _ = ask(answer(status=status, kind=None, framing="length"))
    assert came.updates == []
    failed(came)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        (["Retry-After: 7"], 7),
        (["Retry-After: 0.25"], 0.25),
        (["Retry-After-Ms: 250", "Retry-After: 9"], 0.25),
        (["retry-after-ms: nonsense", "retry-after: 3"], 3),
        (["Retry-After: nonsense"], None),
        (["Retry-After: -1"], None),
        (["Retry-After: inf"], None),
        (["Retry-After: nan"], None),
        (["Retry-After: 1e400"], None),
        ([], None),
    ],
)
def test_retry_after_is_reported_in_seconds(fields: list[str], seconds: float | None) -> None:
    came, _ = ask(refusal(503, "Busy.", *fields))
    assert failed(came, status=503).retry_after == seconds


def test_retry_after_may_be_a_date() -> None:
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    came, _ = ask(refusal(503, "Busy.", f"Retry-After: {date}"))
    assert 25 < (failed(came, status=503).retry_after or 0) <= 30
    past = email.utils.formatdate(time.time() - 30, usegmt=True)
    came, server = ask(refusal(503, "Busy.", f"Retry-After: {past}"), WHOLE, max_retries=1)
    assert (came.text, len(server.requests)) == ("Hi", 2)


def test_a_retry_after_beyond_the_timeout_is_not_waited_for() -> None:
    came, server = ask(refusal(503, "Busy.", "Retry-After: 86400"), max_retries=3)
    assert failed(came, status=503).retry_after == 86400
    assert len(server.requests) == 1


def test_retries_observe_retry_after() -> None:
    began = time.monotonic()
    came, _ = ask(refusal(503, "Busy.", "Retry-After-Ms: 150"), WHOLE, max_retries=1)
    assert came.text == "Hi"
    assert time.monotonic() - began >= 0.15


@pytest.mark.parametrize("how", [Do.CUT, Do.END])
def test_a_connection_that_breaks_before_the_first_byte_is_made_again(how: Do) -> None:
    came, server = ask(raw(how), WHOLE, max_retries=1)
    assert (came.text, came.error) == ("Hi", None)
    assert len(server.connections) == 2


@pytest.mark.parametrize("how", [Do.CUT, Do.END, b"data: {\n\n"])
def test_there_is_no_retry_after_the_first_byte(how: Any) -> None:
    came, server = ask(events(delta(content="One "), how), WHOLE, max_retries=5)
    assert came.text == "One "
    failed(came)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": {"message": "Two\nlines."}}, r"Two lines\.$"),
        ({"error": "just text"}, "just text$"),
        ({"message": "at the top"}, "at the top$"),
        ({"detail": "as FastAPI says it"}, "as FastAPI says it"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        ({"object": "error", "message": "as vLLM says it", "code": 40303}, "as vLLM says it$"),
        (b"plain text", "plain text"),
        (b"<html>Bad gateway</html>", "Bad gateway"),
        (b"", "status 400"),
        (b"\xff" * 9000, "status 400"),
        (b"[" * 9000, "status 400"),
        ({"error": {"message": "x" * 9000}}, "x{400}"),
        ({"error": {"message": f"Incorrect API key: {KEY}."}}, r"Incorrect API key: \[key\]\.$"),
        (f"Bearer {KEY}".encode(), r"\[key\]"),
        ({"error": {"message": "\u001b[31mred\u0007\u202e"}}, "red"),
    ],
)
def test_the_error_text_of_the_server_is_reported_without_keys(body: Any, says: str) -> None:
    came, _ = ask(document(body, status=400))
    error = failed(came, says, status=400)
    assert re.match(r"127\.0\.0\.1:\d+/v1/chat/completions answered with status 400", str(error))
    assert error.provider == "acme"
    assert str(error).isprintable()


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_a_truncated_error_is_reported_as_far_as_it_arrived(framing: Any) -> None:
    body = json.dumps({"error": {"message": "No."}}).encode()[:20]
    came, _ = ask(
        answer(body, Do.CUT, status=400, kind="application/json", framing=framing, length=500)
    )
    failed(came, status=400)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("follow", [False, True])
def test_a_redirect_to_another_host_is_never_followed(status: int, follow: bool) -> None:
    with raw_server(WHOLE) as other:
        there = f"{other.url}/v1/chat/completions?token=secret"
        came, _ = ask(redirect(there, status), follow_redirects=follow, max_retries=3)
        error = failed(came, str(other.port), status=status)
        assert "redirect" in str(error)
        assert "secret" not in str(error)
        assert other.requests == []


def test_a_redirect_is_refused_unless_it_is_asked_for_and_says_where_to() -> None:
    came, server = ask(redirect("/v2/chat/completions", 308), WHOLE)
    error = failed(came, "redirect", "/v2/chat/completions", status=308)
    assert error.transient is False
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_on_the_same_host_is_followed_where_that_is_allowed(status: int) -> None:
    came, server = ask(redirect("/v2/chat?x=1", status), WHOLE, follow_redirects=True)
    assert (came.text, came.error) == ("Hi", None)
    first, second = server.requests
    assert (second.method, second.target, second.body) == ("POST", "/v2/chat?x=1", first.body)
    assert second.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_drop_the_question_is_not_followed(status: int) -> None:
    came, server = ask(redirect("/v2/chat", status), WHOLE, follow_redirects=True)
    if came.error is None:
        assert server.requests[1].body == server.requests[0].body
    else:
        failed(came, "redirect", status=status)
        assert len(server.requests) == 1


def test_redirect_loops_end() -> None:
    came, server = ask(redirect("/v1/chat/completions"), follow_redirects=True)
    failed(came, "redirects more than", status=307)
    assert len(server.requests) < 25


@pytest.mark.parametrize(
    "location", ["http://", "nonsense://x", "\xff\xfe", "//evil.invalid/x", "javascript:x"]
)
def test_a_redirect_to_nowhere_is_an_error(location: str) -> None:
    came, _ = ask(redirect(location), follow_redirects=True)
    failed(came, "redirect", status=307)


def test_a_timeout_before_the_first_byte_is_retried() -> None:
    came, server = ask(raw(Do.HOLD), WHOLE, first_byte_timeout=0.2, max_retries=1)
    assert (came.text, came.error) == ("Hi", None)
    assert len(server.requests) == 2
