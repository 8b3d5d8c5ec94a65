"""Models behind LiteLLM: a hundred providers, by names such as ``groq/llama-3.3-70b``.

    from toolweave.models import complete
    from toolweave.models.litellm import LiteLLMModel

    model = LiteLLMModel("ollama_chat/qwen3", base_url="http://127.0.0.1:11434")
    reply = await complete(model, "Hello!")

Needs the extra `litellm`, which is large: the package is imported when the first model is made.
Then it fetches nothing from the network, and leaves logging and the environment as they were; it
does add filters for its own warnings. An application that has imported it before keeps the settings
that it made.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ..extras import require
from .clients import check_options, checked_extra, checked_key, failure
from .completions import ChunkReader, request
from .serialization import serialize_request
from .servers import server_label
from .streaming import closing, map_errors, read_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Mapping, Sequence

    from .. import FinishUpdate, FunctionContract, Message, Update
    from ..protocols import ModelOptions


class LiteLLMModel:
    """A model that LiteLLM knows how to ask.

    Where the provider says neither why a reply ended nor what it used, LiteLLM makes up a reason
    and counts tokens itself. The reason is not believed: such a reply counts as cut off.

    Args:
        model: The model, with its provider, as LiteLLM spells it.
        base_url: Where the API is, for servers of one's own.
        api_key: The key. Without one LiteLLM looks in the environment.
        timeout: Seconds to wait for the provider.
        max_retries: How often to ask again where nothing has come yet.
        name: What traces call the model; `model` if not given.
        provider: Whose model it is; the part of `model` before the slash if not given.
        native_tools: Whether it makes native calls.
        strict: Whether the provider is to enforce the schemas of tools and replies.
        extra: Further arguments for ``litellm.acompletion``, for every request, such as
            ``{"drop_params": True}``.

    Raises:
        ImportError: The extra is not installed.
        ValueError: The key cannot be one.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        name: str | None = None,
        provider: str | None = None,
        native_tools: bool = True,
        strict: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        check_options(
            model=model,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            name=name,
            provider=provider,
            native_tools=native_tools,
            strict=strict,
            extra=extra,
        )
        self._litellm = _imported()
        settings: dict[str, Any] = {
            "api_base": base_url,
            "api_key": checked_key(api_key),
            "timeout": timeout,
            "max_retries": max_retries,
        }
        self._settings = {key: value for key, value in settings.items() if value is not None}
        self._settings |= checked_extra(extra or {})
        self._model = model
        self._key = api_key
        self._peer = None if base_url is None else server_label(base_url)
        self._strict = strict
        self.name: str = model if name is None else name
        """What traces call the model."""
        self.provider: str = provider or (model.partition("/")[0] if "/" in model else "litellm")
        """Whose model it is."""
        self.native_tools = native_tools
        """Whether it makes native calls."""

    def __repr__(self) -> str:
        return f"LiteLLMModel({self._model!r}, provider={self.provider!r})"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Answers, piece by piece.

        Raises:
            MessageError: A message cannot be said to such a model.
            ModelError: The model could not be asked, or broke off. `status` is None where the
                connection failed; LiteLLM's exception is the cause.
            ValueError: Tools were given to a model without native calls, or the options name a
                tool that is not there.
        """
        if tools and not self.native_tools:
            raise ValueError(f"{self!r} makes no native calls, so it takes no tools")
        asked = {"model": self._model, **self._settings}
        asked |= await serialize_request(
            lambda: request(messages, tools, options, strict=self._strict), messages, tools
        )
        reader = _Reader(self.name)
        chunks = map_errors(self._chunks(asked, reader), self._failed)
        async with closing(read_reply(chunks, reader, self.name)) as updates:
            async for update in updates:
                yield update

    async def _chunks(self, asked: dict[str, Any], reader: _Reader) -> AsyncIterator[object]:
        reader.stream = stream = await self._litellm.acompletion(**asked)
        async with closing(stream):
            async for chunk in stream:
                yield chunk

    def _failed(self, error: Exception) -> Exception:
        origin = error
        # What broke a stream off is wrapped.
        while isinstance(inner := getattr(origin, "original_exception", None), Exception):
            origin = inner
        return failure(
            origin,
            self.provider,
            _secrets(self._key),
            silent=self._is_connection(origin),
            # Of the requests that its exceptions have, many are made up.
            peer=self._peer,
        )

    def _is_connection(self, error: BaseException) -> bool:
        """Whether the connection failed, for which LiteLLM makes up a status."""
        if isinstance(error, (self._litellm.APIConnectionError, self._litellm.Timeout)):
            return True
        chain: BaseException | None = error
        while chain is not None and not isinstance(chain, OSError):
            chain = chain.__cause__ or chain.__context__
        return chain is not None


class _Reader(ChunkReader):
    stream: Any = None

    def finish(self) -> FinishUpdate:
        """Why the reply ended, as far as the provider said so."""
        said = (
            getattr(self.stream, "received_finish_reason", self._reason),
            getattr(self.stream, "intermittent_finish_reason", None),
        )
        if not any(said):
            self._reason = None
        return super().finish()


def _secrets(key: str | None) -> list[str]:
    """What must not be shown: the key, and those that LiteLLM may have found itself."""
    found = [value for name, value in os.environ.items() if name.endswith("_API_KEY")]
    return [secret for secret in (key, *found) if secret]


def _imported() -> Any:
    if "litellm" in sys.modules:
        return require("litellm", "litellm")
    with _untouched():
        litellm = require("litellm", "litellm")
    # It would print advice to the terminal with each error.
    litellm.suppress_debug_info = True
    return litellm


@contextmanager
def _untouched() -> Generator[None]:
    """Keeps the import from changing how the process logs and is configured."""
    # No prices from the network, no variables from a file `.env`.
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    quiet = {name: value for name, value in quiet.items() if name not in os.environ}
    before = {name: (logger.level, list(logger.handlers)) for name, logger in _loggers()}
    os.environ.update(quiet)
    try:
        yield
    finally:
        for name in quiet:
            os.environ.pop(name, None)
        # What it logs then reaches the application's handlers, like everybody's.
        for name, logger in _loggers():
            level, handlers = before.get(name, (logging.NOTSET, []))
            logger.setLevel(level)
            logger.handlers[:] = handlers


def _loggers() -> list[tuple[str, logging.Logger]]:
    """The loggers that it changes, as far as they exist."""
    known = cast("dict[str, object]", logging.root.manager.loggerDict)
    return [
        (name, logger)
        for name, logger in known.items()
        if isinstance(logger, logging.Logger) and (name == "httpx" or name.startswith("LiteLLM"))
    ]
