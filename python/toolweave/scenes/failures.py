"""Failures, as users read them."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from ..executor.failure import without_internals, without_secrets
from ..wording import text_of

if TYPE_CHECKING:
    from ..exceptions import ModelError

_SPELLED = {
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


def model_failed(error: ModelError) -> str:
    """The sentence about a model that failed.

    Example:
        >>> from toolweave.exceptions import ModelError
        >>> model_failed(ModelError("openai answered with status 429: slow down", "openai", 429))
        'OpenAI API error: 429 Too Many Requests'
    """
    provider = error.provider or "unknown"
    name = _SPELLED.get(provider.lower(), provider[:1].upper() + provider[1:])
    if error.status is None:
        return f"{name} API error: {_line(error)}"
    try:
        reason = HTTPStatus(error.status).phrase
    except ValueError:
        reason = _line(error)
    return f"{name} API error: {error.status} {reason}"


def run_failed(error: BaseException) -> str:
    """The sentence about anything else that failed: a line without the program's inside."""
    line = _line(error)
    kind = type(error).__name__
    return f"Execution failed: {line}" if line else f"Execution failed: {kind}"


def _line(error: BaseException) -> str:
    line = next(
        (
            line.strip()
            for line in text_of(error, type(error).__name__).splitlines()
            if line.strip()
        ),
        "",
    )
    return without_internals(without_secrets(line[: 4 * _LONGEST]))[:_LONGEST]
