"""A proxy in front of a scripted endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from openai_endpoint import Endpoint, Reply, serving
from toolweave._core import ProxyServer

OPTIONS: dict[str, Any] = {
    "address": "127.0.0.1:0",
    "upstream_key": None,
    "api_key": None,
    "mode": "natural",
    "dialect": None,
    "retries": 1,
    "pass_paths": (),
    "hosts": (),
    "origins": (),
    "max_body_bytes": 1 << 20,
    "max_concurrency": 64,
    "client_timeout": 20.0,
    "first_byte_timeout": 20.0,
    "idle_timeout": 20.0,
    "timeout": None,
    "threads": 1,
    "log": False,
}


@contextmanager
def proxying(upstream: str, **options: Any) -> Iterator[str]:
    """Run a proxy in front of an upstream, and return its base URL."""
    server = ProxyServer(upstream, **{**OPTIONS, **options})
    try:
        host, port = server.address
        yield f"http://{host}:{port}/v1"
    finally:
        assert server.stop(10.0)


Serve = Callable[..., tuple[str, Endpoint]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start an endpoint with replies, and a proxy in front of it."""
    with ExitStack() as stack:

        def start(*replies: Reply | str, **options: Any) -> tuple[str, Endpoint]:
            endpoint = stack.enter_context(serving(*replies))
            return stack.enter_context(proxying(endpoint.url, **options)), endpoint

        yield start
