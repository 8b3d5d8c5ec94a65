"""Proxy of `toolweave serve`."""

from collections.abc import Sequence
from typing import TypedDict, final

from typing_extensions import NotRequired, Unpack

class _ProxyOptions(TypedDict):
    address: str
    upstream_key: str | None
    api_key: str | None
    mode: str | None
    dialect: str | None
    retries: int
    stream_arguments: NotRequired[bool]
    pass_paths: Sequence[str]
    hosts: Sequence[str]
    origins: Sequence[str]
    max_body_bytes: int
    max_concurrency: int
    client_timeout: float
    first_byte_timeout: float
    idle_timeout: float
    timeout: float | None
    threads: int
    log: bool
    record: NotRequired[str | None]

@final
class ProxyServer:
    """A running proxy, with threads of its own that never wait for the interpreter.

    Times are in seconds, sizes in bytes; see `toolweave serve`. It runs until `stop` is called or
    the object is deleted.

    Args:
        upstream: The base URL of the upstream, such as `http://127.0.0.1:8080/v1`.

    Raises:
        OSError: The address cannot be bound, or the file of replies cannot be opened.
        ValueError: An option is invalid.
    """

    def __new__(cls, upstream: str, **options: Unpack[_ProxyOptions]) -> ProxyServer: ...
    @property
    def address(self) -> tuple[str, int]:
        """Host and port that the server listens on."""
    def stop(self, grace: float) -> bool:
        """Stop the server once the responses that are being written have ended.

        It accepts no more requests meanwhile.

        Args:
            grace: Maximum time to wait, in seconds.

        Returns:
            True if all responses have ended, or if the server had been stopped already.
        """
