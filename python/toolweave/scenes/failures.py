"""Failures, as users read them."""

from __future__ import annotations

import logging
import secrets
from http import HTTPStatus

from .._exception_text import exception_text
from ..exceptions import ModelError, ToolweaveError
from ..executor.failure import redact_paths, redact_secrets

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
    """The sentence about a model that failed.

    Example:
        >>> from toolweave.exceptions import ModelError
        >>> model_failure_text(ModelError("openai answered with status 429: slow down", "openai", 429))
        'OpenAI API error: 429 Too Many Requests'
    """
    provider = error.provider or "unknown"
    # Servers of one's own are called by their host.
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
    """The sentence about anything else that failed: a line without the program's inside."""
    line = _line(error)
    kind = type(error).__name__
    return f"Execution failed: {line}" if line else f"Execution failed: {kind}"


def full_text(error: BaseException) -> str:
    """All that an exception says, but for secrets."""
    return redact_secrets(exception_text(error, type(error).__name__))


def log_failure(error: BaseException, what: str) -> str | None:
    """Log an exception whose text is not ours, and return the id that the log has it under.

    Args:
        error: The exception.
        what: What has failed, for the log.

    Returns:
        The id; None for what this package says itself.
    """
    if isinstance(error, ToolweaveError) and not (
        # The text of whatever a function raised.
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
