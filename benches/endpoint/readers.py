"""Contestants that request a reply and yield its text as it arrives.

A contestant imports its packages when it is opened, so that a process loads only what it uses.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from endpoint import wire
from endpoint.startup import TIMEOUT

if TYPE_CHECKING:
    from toolweave.protocols import Model

KEY = "sk-benchmark"
MODEL = "gpt-4o"

Ask = Callable[[str], AsyncIterator[str | bytes]]
"""Function that requests the reply of a group and yields its text, or the bytes unparsed."""
Open = Callable[[str], AbstractAsyncContextManager[Ask]]
"""Function that opens a client for the server at a URL."""


def question(group: str) -> str:
    """Return the prompt for the reply of a group."""
    return f"How is the weather in Oslo? group:{group}"


def body(group: str) -> dict[str, Any]:
    """Return the body of the request that all contestants send."""
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": question(group)}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def chunk_text(chunk: dict[str, Any], usage: list[Any]) -> str:
    """Return the text of a parsed chunk, and collect its usage."""
    if chunk["usage"] is not None:
        usage.append(chunk["usage"])
    choices = chunk["choices"]
    return (choices[0]["delta"].get("content") or "") if choices else ""


@asynccontextmanager
async def model_of(kind: str, url: str) -> AsyncGenerator[Model, None]:
    """Open one of toolweave's models."""
    if kind == "http":
        from toolweave.models.http import HttpModel

        async with HttpModel(url, MODEL, KEY) as model:
            yield model
    else:
        from openai import AsyncOpenAI

        from toolweave.models.openai import OpenAIModel

        async with AsyncOpenAI(base_url=url, api_key=KEY, timeout=TIMEOUT) as client:
            yield OpenAIModel(MODEL, client=client)


def model_alone(kind: str) -> Open:
    """Return a contestant that is a model of toolweave, without a parser."""

    @asynccontextmanager
    async def opened(url: str) -> AsyncGenerator[Ask, None]:
        from toolweave import TextDelta
        from toolweave.models import as_messages

        async with model_of(kind, url) as model:

            async def ask(group: str) -> AsyncIterator[str]:
                async for update in model.stream(as_messages(question(group))):
                    if isinstance(update, TextDelta):
                        yield update.text

            yield ask

    return opened


def parsed(kind: str) -> Open:
    """Return a contestant that is a model of toolweave with a parser for calls."""

    @asynccontextmanager
    async def opened(url: str) -> AsyncGenerator[Ask, None]:
        from toolweave import FunctionContract, TextDelta, ToolCall
        from toolweave.natural import NaturalToolUseParser

        schema = {
            "type": "object",
            "properties": {"location": {"type": "string"}, "call": {"type": "integer"}},
            "required": ["location", "call"],
        }
        async with model_of(kind, url) as model:
            parser = NaturalToolUseParser(
                model, [FunctionContract("GetWeather", parameters=schema)]
            )

            async def ask(group: str) -> AsyncIterator[str]:
                async for event in parser.stream(question(group)):
                    if isinstance(event, TextDelta):
                        yield event.text
                    elif isinstance(event, ToolCall):
                        yield event.raw

            yield ask

    return opened


@asynccontextmanager
async def openai_client(url: str) -> AsyncGenerator[Ask, None]:
    """Open the client of OpenAI, whose chunks are objects."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key=KEY, timeout=TIMEOUT) as client:

        async def ask(group: str) -> AsyncIterator[str]:
            usage: list[Any] = []
            stream = await client.chat.completions.create(**body(group))
            async with stream:
                async for chunk in stream:
                    if chunk.usage is not None:
                        usage.append(chunk.usage)
                    if chunk.choices and (text := chunk.choices[0].delta.content):
                        yield text
            assert len(usage) == 1

        yield ask


@asynccontextmanager
async def bare_httpx(url: str) -> AsyncGenerator[Ask, None]:
    """Open httpx, with lines and the JSON of the standard library."""
    import httpx

    limits = httpx.Limits(max_connections=None)
    headers = {"authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(limits=limits, timeout=TIMEOUT, headers=headers) as client:

        async def ask(group: str) -> AsyncIterator[str]:
            usage: list[Any] = []
            address = f"{url}/chat/completions"
            async with client.stream("POST", address, json=body(group)) as response:
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if line.startswith("data: ") and line != "data: [DONE]":
                        text = chunk_text(json.loads(line[6:]), usage)
                        if text:
                            yield text
            assert len(usage) == 1

        yield ask


@asynccontextmanager
async def bare_aiohttp(url: str) -> AsyncGenerator[Ask, None]:
    """Open aiohttp, with lines and the JSON of the standard library."""
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT),
        headers={"authorization": f"Bearer {KEY}"},
    )
    async with session:

        async def ask(group: str) -> AsyncIterator[str]:
            usage: list[Any] = []
            address = f"{url}/chat/completions"
            async with session.post(address, json=body(group)) as response:
                response.raise_for_status()
                async for line in response.content:
                    if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                        text = chunk_text(json.loads(line[6:]), usage)
                        if text:
                            yield text
            assert len(usage) == 1

        yield ask


@asynccontextmanager
async def litellm(url: str) -> AsyncGenerator[Ask, None]:
    """Open LiteLLM, which uses the client of OpenAI and creates its own objects."""
    # Without the first, prices are fetched from the network at import; without the others, streams
    # are limited to 500.
    os.environ |= {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "AIOHTTP_CONNECTOR_LIMIT": "4000",
        "AIOHTTP_CONNECTOR_LIMIT_PER_HOST": "4000",
    }
    from litellm import acompletion

    async def ask(group: str) -> AsyncIterator[str]:
        usage: list[Any] = []
        asked = {
            **body(group),
            "model": f"openai/{MODEL}",
            "api_base": url,
            "api_key": KEY,
            "timeout": TIMEOUT,
        }
        stream = await acompletion(**asked)
        async for chunk in stream:
            if getattr(chunk, "usage", None) is not None:
                usage.append(chunk.usage)
            if chunk.choices and (text := chunk.choices[0].delta.content):
                yield text
        assert len(usage) == 1

    yield ask


@asynccontextmanager
async def bare(url: str) -> AsyncGenerator[Callable[[str], AsyncIterator[bytes]], None]:
    """Open the lower bound: bytes from a socket, parsed only at the end."""
    address = urlsplit(url)

    async def ask(group: str) -> AsyncIterator[bytes]:
        asked = json.dumps(body(group)).encode()
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        head = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % len(asked) + asked)
        end = b""
        while not end.endswith(wire.END):
            data = await reader.read(65536)
            end = (end + data)[-len(wire.END) :]
            yield data
        writer.close()

    yield ask


_CONTENT = re.compile(r'"content":("(?:[^"\\]|\\.)*")')


def text_of(pieces: Sequence[str | bytes]) -> str:
    """Return the text of a reply from all pieces of a contestant."""
    if pieces and isinstance(pieces[0], bytes):
        came = b"".join(piece for piece in pieces if isinstance(piece, bytes)).decode()
        return "".join(json.loads(text) for text in _CONTENT.findall(came))
    return "".join(piece for piece in pieces if isinstance(piece, str))


@dataclass(frozen=True)
class Reader:
    """Contestant."""

    label: str
    package: str | None
    """Package whose version is in the label; None for the standard library."""
    open: Open

    @property
    def named(self) -> str:
        """Label and version."""
        return self.label + (f" ({self.package} {version(self.package)})" if self.package else "")


READERS = {
    "http": Reader("`HttpModel`", "toolweave", model_alone("http")),
    "http-parsed": Reader("`NaturalToolUseParser(HttpModel)`", "toolweave", parsed("http")),
    "openai": Reader("the `openai` client alone", "openai", openai_client),
    "openai-parsed": Reader("`NaturalToolUseParser(OpenAIModel)`", "openai", parsed("openai")),
    "httpx": Reader("httpx, lines and `json`", "httpx", bare_httpx),
    "aiohttp": Reader("aiohttp, lines and `json`", "aiohttp", bare_aiohttp),
    "litellm": Reader("LiteLLM `acompletion`", "litellm", litellm),
    "bare": Reader("bytes from asyncio only", None, bare),
}
APART = ("litellm",)
"""Contestants with an environment of their own."""
