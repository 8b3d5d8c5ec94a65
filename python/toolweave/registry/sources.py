"""Where a registry is from: files, folders of files, and URLs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from .._core import RegistrySnapshot
from ..exceptions import RegistryError
from ..extras import require
from .files import MAX_FILE_BYTES, read_bytes, read_snapshot

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Sequence

    import httpx

    from .._core import Diagnostic

_MAX_REDIRECTS = 3
_TIMEOUT = 30.0
_REDIRECTS = (301, 302, 303, 307, 308)


class Document(NamedTuple):
    """A text with tools."""

    name: str
    """Where it is from, as errors call it."""
    data: str | bytes
    """The text, or its bytes."""


class Source(Protocol):
    """Something that has documents, which may be others each time it is read."""

    def read(self) -> list[Document]:
        """Read all of it.

        Raises:
            OSError: A file cannot be read.
            RegistryError: It is too large, or a server does not answer as one.
        """
        ...


class FileSource:
    """A file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Where it is."""

    def read(self) -> list[Document]:
        """Read the file."""
        return [Document(str(self.path), read_bytes(self.path))]


class FolderSource:
    """The files of a folder whose names end in ``.xml``, in the order of their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Where it is."""

    def read(self) -> list[Document]:
        """Read the files; those of folders in it are no part of it."""
        files = sorted(file for file in self.path.iterdir() if is_registry_file(file))
        if not files:
            raise RegistryError(f"the folder {self.path} has no file whose name ends in .xml")
        return [document for file in files for document in FileSource(file).read()]


def is_registry_file(path: Path) -> bool:
    """True if a file of a folder is read; one that is hidden is being written."""
    return path.suffix.lower() == ".xml" and not path.name.startswith(".")


class UrlSource:
    """A document that a server has. What has not changed is not sent again (ETag).

    Args:
        url: Where it is, with http or https.
        allowed_hosts: Hosts that may be asked, as ``host`` or ``host:port``, also where a
            redirect leads.
        max_bytes: How long the document may be.
    """

    def __init__(self, url: str, allowed_hosts: Collection[str], max_bytes: int) -> None:
        self.url = url
        """Where it is."""
        self._allowed = frozenset(host.lower() for host in allowed_hosts)
        self._max_bytes = max_bytes
        self._etag: str | None = None
        self._data: bytes | None = None

    def read(self) -> list[Document]:
        """Ask the server for the document, if it is another one than before."""
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
            # What unpacks to a thousand times its size would be past any limit at once.
            headers = {"Accept": "application/xml, text/xml", "Accept-Encoding": "identity"}
            if self._etag is not None:
                headers["If-None-Match"] = self._etag
            with client.stream("GET", url, headers=headers) as response:
                if response.status_code not in _REDIRECTS:
                    return self._body(response)
                url = url.join(response.headers.get("Location", ""))
        raise RegistryError(f"{self.url} redirects more than {_MAX_REDIRECTS} times")

    def _check(self, url: httpx.URL) -> None:
        from ..handlers.remote import host_forms

        if url.scheme not in ("http", "https") or not url.host:
            raise RegistryError(f"{self.url} leads to {url}, which is no URL of http or https")
        if url.userinfo:
            raise RegistryError(f"{self.url} leads to a URL with a name or a password in it")
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
            raise RegistryError(f"{self.url} packed its answer as {packing}, unasked")
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > self._max_bytes:
                raise RegistryError(f"{self.url} holds more than {self._max_bytes} bytes")
        self._etag, self._data = response.headers.get("ETag"), bytes(body)
        return self._data


AnySource: TypeAlias = "FileSource | FolderSource | UrlSource"
"""A source that a path or a URL names."""


def as_source(
    place: str | os.PathLike[str],
    allowed_hosts: Collection[str] = (),
    max_bytes: int = MAX_FILE_BYTES,
) -> AnySource:
    """The source that a path or a URL names."""
    if isinstance(place, str) and place.lower().startswith(("http://", "https://")):
        return UrlSource(place, allowed_hosts, max_bytes)
    path = Path(place)
    return FolderSource(path) if path.is_dir() else FileSource(path)


def read_all(sources: Iterable[Source]) -> tuple[Document, ...]:
    """The documents of several sources, in their order."""
    return tuple(document for source in sources for document in source.read())


def read_snapshots(documents: Iterable[Document]) -> tuple[RegistrySnapshot, ...]:
    """The registries that documents are, each alone.

    Raises:
        RegistryError: Some are none; says of all what is wrong, and where.
    """
    parts: list[RegistrySnapshot] = []
    errors: list[RegistryError] = []
    for document in documents:
        try:
            parts.append(read_snapshot(document.data, document.name))
        except RegistryError as err:  # noqa: PERF203 - all of them are told
            errors.append(err)
    if not errors:
        return tuple(parts)
    if len(errors) == 1:
        raise errors[0]
    found: list[Diagnostic] = [one for error in errors for one in error.diagnostics]
    raise RegistryError("\n".join(str(error) for error in errors), tuple(found))


def join_snapshots(parts: Sequence[RegistrySnapshot]) -> RegistrySnapshot:
    """One registry of several.

    Raises:
        RegistryError: They contradict each other.
    """
    return parts[0] if len(parts) == 1 else RegistrySnapshot.join(parts)
