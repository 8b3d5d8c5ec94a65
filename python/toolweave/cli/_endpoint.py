"""Live models at OpenAI-compatible endpoints."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, cast

from ..exceptions import ModelError
from ..executor._pools import run_blocking
from ..models._clients import checked_key
from ..models._errors import redacted
from ..models._streaming import field
from ..models.http import HttpModel
from ._inputs import InputError
from ._options import api_key

if TYPE_CHECKING:
    import argparse

TIMEOUT = 120.0
"""Seconds to wait for the next bytes."""

MAX_BYTES = 1 << 20
"""Maximum size of a list of models."""


async def live_model(
    options: argparse.Namespace,
    *,
    max_retries: int = 0,
    native_tools: bool = False,
    timeout: float = TIMEOUT,
) -> HttpModel:
    """Return the model at the URL of `--model`; the first model there unless it is named.

    Args:
        options: The options of the command.
        max_retries: Maximum number of retries of a request.
        native_tools: True if the model is shown tools in the protocol.
        timeout: Seconds to wait for the next bytes of a reply.

    Raises:
        InputError: The URL or the key is invalid, or the endpoint names no model.
    """
    url: str = options.model
    key = api_key(options)
    try:
        name: str = options.model_name or await first_model(url, key, timeout=timeout)
        return HttpModel(
            _base(url),
            name,
            key,
            first_byte_timeout=timeout,
            idle_timeout=timeout,
            max_retries=max_retries,
            native_tools=native_tools,
        )
    except ValueError as err:
        raise InputError(str(err)) from None
    except ModelError as err:
        raise InputError(f"{url}: {err}; name the model with --model-name") from None


async def first_model(url: str, key: str | None, *, timeout: float = TIMEOUT) -> str:
    """Return the name of an endpoint's first model.

    Args:
        url: The base URL, or the URL of its chat completions.
        key: The API key, which is never shown.
        timeout: Seconds to wait for the list, at most `TIMEOUT`.

    Raises:
        ModelError: The endpoint lists no model.
        ValueError: The URL or the key is invalid.
    """
    request = urllib.request.Request(f"{_base(url)}/models")  # noqa: S310 - the scheme was checked
    if checked_key(key) is not None:
        # Not a plain header, which would be sent to the target of a redirect as well.
        request.add_unredirected_header("Authorization", f"Bearer {key}")
    try:
        listed = await run_blocking(None, lambda: _read_json(request, min(timeout, TIMEOUT)))
    except urllib.error.HTTPError as err:
        with err:
            why = f"answered with status {err.code}: {err.reason}"
    except (OSError, http.client.HTTPException) as err:
        # The exception that `urlopen` wraps is more specific.
        why = f"cannot be reached: {err.reason if isinstance(err, urllib.error.URLError) else err}"
    except (ValueError, RecursionError):
        why = "sent something else than JSON"
    else:
        models = field(listed, "data")
        first = cast("list[object]", models)[0] if isinstance(models, list) and models else None
        name = field(first, "id")
        if isinstance(name, str):
            return name
        why = "names no model"
    raise ModelError(redacted(f"the endpoint {why}", [key]), "endpoint")


def _read_json(request: urllib.request.Request, timeout: float) -> object:
    with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310
        return json.loads(response.read(MAX_BYTES))


def _base(url: str) -> str:
    """Return the base URL of an endpoint, from that URL or the one of its chat completions."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not a URL of an endpoint, such as http://127.0.0.1:8080/v1")
    return url.rstrip("/").removesuffix("/chat/completions")
