"""The end of a run: exceptions that stop it, and texts about failures."""

from __future__ import annotations

import logging
import secrets
from http import HTTPStatus

from .._exception_text import exception_text
from ..exceptions import ModelError, RateLimitedError, ToolweaveError
from ..executor._failure import redact_paths, redact_secrets
from ..kinds import FinishReason, SceneStopReason

_log = logging.getLogger("toolweave.scenes")

CUT_OFF_MESSAGES = {
    FinishReason.LENGTH: "The reply was cut off at the limit of tokens",
    FinishReason.CONTENT_FILTER: "The provider withheld the rest of the reply",
}
"""The sentences about replies that were cut off."""

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


class StopRun(Exception):  # noqa: N818 - control flow, not an error
    """Raised to end a run.

    Args:
        reason: The stop reason.
        message: The sentence of the `Error` step before the end; None for no such step.
        error: The full text of the error; the message if not given.
        exception: The exception that caused the end; None if there was none.
        reference: The reference of that exception in the log, if another library raised it.
    """

    def __init__(
        self,
        reason: SceneStopReason,
        message: str | None = None,
        *,
        error: str | None = None,
        exception: BaseException | None = None,
        reference: str | None = None,
    ) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message
        self.error = error or message
        self.exception = exception
        self.reference = reference


class PauseRun(StopRun):
    """Raised to end a run in which calls wait for the client."""

    def __init__(self) -> None:
        super().__init__(SceneStopReason.AWAITING_CLIENT)


def not_found(name: str) -> StopRun:
    """Return the end of a run whose scene is unknown."""
    return StopRun(SceneStopReason.ERROR, f"Scene '{name[:100]}' not found")


def denied(reason: str | None) -> StopRun:
    """Return the end of a run that a hook has denied."""
    reason = reason or "You are not authorized to perform this action."
    return StopRun(SceneStopReason.UNAUTHORIZED, reason)


def stop_of(error: BaseException) -> StopRun:
    """Return the end of a run in which an exception was raised."""
    if isinstance(error, StopRun):
        return error
    if isinstance(error, RateLimitedError):
        message = f"Rate limit exceeded: {error}"
        return StopRun(SceneStopReason.RATE_LIMITED, message, exception=error)
    if isinstance(error, ModelError):
        message = model_failure_text(error)
    else:
        message = run_failure_text(error)
    return failure(error, message, "a run of scenes has failed")


def failure(error: BaseException, message: str, what: str) -> StopRun:
    """Log an exception that another library raised, and return it as the end of a run.

    Args:
        error: The exception.
        message: The sentence for the user.
        what: A sentence on the failure, for the log.
    """
    return StopRun(
        SceneStopReason.ERROR,
        message,
        error=redact_secrets(exception_text(error, type(error).__name__)),
        exception=error,
        reference=_log_failure(error, what),
    )


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
    return f"Execution failed: {_line(error) or type(error).__name__}"


def _log_failure(error: BaseException, what: str) -> str | None:
    """Return the reference in the log; None for an exception that toolweave raised itself."""
    if isinstance(error, ToolweaveError) and not (
        # Such an error has the text of an exception that a function raised.
        isinstance(error, ModelError) and error.provider is None and error.__cause__ is not None
    ):
        return None
    reference = secrets.token_hex(4)
    _log.error("%s (reference %s)", what, reference, exc_info=error, extra={"reference": reference})
    return reference


def _line(error: BaseException) -> str:
    text = exception_text(error, type(error).__name__)
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return redact_paths(redact_secrets(line[: 4 * _LONGEST]))[:_LONGEST]
