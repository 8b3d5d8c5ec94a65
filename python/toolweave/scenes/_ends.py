"""Texts about failures for users and for the log."""

from __future__ import annotations

import logging
import secrets
from http import HTTPStatus

from .._exception_text import exception_text
from ..exceptions import ModelError, ToolweaveError
from ..executor._failure import redact_paths, redact_secrets

_log = logging.getLogger("toolweave.scenes")

_DISPLAY_NAMES = {
    "anthropic": "Anthropic",
    "azure": "Azure OpenAI",
    "azure.ai.openai": "Azure OpenAI",
    "deepseek": "DeepSeek",
    "groq": "Groq",
    "litellm": "LiteLLM",
    "mistral": "Mistral",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "unknown": "Model",
    "vllm": "vLLM",
}
_LONGEST = 500


def model_failure_text(error: ModelError) -> str:
    """Return the sentence about a failed model.

    Example:
        >>> from toolweave.exceptions import ModelError
        >>> error = ModelError("openai answered with status 429: slow down", "openai", 429)
        >>> model_failure_text(error)
        'OpenAI API error: 429 Too Many Requests'
    """
    provider = error.provider or "unknown"
    # The provider of a self-hosted server is its host name.
    is_host = "." in provider or ":" in provider
    name = provider if is_host else provider[:1].upper() + provider[1:]
    name = _DISPLAY_NAMES.get(provider.lower(), name)
    if error.status is None:
        return f"{name} API error: {_line(error)}"
    try:
        reason = HTTPStatus(error.status).phrase
    except ValueError:
        reason = _line(error)
    return f"{name} API error: {error.status} {reason}"


def run_failure_text(error: BaseException) -> str:
    """Return the sentence about any other failure: one line without internals of the program."""
    line = _line(error)
    kind = type(error).__name__
    return f"Execution failed: {line}" if line else f"Execution failed: {kind}"


def full_text(error: BaseException) -> str:
    """Return the full text of an exception without secrets."""
    return redact_secrets(exception_text(error, type(error).__name__))


def log_failure(error: BaseException, what: str) -> str | None:
    """Log an exception that another library raised, and return its reference in the log.

    Args:
        error: The exception.
        what: A sentence on the failure, for the log.

    Returns:
        The reference; None for an exception that toolweave raised itself.
    """
    if isinstance(error, ToolweaveError) and not (
        # Such an error has the text of an exception that a function raised.
        isinstance(error, ModelError) and error.provider is None and error.__cause__ is not None
    ):
        return None
    reference = secrets.token_hex(4)
    _log.error("%s (reference %s)", what, reference, exc_info=error, extra={"reference": reference})
    return reference


def _line(error: BaseException) -> str:
    line = next(
        (
            line.strip()
            for line in exception_text(error, type(error).__name__).splitlines()
            if line.strip()
        ),
        "",
    )
    return redact_paths(redact_secrets(line[: 4 * _LONGEST]))[:_LONGEST]
