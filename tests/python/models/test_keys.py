"""Keys that servers send back, in whole or in part, are not in errors."""

from __future__ import annotations

import asyncio
import html
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from request_lifetimes import HELLO
from servers.raw import Connection, Request, raw_server
from servers.scripts import answer, redirect, refusal
from toolweave.exceptions import ModelError
from toolweave.integrations.langchain import LangChainModel
from toolweave.models._clients import ClientModel
from toolweave.models._errors import failure
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel

KEY = "sk-Proj/0123=abcdefgh+IJKLMNOP&qrstuv"
PART = 8

CHANGES: dict[str, Callable[[str], str]] = {
    "itself": str,
    "upper": str.upper,
    "lower": str.lower,
    "url": lambda text: quote(text, safe=""),
    "json": lambda text: "".join(f"\\u{ord(ch):04x}" for ch in text),
    "html": html.escape,
    "entities": lambda text: "".join(f"&#x{ord(ch):x};" for ch in text),
}


def revealed(text: str, key: str = KEY) -> list[str]:
    """Return the parts of a key that are in a text, in any form."""
    text = text.lower()
    parts = {key[at : at + PART] for at in range(len(key) - PART + 1)}
    return [
        part
        for part in sorted(parts)
        for change in CHANGES.values()
        if change(part).lower() in text
    ]


class Server:
    """One server for all tests, with a script that can be changed."""

    def __init__(self) -> None:
        self.url = ""
        self.script: Any = None

    def __call__(self, connection: Connection, request: Request) -> None:
        self.script(connection, request)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    with raw_server(one) as inner:
        one.url = inner.url
        yield one


def openai(url: str) -> OpenAIModel:
    return OpenAIModel("m", base_url=url, api_key=KEY, max_retries=0)


def anthropic(url: str) -> AnthropicModel:
    return AnthropicModel("m", base_url=url.removesuffix("/v1"), api_key=KEY, max_retries=0)


def native(url: str) -> HttpModel:
    return HttpModel(url, "m", KEY, proxy=None, max_retries=0)


def langchain(url: str) -> LangChainModel:
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient
    from pydantic import SecretStr

    # A separate client that keeps no connections, since it is not closed with the loop.
    limits = httpx.Limits(max_keepalive_connections=0)
    client = DefaultAsyncHttpxClient(verify=False, limits=limits)
    return LangChainModel(
        ChatOpenAI(
            model="m",
            base_url=url,
            api_key=SecretStr(KEY),
            max_retries=0,
            http_async_client=client,
        )
    )


MODELS: dict[str, Callable[[str], Any]] = {
    "openai": openai,
    "anthropic": anthropic,
    "native": native,
    "langchain": langchain,
}


def failed(model: Any) -> ModelError:
    async def main() -> None:
        try:
            async for _ in model.stream(HELLO):
                pass
        finally:
            if isinstance(model, ClientModel):
                await model.aclose()

    with pytest.raises(ModelError) as caught:
        asyncio.run(main())
    return caught.value


@pytest.mark.parametrize("model", MODELS)
def test_an_error_response_reveals_no_part_of_the_key(server: Server, model: str) -> None:
    text = "; ".join(change(part) for change in CHANGES.values() for part in (KEY, KEY[:12]))
    server.script = refusal(401, f"No such key: {text}")
    error = failed(MODELS[model](server.url))
    assert not revealed(str(error))
    assert "No such key: [key]" in str(error)
    assert error.status == 401


@pytest.mark.parametrize("model", ["openai", "anthropic", "native"])
def test_the_content_type_of_a_response_reveals_no_part_of_the_key(
    server: Server, model: str
) -> None:
    server.script = answer(b"hello", kind=f"text/{KEY.upper()}")
    assert not revealed(str(failed(MODELS[model](server.url))))


def test_a_redirect_reveals_no_part_of_the_key(server: Server) -> None:
    server.script = redirect(f"/login/{quote(KEY, safe='')}", 302)
    error = failed(native(server.url))
    assert not revealed(str(error))
    assert "redirects to" in str(error)


@settings(max_examples=effort(60), deadline=None)
@given(
    key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=PART, max_size=60),
    at=st.integers(0, 60),
    length=st.integers(PART, 60),
    change=st.sampled_from(sorted(CHANGES)),
    around=st.sampled_from(["", '"', "(", " "]),
)
def test_no_part_of_any_key_is_revealed(
    key: str, at: int, length: int, change: str, around: str
) -> None:
    start = min(at, len(key) - PART)
    part = CHANGES[change](key[start : start + length])
    body = f"no key {around}{part}{around} here"
    for error in (RuntimeError(body), ModelError(body, "acme", 401)):
        text = str(failure(error, "acme", [None, key]))
        assert "[key]" in text
        forms = {CHANGES[change](key[at : at + PART]) for at in range(len(key) - PART + 1)}
        if "[key" not in key:
            assert not any(form.lower() in text.lower() for form in forms)


def test_text_that_is_not_part_of_the_key_is_kept() -> None:
    error = failure(RuntimeError("the model is EMPTY, not 'EMPTYING' \ud800"), "acme", ["EMPTY"])
    assert str(error).startswith("acme: the model is [key], not 'EMPTYING' ")
    error = ModelError("slow down", "acme", 429, 1.5, True)
    assert failure(error, "acme", [KEY]) is error
    redacted = failure(ModelError(json.dumps(KEY), "acme", 429, 1.5, True), "acme", [KEY])
    assert isinstance(redacted, ModelError)
    assert (redacted.provider, redacted.status, redacted.retry_after, redacted.transient) == (
        "acme",
        429,
        1.5,
        True,
    )
