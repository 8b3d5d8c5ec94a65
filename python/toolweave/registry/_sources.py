"""Sources of registries: files, folders and URLs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .._core import RegistrySnapshot
from .._extras import require
from ..exceptions import RegistryError
from ._files import MAX_FILE_BYTES, read_bytes, read_snapshot

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable

    import httpx

    from .._core import Diagnostic

_MAX_REDIRECTS = 3
_TIMEOUT = 30.0
_REDIRECTS = (301, 302, 303, 307, 308)


class Document(NamedTuple):
    """Document with tools."""

    name: str
    """Path or URL, for errors."""
    data: str | bytes
    """Text, or its bytes."""


class FileSource:
    """Source that is a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Path of the file."""

    def read(self) -> list[Document]:
        """Read the file."""
        return [Document(str(self.path), read_bytes(self.path))]


class FolderSource:
    """Source that is the ``.xml`` files of a folder, in the order of their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Path of the folder."""

    def read(self) -> list[Document]:
        """Read the files, without those of subfolders."""
        files = sorted(file for file in self.path.iterdir() if is_registry_file(file))
        if not files:
            raise RegistryError(f"the folder {self.path} has no file whose name ends in .xml")
        return [document for file in files for document in FileSource(file).read()]


def is_registry_file(path: Path) -> bool:
    """Return True if a file of a folder belongs to the registry; hidden files are temporary."""
    return path.suffix.lower() == ".xml" and not path.name.startswith(".")


class UrlSource:
    """Source that is a document at a URL. An unchanged document is not sent again (ETag).

    Args:
        url: The URL, with http or https.
        allowed_hosts: Hosts that may be requested, also by redirects, as ``host`` or
            ``host:port``.
        max_bytes: Maximum size of the document.
    """

    def __init__(self, url: str, allowed_hosts: Collection[str], max_bytes: int) -> None:
        self.url = url
        """URL of the document."""
        self._allowed = frozenset(host.lower() for host in allowed_hosts)
        self._max_bytes = max_bytes
        self._etag: str | None = None
        self._data: bytes | None = None

    def read(self) -> list[Document]:
        """Request the document, unless it has not changed."""
        library = require("httpx", "nlweb")
        try:
            with library.Client(timeout=_TIMEOUT, follow_redirects=False) as client:
                data = self._get(client, library.URL(self.url))
        except (library.HTTPError, library.InvalidURL, library.StreamError) as error:
            reason = str(error) or type(error).__name__
            raise RegistryError(f"{self.url} cannot be read: {reason}") from error
        return [Document(self.url, data)]

    def _get(self, client: httpx.Client, url: httpx.URL) -> bytes:
        for _ in range(_MAX_REDIRECTS + 1):
            self._check(url)
            # A compressed body could exceed the limit in one piece.
            headers = {"Accept": "application/xml, text/xml", "Accept-Encoding": "identity"}
            if self._etag is not None:
                headers["If-None-Match"] = self._etag
            with client.stream("GET", url, headers=headers) as response:
                if response.status_code not in _REDIRECTS:
                    return self._body(response)
                url = url.join(response.headers.get("Location", ""))
        raise RegistryError(f"{self.url} redirects more than {_MAX_REDIRECTS} times")

    def _check(self, url: httpx.URL) -> None:
        from ..handlers._remote import host_forms

        if url.scheme not in ("http", "https") or not url.host:
            raise RegistryError(f"{self.url} leads to {url}, which is not an http or https URL")
        if url.userinfo:
            raise RegistryError(f"{self.url} leads to a URL with a user name or password")
        if self._allowed.isdisjoint(host_forms(url)):
            host = host_forms(url)[0]
            raise RegistryError(
                f"{self.url} leads to {host}, which is not allowed; allow it with "
                f"allowed_hosts=[{host!r}]"
            )

    def _body(self, response: httpx.Response) -> bytes:
        status = response.status_code
        if status == 304 and self._data is not None:
            return self._data
        if not 200 <= status < 300:
            raise RegistryError(f"{self.url} answered {status} {response.reason_phrase}")
        packing = response.headers.get("Content-Encoding", "identity")
        if packing.lower() != "identity":
            raise RegistryError(f"{self.url} sent the unsupported Content-Encoding {packing}")
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > self._max_bytes:
                raise RegistryError(f"{self.url} is larger than {self._max_bytes} bytes")
        self._etag, self._data = response.headers.get("ETag"), bytes(body)
        return self._data


AnySource: TypeAlias = "FileSource | FolderSource | UrlSource"
"""Source that a path or a URL names."""


def as_source(
    place: str | os.PathLike[str],
    allowed_hosts: Collection[str] = (),
    max_bytes: int = MAX_FILE_BYTES,
) -> AnySource:
    """Return the source that a path or a URL names."""
    if isinstance(place, str) and place.lower().startswith(("http://", "https://")):
        return UrlSource(place, allowed_hosts, max_bytes)
    path = Path(place)
    return FolderSource(path) if path.is_dir() else FileSource(path)


def read_all(sources: Iterable[AnySource]) -> tuple[Document, ...]:
    """Read the documents of several sources, in order.

    Raises:
        OSError: A file cannot be read.
        RegistryError: A document is too large, or a server does not return it.
    """
    return tuple(document for source in sources for document in source.read())


def read_snapshots(documents: Iterable[Document]) -> tuple[RegistrySnapshot, ...]:
    """Parse each document as a registry.

    Raises:
        RegistryError: Documents have errors, all of which are reported with their positions.
    """
    parts: list[RegistrySnapshot] = []
    errors: list[RegistryError] = []
    for document in documents:
        try:
            parts.append(read_snapshot(document.data, document.name))
        except RegistryError as err:  # noqa: PERF203 - all errors are reported
            errors.append(err)
    if not errors:
        return tuple(parts)
    if len(errors) == 1:
        raise errors[0]
    found: list[Diagnostic] = [one for error in errors for one in error.diagnostics]
    raise RegistryError("\n".join(str(error) for error in errors), tuple(found))
