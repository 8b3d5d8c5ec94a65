"""LangChain's `ChatOpenAI` on the loopback."""

from __future__ import annotations

from typing import Any

from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from openai_endpoint import Endpoint


def chat_openai(endpoint: Endpoint) -> ChatOpenAI:
    """Return the real client, without CA certificates, which take longer to load than a test."""
    web: dict[str, Any] = {
        "http_client": DefaultHttpxClient(verify=False),
        "http_async_client": DefaultAsyncHttpxClient(verify=False),
    }
    return ChatOpenAI(
        base_url=endpoint.url,
        api_key="key",  # type: ignore[arg-type]
        model="natural",
        max_retries=0,
        stream_usage=True,
        **web,
    )
