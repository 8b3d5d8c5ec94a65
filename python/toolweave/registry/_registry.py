"""Registry of tools that can be reloaded and extended in Python."""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .._checks import check_count, check_number, check_type
from .._core import RegistrySnapshot
from ..exceptions import RegistryError
from ._files import MAX_FILE_BYTES, read_snapshot, write_atomically
from ._linting import Linter, is_relative
from ._registrations import Registration, build_state, handler_for, tool_key
from ._sources import (
    Document,
    FileSource,
    UrlSource,
    as_source,
    read_all,
    read_snapshots,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable

    from .._core import Diagnostic, Origin, ToolEntry
    from ..tools import Toolset
    from ..tools._toolset import ToolLike
    from ._registrations import RegistryState, ToolKey
    from ._sources import AnySource
    from ._toolset import Describe, RegistryToolset
    from ._watching import RegistryWatch

log = logging.getLogger("toolweave.registry")

_Handler = TypeVar("_Handler")

_MAX_WARNED_TYPES = 1000

TEXT = "the text"
"""Name of a registry without a file, for errors."""


class ToolRegistry:
    """Tools of each schema.org type and site, with the handlers that serve them.

    It may be reloaded and extended while it is in use, in any thread: each lookup sees the
    registry either before or after a change.

    Create one with `load`, `loads` or `from_tools`. Start with an empty one, ``ToolRegistry()``, if
    all tools are registered in Python.

    Example:
        >>> registry = ToolRegistry()
        >>> @registry.handler("details", type="Recipe")
        ... async def details(item_name: str) -> str:
        ...     "Says more about one recipe."
        ...     return f"{item_name}: flour, water, salt"
        >>> [entry.name for entry in registry.tools_for("https://schema.org/Recipe")]
        ['details']
        >>> registry.tools_for("Movie")
        ()
    """

    def __init__(
        self, snapshot: RegistrySnapshot | None = None, *, base_url: str | None = None
    ) -> None:
        """Prefer `load`, `loads` and `from_tools`.

        Args:
            snapshot: The initial tools; none by default.
            base_url: The base URL of relative paths of tools with ``method="url"``.

        Raises:
            ValueError: `base_url` is not absolute.
        """
        self._lock = threading.RLock()
        check_type("snapshot", snapshot, RegistrySnapshot, "a RegistrySnapshot", none=True)
        check_type("base_url", base_url, str, "a URL", none=True)
        if base_url is not None and is_relative(base_url):
            raise ValueError(f"base_url must be an absolute URL, http or https, got {base_url!r}")
        self.base_url = base_url
        """Base URL of relative paths of tools with ``method="url"``, resolved like links in a
        page."""
        self._base = RegistrySnapshot.of(()) if snapshot is None else snapshot
        self._sources: tuple[AnySource, ...] = ()
        self._documents: tuple[Document, ...] = ()
        self._parts: tuple[RegistrySnapshot, ...] = (self._base,)
        # Unknown types that were looked up, so that each is logged once.
        self._warned_types: set[str] = set()
        self._registrations: dict[ToolKey, Registration] = {}
        self._toolsets: weakref.WeakSet[RegistryToolset] = weakref.WeakSet()
        # Immutable and replaced as a whole, so that readers need no lock.
        self._state = build_state(self._base, ())

    @staticmethod
    def load(
        *sources: str | os.PathLike[str],
        base_url: str | None = None,
        allowed_hosts: Collection[str] = (),
        max_bytes: int = MAX_FILE_BYTES,
    ) -> ToolRegistry:
        """Load a registry from a file, or from several sources.

        Args:
            *sources: The sources: a `tools.xml`, flat or with sites (see
                docs/explanation/registry.md); a folder, of which all files with the suffix ``.xml``
                are read; or a URL. They are read as one document, in this order.
            base_url: The base URL of relative paths of tools with ``method="url"``.
            allowed_hosts: Hosts that URLs may be read from, as ``host`` or ``host:port``.
            max_bytes: Maximum size of a document at a URL.

        Raises:
            OSError: A file cannot be read.
            RegistryError: There are errors, all of which are in `diagnostics`; or a URL is not
                allowed or cannot be read.
            ImportError: There is a URL, and httpx is not installed.
            TypeError: There is no source, or `allowed_hosts` is a string.
        """
        if not sources:
            raise TypeError("sources must be at least one file, folder or URL, got none")
        if isinstance(allowed_hosts, str):
            raise TypeError(
                f"allowed_hosts must be a list of hosts, as in [{allowed_hosts!r}], got one string"
            )
        check_count("max_bytes", max_bytes, 1)
        places = tuple(as_source(place, allowed_hosts, max_bytes) for place in sources)
        registry = ToolRegistry(base_url=base_url)
        registry._sources = places
        registry._read(read_all(places))
        registry._log_reading(changed=True)
        return registry

    @staticmethod
    def loads(source: str | bytes, *, base_url: str | None = None) -> ToolRegistry:
        """Load a registry from a text.

        Args:
            source: The text, or its bytes in any encoding that XML names.
            base_url: The base URL of relative paths of tools with ``method="url"``.

        Raises:
            RegistryError: There are errors, all of which are in `diagnostics`.
        """
        registry = ToolRegistry(read_snapshot(source, TEXT), base_url=base_url)
        registry._documents = (Document(TEXT, source),)
        return registry

    @staticmethod
    def from_tools(
        tools: Iterable[ToolLike],
        *,
        type: str = "Thing",
        site: str | None = None,
    ) -> ToolRegistry:
        """Build a registry of tools, each of which is its own handler.

        Prompts and structures are derived from the contracts of the tools.

        Args:
            tools: The tools, or anything else that a `Toolset` accepts.
            type: The type of the tools.
            site: The site of the tools; every site by default.

        Raises:
            ContractError: A name is given twice, or a definition is invalid.
            ToolDefinitionError: A tool has no function, or one that cannot serve it.
        """
        from ..tools import Toolset

        registry = ToolRegistry()
        registry._add_registrations(
            Registration.of(tool_key(tool.name, type, site), tool) for tool in Toolset(tools)
        )
        return registry

    @property
    def path(self) -> Path | None:
        """File that it was loaded from; None if it was not loaded from exactly one file."""
        match self._sources:
            case (FileSource(path=path),):
                return path
            case _:
                return None

    @property
    def snapshot(self) -> RegistrySnapshot:
        """Immutable snapshot of the registry."""
        return self._state.snapshot

    @property
    def fingerprint(self) -> str:
        """Hash of the tools; the same for the same tools in any layout."""
        return self._state.snapshot.fingerprint

    def tools_for(self, type: str, site: str | None = None) -> tuple[ToolEntry, ...]:
        """Return the tools of a type: its own and those it inherits, general ones first.

        Args:
            type: A type of schema.org in any notation, or one of your own.
            site: The site; by default only tools of every site.
        """
        snapshot = self._state.snapshot
        self._warn_unknown_type(snapshot, type)
        return snapshot.tools_for(type, site)

    def explain(self, type: str, site: str | None = None) -> tuple[Origin, ...]:
        """Return the origin of each tool of a type, with the tools that it replaces.

        Args:
            type: As for `tools_for`.
            site: As for `tools_for`.
        """
        return self._state.snapshot.explain(type, site)

    def lint(self, *, allowed_handlers: Collection[str] = ()) -> tuple[Diagnostic, ...]:
        """Return all diagnostics of the registry, by position.

        Handlers registered in Python are known. Dotted paths in a file are searched for without an
        import; only allowed modules are imported.

        Args:
            allowed_handlers: Dotted prefixes of modules that may be imported.

        Raises:
            TypeError: `allowed_handlers` is a string.
        """
        if isinstance(allowed_handlers, str):
            raise TypeError(
                f"allowed_handlers must be a list of prefixes, as in [{allowed_handlers!r}], "
                "got one string"
            )
        documents = self._documents or (Document(TEXT, ""),)
        found = [
            Linter(self._state, part, allowed_handlers, document.data, self.base_url).diagnostics()
            for document, part in zip(documents, self._parts, strict=True)
        ]
        if len(found) == 1:
            return found[0]
        named = [
            one.__replace__(message=f"{document.name}: {one.message}")
            for document, diagnostics in zip(documents, found, strict=True)
            for one in diagnostics
        ]
        return (*named, *self._base.diagnostics)

    def write(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the registry as XML. Loading it gives the same tools.

        Args:
            path: The file to write atomically; none by default.

        Raises:
            OSError: The file cannot be written. It is then unchanged.
        """
        text = self._state.snapshot.write()
        if path is not None:
            write_atomically(Path(path), text)
        return text

    def reload(self) -> bool:
        """Read all sources again. Registrations in Python are kept.

        If any source has errors, the registry does not change.

        Returns:
            True if the tools have changed.

        Raises:
            OSError: A file cannot be read.
            RegistryError: There are errors, a URL cannot be read, or the registry is from no file.
        """
        if not self._sources:
            raise RegistryError("the registry was not loaded from a file and cannot be reloaded")
        with self._lock:
            documents = read_all(self._sources)
            if documents == self._documents:
                return False
            before = self.fingerprint
            self._read(documents)
            changed = self.fingerprint != before
        self._log_reading(changed=changed)
        return changed

    def watch(self, *, poll: float = 60.0) -> RegistryWatch:
        """Reload the registry whenever a file changes, within an ``async with`` block.

        A broken file is reported, and the registry does not change. Needs the extra ``nlweb``.

        Args:
            poll: Interval in seconds at which URLs are read again, if there are any.

        Example:
            async with registry.watch() as reloads:
                async for reload in reloads:
                    print(reload.changed, reload.error)

        Raises:
            RegistryError: The registry is from no file.
            ImportError: The package watchfiles is not installed.
        """
        from ._watching import RegistryWatch

        if not self._sources:
            raise RegistryError("the registry was not loaded from a file and cannot be watched")
        check_number("poll", poll, above=0)
        paths = [one.path for one in self._sources if not isinstance(one, UrlSource)]
        return RegistryWatch(self, *paths, poll=poll if len(paths) < len(self._sources) else None)

    def handler(
        self,
        name: str,
        *,
        type: str = "Thing",
        site: str | None = None,
        prompt: str | None = None,
        examples: Sequence[str] | None = None,
        arguments: Mapping[str, str] | None = None,
        return_struc: Any = None,
    ) -> Callable[[_Handler], _Handler]:
        """Return a decorator that registers the handler of a tool.

        A tool of the file, or of a more general type, is then served by this handler for this type
        and its subtypes. If there is none, the tool is built from the types and docstring of the
        function, as with `tool`. The arguments given here take precedence over both.

        Args:
            name: The name of the tool.
            type: The type of the tool.
            site: The site of the tool; every site by default.
            prompt: The prompt by which it is scored.
            examples: Example queries.
            arguments: Descriptions of its arguments, by name.
            return_struc: An example of a reply to the prompt.

        Returns:
            A decorator that returns its argument: a class with ``do()``, a function or a `Tool`.

        Raises:
            ToolDefinitionError: There is no such tool, and the function cannot be made into one.
            TypeError: The decorated object cannot be a handler.
        """
        given: dict[str, Any] = {
            "prompt": prompt,
            "examples": examples,
            "arguments": arguments,
            "return_struc": return_struc,
        }
        given = {field: value for field, value in given.items() if value is not None}
        key = tool_key(name, type, site)

        def register(handler: _Handler) -> _Handler:
            _check_handler(handler, name)
            here = inspect.currentframe()
            self._add_registrations([Registration.of(key, handler, given, here)])
            return handler

        return register

    def remove(self, name: str, *, type: str = "Thing", site: str | None = None) -> None:
        """Remove a handler that was registered in Python, with the tool that was built from it.

        A tool of a file stays, without that handler. Toolsets of the registry are updated; running
        calls continue.

        Args:
            name: The name of the tool.
            type: The type that it was registered for.
            site: The site that it was registered for.

        Raises:
            LookupError: Nothing was registered for these.
        """
        key = tool_key(name, type, site)
        with self._lock:
            known = dict(self._registrations)
            if known.pop(key, None) is None:
                where = "" if key.site is None else f" on the site {key.site!r}"
                raise LookupError(
                    f"nothing was registered in Python for the tool {name!r} of the type "
                    f"{key.type!r}{where}"
                )
            state = build_state(self._base, known.values())
            self._registrations = known
            self._publish(state)

    def handler_for(self, entry: ToolEntry) -> object | None:
        """Return the handler registered in Python for a tool, or for one of its supertypes.

        The most specific registration wins, types before sites. A dotted path in the file takes
        precedence over registrations for more general types or sites, but not over one for the
        tool itself.

        Args:
            entry: One of its tools.

        Returns:
            The class, the function or the `Tool`; None if there is none.
        """
        state = self._state
        return handler_for(entry, state.snapshot, state.handlers)

    def toolset(
        self,
        type: str = "Thing",
        site: str | None = None,
        *,
        handler: object = None,
        allowed_handlers: Collection[str] = (),
        allowed_hosts: Collection[str] = (),
        timeout: float | None = None,
        describe: Describe | None = None,
    ) -> Toolset:
        """Return the tools of a type for an `Agent`, a `ToolExecutor` or an MCP server.

        Each runs with `toolweave.handlers.run_handler`. The toolset is updated when the registry
        changes.

        Args:
            type: As for `tools_for`.
            site: As for `tools_for`.
            handler: The application's object for handlers, such as NLWeb's handler of the query.
                By default a `MessageCollector`, whose messages are the result if a handler returns
                nothing.
            allowed_handlers: Dotted prefixes of handlers that may be imported.
            allowed_hosts: Hosts that tools with ``method="url"`` may request.
            timeout: Timeout of a handler, in seconds.
            describe: Function that returns the description of a tool for a model; by default the
                purpose in its prompt, and its examples.

        Raises:
            ContractError: A tool cannot be described to a model.
        """
        from ..handlers import run_handler
        from ._toolset import RegistryToolset

        run = functools.partial(
            run_handler,
            self,
            allowed_handlers=allowed_handlers,
            allowed_hosts=allowed_hosts,
            timeout=timeout,
            # A model that has called one tool does not expect the answer of another.
            fallback=None,
        )
        toolset = RegistryToolset((type, site), handler=handler, describe=describe, run=run)
        self._warn_unknown_type(self._state.snapshot, type)
        with self._lock:
            toolset.update(self._state)
            self._toolsets.add(toolset)
        return toolset

    def __repr__(self) -> str:
        where = "" if self.path is None else f"{str(self.path)!r}, "
        return f"ToolRegistry({where}{len(self.snapshot.entries)} tools)"

    def _read(self, documents: tuple[Document, ...]) -> None:
        parts = read_snapshots(documents)
        base = parts[0] if len(parts) == 1 else RegistrySnapshot.join(parts)
        state = build_state(base, self._registrations.values())
        self._documents, self._parts, self._base = documents, parts, base
        self._publish(state)

    def _warn_unknown_type(self, snapshot: RegistrySnapshot, type: str) -> None:
        """Log a warning about an unknown type, once."""
        if type in self._warned_types or len(self._warned_types) >= _MAX_WARNED_TYPES:
            return
        meant = snapshot.suggest_type(type)
        if meant is not None:
            self._warned_types.add(type)
            log.warning(
                "there is no type %r, so it has the tools of Thing; did you mean %r?", type, meant
            )

    def _add_registrations(self, registrations: Iterable[Registration]) -> None:
        with self._lock:
            known = dict(self._registrations)
            for registration in registrations:
                # The last registration wins, and moves to the end.
                known.pop(registration.key, None)
                known[registration.key] = registration
            state = build_state(self._base, known.values())
            self._registrations = known
            self._publish(state)

    def _log_reading(self, *, changed: bool) -> None:
        # Counting creates an object for each tool and warning, and most files have many.
        if not log.isEnabledFor(logging.INFO):
            return
        state = self._state
        extra = {
            "path": ", ".join(document.name for document in self._documents),
            "tools": len(state.snapshot.entries),
            "warnings": len(state.file.diagnostics),
            "changed": changed,
        }
        log.info("registry read", extra=extra)

    def _publish(self, state: RegistryState) -> None:
        self._state = state
        for toolset in self._toolsets:
            try:
                toolset.update(state)
            except Exception:  # noqa: PERF203 - the others still follow
                # The toolset keeps its tools; the registry has changed all the same.
                log.exception("a toolset cannot follow its registry")


def _check_handler(handler: object, name: str) -> None:
    if isinstance(handler, type):
        if callable(getattr(handler, "do", None)):
            return
        raise TypeError(
            f"tool {name!r}: the class {handler.__name__!r} must have a method do(), which is "
            "awaited on an instance created with (params, handler)"
        )
    if not callable(handler):
        raise TypeError(
            f"tool {name!r}: handler must be a class with do(), a function or a Tool, "
            f"got {handler!r}"
        )
