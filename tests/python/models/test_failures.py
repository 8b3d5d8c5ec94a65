"""Failures between client and server: one kind of error, after everything that arrived."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from loop_watchdog import Watchdog
from servers.adapters import HTTP, KEY, QUIET, USAGE, Reply
from servers.model_answers import Read, ask_once, read, run
from servers.sse import Answer, Do, serving
from toolweave import FinishUpdate, TextDelta, Update
from toolweave.exceptions import ModelError
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel

pytestmark = [pytest.mark.filterwarnings(line) for line in QUIET]

each_client = pytest.mark.parametrize("name", HTTP)


def ask(name: str, *steps: Any, **shape: Any) -> Read:
    make, _ = HTTP[name]
    came, _ = ask_once(make, *steps, **shape)
    return came


def sent(name: str, *pieces: str, end: str = "missing") -> list[bytes]:
    """Return the bytes of a reply, which ends without a finish by default."""
    _, steps = HTTP[name]
    return steps(Reply(pieces, end=end))


def no_end(came: Read) -> bool:
    return not any(isinstance(update, FinishUpdate) for update in came.updates)


def check_secret(error: ModelError) -> None:
    for shown in (str(error), repr(error), *map(str, error.args)):
        assert KEY not in shown


@each_client
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_an_error_has_the_status_and_text_of_the_server_without_the_key(
    name: str, status: int
) -> None:
    body = {
        "type": "error",
        "error": {"message": f"No.\n {KEY} is bad.", "type": "x", "param": None},
    }
    came = ask(name, json.dumps(body).encode(), status=status, kind="application/json")
    assert came.updates == []
    error = came.error
    assert error is not None
    assert error.status == status
    assert f" answered with status {status}: " in str(error)
    assert str(error).startswith("127.0.0.1:")
    assert str(error).endswith("No. [key] is bad.")
    # `HttpModel` uses no other client.
    assert isinstance(error.__cause__, Exception) is (name != "http")
    check_secret(error)


@each_client
@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b"\xff" * 9000, b"[" * 9000])
def test_a_status_with_any_body_is_an_error_of_one_line(
    name: str, body: bytes, loop_watchdog: Watchdog
) -> None:
    if name == "litellm":
        # It searches a body for secrets in one go.
        loop_watchdog.leave_out("Task-")
    error = ask(name, body, status=502, kind="text/html").error
    assert error is not None
    assert error.status == 502
    assert len(str(error)) < 700
    assert "\n" not in str(error)


@each_client
def test_a_chunk_that_is_not_json_interrupts_the_reply(name: str) -> None:
    came = ask(name, *sent(name, "One "), b'event: content_block_delta\ndata: {"a": \n\n')
    assert came.text == "One "
    assert came.error is not None
    assert came.error.status is None
    assert no_end(came)


@each_client
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("cut", [Do.CUT, Do.END])
@pytest.mark.parametrize("part", ["line", "character"])
def test_a_reply_that_is_cut_off_anywhere_is_never_reported_as_complete(
    name: str, chunked: bool, cut: Do, part: str
) -> None:
    *before, last = sent(name, "One ", "zwölf 🌍")
    raw = json.loads(last.partition(b"data: ")[2])
    written = (
        last.partition(b"data: ")[0] + b"data: " + json.dumps(raw, ensure_ascii=False).encode()
    )
    end = written.index("🌍".encode()) + 2 if part == "character" else len(written) - 9
    came = ask(name, *before, written[:end], cut, chunked=chunked)
    assert came.text == "One "
    if came.error is None:
        assert came.updates[-1] == FinishUpdate("missing")
    else:
        assert came.error.status is None
        assert no_end(came)


@each_client
def test_a_connection_that_breaks_after_the_end_breaks_nothing(name: str) -> None:
    whole = sent(name, "All.", end="stop")
    until = next(
        number for number, step in enumerate(whole) if b'"stop"' in step or b"end_turn" in step
    )
    came = ask(name, *whole[: until + 1], Do.CUT)
    assert (came.text, came.error) == ("All.", None)
    assert came.updates[-1] == FinishUpdate("stop")


@each_client
def test_a_stalled_server_times_out(name: str) -> None:
    make, _ = HTTP[name]

    def with_short_timeout(url: str) -> Any:
        if name == "http":
            return HttpModel(f"{url}/v1", "m", KEY, max_retries=0, idle_timeout=0.2)
        model = make(url)
        return type(model)(
            "openai/m" if name == "litellm" else "m",
            base_url=url if name == "anthropic" else f"{url}/v1",
            api_key=KEY,
            max_retries=0,
            timeout=0.2,
        )

    async def main() -> Read:
        async with serving(Answer([*sent(name, "One "), Do.HOLD])) as served:
            came = await read(with_short_timeout(served.url))
            await served.client_left()
            return came

    came = asyncio.run(main())
    assert came.text == "One "
    assert came.error is not None
    assert came.error.status is None
    assert no_end(came)


@each_client
def test_a_server_that_is_not_there_is_an_error_without_a_status(name: str) -> None:
    async def main() -> str:
        async with serving(Answer()) as served:
            return served.url

    make, _ = HTTP[name]
    error = asyncio.run(read(make(asyncio.run(main())))).error
    assert error is not None
    assert error.status is None
    assert str(error).startswith("127.0.0.1:")
    check_secret(error)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@pytest.mark.parametrize("kind", ["text/html", "application/json"])
def test_a_response_that_is_not_a_stream_is_an_error_that_says_so(name: str, kind: str) -> None:
    error = ask(name, b"{}", kind=kind).error
    assert error is not None
    path = "messages" if name == "anthropic" else "chat/completions"
    assert str(error).endswith(
        f"/v1/{path} answered with {kind}, which is not a stream; is the base URL the right one?"
    )


@pytest.mark.parametrize("name", ["openai", "http"])
def test_an_error_within_a_stream_of_chunks_keeps_its_number(name: str) -> None:
    broken = {"error": {"message": "The model\nfell over.", "code": 502}}
    came = ask(name, *sent(name, "One "), b"data: " + json.dumps(broken).encode() + b"\n\n")
    assert came.text == "One "
    assert came.error is not None
    assert came.error.status == 502
    assert "/chat/completions answered with status 502: The model fell over." in str(came.error)


@pytest.mark.parametrize("model", [OpenAIModel, AnthropicModel])
def test_a_key_from_the_environment_that_cannot_be_sent_is_not_shown(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nX: y")
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"{KEY}\nX: y")

    async def main() -> Read:
        # The client connects before it validates the request.
        async with serving(Answer()) as served, model("m", base_url=served.url) as asked:
            return await read(asked)

    error = asyncio.run(main()).error
    assert error is not None
    assert "[key]" in str(error)
    check_secret(error)


@each_client
@settings(max_examples=effort(2))
@given(places=st.lists(st.integers(0, 5000), min_size=3, max_size=40))
def test_a_reply_is_the_same_however_its_bytes_are_split(name: str, places: list[int]) -> None:
    pieces = ["zwölf ", "🌍", "\u2028", "\r\n", "data: [DONE]\n\n"]
    whole = b"".join(sent(name, *pieces, end="stop"))
    edges = sorted({0, len(whole), *(place % len(whole) for place in places)})
    steps = [whole[start:end] for start, end in itertools.pairwise(edges)]
    came = ask(name, *steps)
    assert came.error is None
    assert came.text == "".join(pieces)
    expected: list[Update] = [*map(TextDelta, pieces), USAGE, FinishUpdate("stop")]
    if name == "http":  # which joins unread deltas
        expected = expected[len(pieces) :]
    assert [update for update in came.updates if update in expected] == expected


def test_the_client_retries_before_the_first_byte_and_never_after() -> None:
    def patient(url: str) -> OpenAIModel:
        return OpenAIModel("m", base_url=f"{url}/v1", api_key=KEY, max_retries=1)

    async def ask_twice(model: OpenAIModel, served: Any) -> None:
        assert (await read(model)).text == "Hi"
        assert len(served.requests) == 2
        came = await read(model)
        assert (came.text, came.error is None) == ("Hi", False)
        assert len(served.requests) == 3

    busy = Answer([b"{}"], status=503, kind="application/json", headers=["Retry-After-Ms: 1"])
    whole, cut = Answer(sent("openai", "Hi", end="stop")), Answer(sent("openai", "Hi", end="cut"))
    run(patient, [busy, whole, cut], ask_twice)
