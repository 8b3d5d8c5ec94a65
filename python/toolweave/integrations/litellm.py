"""Models through LiteLLM: many providers, with names such as ``groq/llama-3.3-70b``.

    from toolweave.models import complete
    from toolweave.integrations.litellm import LiteLLMModel

    model = LiteLLMModel("ollama_chat/qwen3", base_url="http://127.0.0.1:11434")
    reply = await complete(model, "Hello!")

Needs the extra `litellm`, which is large: the package is imported when the first model is created.
That import does not access the network, and leaves logging and the environment unchanged, apart
from filters for LiteLLM's own warnings. If the application has imported LiteLLM before, its
settings are kept.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from .._core import ChunkReader
from .._extras import require
from ..models._clients import ClientOptions, ProviderModel, checked_key, client_settings
from ..models._errors import failure, server_label
from ..models._requests import build_request
from ..models._streaming import closing, read_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Sequence

    from typing_extensions import Unpack

    from .._core import FinishUpdate, FunctionContract
    from .._messages import Message, Update
    from ..exceptions import ModelError
    from ..protocols import ModelOptions

__all__ = ["LiteLLMModel"]


class LiteLLMModel(ProviderModel):
    """A model that LiteLLM supports.

    If the provider reports neither a finish reason nor usage, LiteLLM invents a reason and counts
    tokens itself. The invented reason is ignored: such a reply counts as truncated.

    Args:
        model: Model and provider, in LiteLLM's notation.
        base_url: URL of the API, for self-hosted servers.
        api_key: The API key. If not given, LiteLLM reads the environment.
        timeout: Seconds to wait for the provider.
        max_retries: Maximum number of retries before the reply begins.
        name: Name of the model in traces; defaults to `model`.
        provider: Provider of the model; defaults to the part of `model` before the slash.
        native_tools: True if the model makes native calls.
        strict: If true, the provider enforces the schemas of tools and replies.
        extra: Further arguments of ``litellm.acompletion``, for every request, such as
            ``{"drop_params": True}``.

    Raises:
        ImportError: The extra is not installed.
        ValueError: The API key is invalid.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        provider: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        super().__init__(model, base_url=base_url, provider=provider, **options)
        self.provider = provider or (model.partition("/")[0] if "/" in model else "litellm")
        self._litellm = _import_litellm()
        self._settings = client_settings(
            None,
            api_base=base_url,
            api_key=checked_key(api_key),
            **self._limits,
        )
        self._key = api_key
        self._server = None if base_url is None else server_label(base_url)

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
    ) -> dict[str, Any]:
        request = build_request(messages, tools, options, strict=self._strict)
        return {"model": self._model, **self._settings, **self._extra, **request}

    def _reply(self, request: dict[str, Any]) -> AsyncIterator[Update]:
        reader = _LiteLLMChunkReader()
        return read_reply(self._chunks(request, reader), reader, self.name, self._to_model_error)

    async def _chunks(
        self, request: dict[str, Any], reader: _LiteLLMChunkReader
    ) -> AsyncIterator[object]:
        reader.stream = stream = await self._litellm.acompletion(**request)
        async with closing(stream):
            async for chunk in stream:
                yield chunk

    def _to_model_error(self, error: Exception) -> ModelError:
        origin = error
        # LiteLLM wraps the exception that interrupted a stream.
        while isinstance(inner := getattr(origin, "original_exception", None), Exception):
            origin = inner
        return failure(
            origin,
            self.provider,
            _secrets(self._key),
            no_response=self._is_connection_error(origin),
            # Many of its exceptions have an invented request.
            server=self._server,
        )

    def _is_connection_error(self, error: BaseException) -> bool:
        """Return True if the connection failed; LiteLLM invents a status for that."""
        if isinstance(error, (self._litellm.APIConnectionError, self._litellm.Timeout)):
            return True
        chain: BaseException | None = error
        while chain is not None and not isinstance(chain, OSError):
            chain = chain.__cause__ or chain.__context__
        return chain is not None


class _LiteLLMChunkReader(ChunkReader):
    stream: Any = None

    def finish(self) -> FinishUpdate:
        """Return the end of the reply, with a reason only if the provider sent one."""
        reasons = (
            getattr(self.stream, "received_finish_reason", self.reason),
            getattr(self.stream, "intermittent_finish_reason", None),
        )
        if not any(reasons):
            self.reason = None
        return super().finish()


def _secrets(key: str | None) -> list[str]:
    """Return the keys to redact: the given one, and those that LiteLLM reads by itself."""
    found = [value for name, value in os.environ.items() if name.endswith("_API_KEY")]
    return [secret for secret in (key, *found) if secret]


def _import_litellm() -> Any:
    if "litellm" in sys.modules:
        return require("litellm", "litellm")
    with _preserved_environment():
        litellm = require("litellm", "litellm")
    # Otherwise it prints advice to the terminal with each error.
    litellm.suppress_debug_info = True
    return litellm


@contextmanager
def _preserved_environment() -> Generator[None]:
    """Keep an import from changing logging and the environment of the process."""
    # Load no prices from the network, and no variables from a `.env` file.
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    quiet = {name: value for name, value in quiet.items() if name not in os.environ}
    before = {name: (logger.level, list(logger.handlers)) for name, logger in _loggers()}
    os.environ.update(quiet)
    try:
        yield
    finally:
        for name in quiet:
            os.environ.pop(name, None)
        # Its records then reach the handlers of the application, like all others.
        for name, logger in _loggers():
            level, handlers = before.get(name, (logging.NOTSET, []))
            logger.setLevel(level)
            logger.handlers[:] = handlers


def _loggers() -> list[tuple[str, logging.Logger]]:
    """Return the existing loggers that LiteLLM changes."""
    known = cast("dict[str, object]", logging.root.manager.loggerDict)
    return [
        (name, logger)
        for name, logger in known.items()
        if isinstance(logger, logging.Logger) and (name == "httpx" or name.startswith("LiteLLM"))
    ]
