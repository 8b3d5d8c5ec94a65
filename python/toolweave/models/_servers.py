"""Labels of servers in errors and traces: host and path, without user and query."""

from __future__ import annotations

from urllib.parse import urlsplit

_OPENAI = "openai.com"


def server_label(url: str) -> str:
    """Return the host and path of a URL, with its port unless that is the default.

    Example:
        >>> server_label("http://me:secret@127.0.0.1:8080/v1/chat/completions?key=secret")
        '127.0.0.1:8080/v1/chat/completions'
    """
    return f"{_host(url)}{urlsplit(url).path}"


def provider_for_url(url: str | None) -> str:
    """Return the provider of an OpenAI-compatible API: ``openai``, or the host of another.

    Example:
        >>> provider_for_url(None), provider_for_url("https://api.openai.com/v1")
        ('openai', 'openai')
        >>> provider_for_url("http://127.0.0.1:8080/v1")
        '127.0.0.1:8080'
    """
    if not url:
        return "openai"
    host = _host(url)
    return "openai" if host == _OPENAI or host.endswith(f".{_OPENAI}") else host or "openai"


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return host if parts.port in (None, default) else f"{host}:{parts.port}"
