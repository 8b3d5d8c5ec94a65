"""HTTP errors name the server by host and path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from toolweave import ModelError
from toolweave.models import complete
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel
from toolweave.scenes._ends import model_failure_text

KEY = "sk-0123456789abcdef"


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    body = b'{"error": {"message": "no such model"}}'
    head = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    await writer.drain()
    writer.close()


MODELS: dict[str, tuple[Callable[[str], Any], str]] = {
    "http": (lambda url: HttpModel(f"{url}/v1", "m", KEY), "/v1/chat/completions"),
    "openai": (
        lambda url: OpenAIModel("m", base_url=f"{url}/v1", api_key=KEY, max_retries=0),
        "/v1/chat/completions",
    ),
    "anthropic": (
        lambda url: AnthropicModel("m", base_url=url, api_key=KEY, max_retries=0),
        "/v1/messages",
    ),
}


async def failure_of(name: str, *, is_there: bool) -> tuple[ModelError, str]:
    make, path = MODELS[name]
    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    if not is_there:
        server.close()
        await server.wait_closed()
    try:
        async with make(f"http://{host}") as model:
            with pytest.raises(ModelError) as caught:
                await complete(model, "Hi!")
    finally:
        server.close()
    return caught.value, f"{host}{path}"


@pytest.mark.parametrize("name", MODELS)
def test_an_answer_that_is_an_error_names_host_and_path(name: str) -> None:
    error, peer = asyncio.run(failure_of(name, is_there=True))
    assert str(error) == f"{peer} answered with status 404: no such model"
    assert error.status == 404


@pytest.mark.parametrize("name", MODELS)
def test_a_server_that_is_not_there_is_named(name: str) -> None:
    error, peer = asyncio.run(failure_of(name, is_there=False))
    assert str(error).startswith(peer)
    assert error.status is None


@pytest.mark.parametrize("name", ["http", "openai"])
def test_only_the_server_of_openai_has_that_provider(name: str) -> None:
    error, peer = asyncio.run(failure_of(name, is_there=True))
    host = peer.partition("/")[0]
    assert error.provider == host
    assert model_failure_text(error) == f"{host} API error: 404 Not Found"
    assert HttpModel("https://api.openai.com/v1", "m", KEY).provider == "openai"
    assert HttpModel("https://openai.example.org/v1", "m").provider == "openai.example.org"
    assert OpenAIModel("m", api_key=KEY).provider == "openai"
    assert OpenAIModel("m", base_url="http://localhost:8000/v1").provider == "localhost:8000"
