"""A registry of tools that may be read again, and to which Python adds."""

from __future__ import annotations

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
from .files import MAX_FILE_BYTES, read_snapshot, write_atomically
from .linting import is_relative, lint, with_document_name
from .registrations import Registration, build_state, handler_for, tool_key
from .source_text import SourceText
from .sources import (
    Document,
    FileSource,
    UrlSource,
    as_source,
    join_snapshots,
    read_all,
    read_snapshots,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable

    from .._core import Diagnostic, Origin, ToolEntry
    from ..tools import Toolset
    from ..tools.toolset import ToolLike
    from .registrations import RegistryState, ToolKey
    from .sources import AnySource
    from .toolset import Describe, RegistryToolset
    from .watching import RegistryWatch

log = logging.getLogger("toolweave.registry")

_Handler = TypeVar("_Handler")

_MAX_WARNED_TYPES = 1000

TEXT = "the text"
"""What errors call a registry that is from no file."""


class ToolRegistry:
    """The tools of each schema.org type and site, and the handlers that serve them.

    It may be read again and added to while others use it, in any thread: each question is
    answered by the registry as it was before, or as it is after.

    Make one with `load`, `loads` or `from_tools`. An empty one, ``ToolRegistry()``, is for
    tools that are all registered in Python.

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
            snapshot: What it says at first; nothing by default.
            base_url: What relative paths of tools with ``method="url"`` are relative to.

        Raises:
            ValueError: `base_url` is not absolute.
        """
        self._lock = threading.RLock()
        check_type("snapshot", snapshot, RegistrySnapshot, "a RegistrySnapshot", none=True)
        check_type("base_url", base_url, str, "a URL", none=True)
        if base_url is not None and is_relative(base_url):
            raise ValueError(f"base_url must be an absolute URL, http or https, got {base_url!r}")
        self.base_url = base_url
        """The URL that relative paths of tools with ``method="url"`` belong to, as links of a page
        at it do."""
        self._base = RegistrySnapshot.of(()) if snapshot is None else snapshot
        self._sources: tuple[AnySource, ...] = ()
        self._documents: tuple[Document, ...] = ()
        self._parts: tuple[RegistrySnapshot, ...] = (self._base,)
        # Types that were asked for and are none, so that each is told once.
        self._warned_types: set[str] = set()
        self._registrations: dict[ToolKey, Registration] = {}
        self._toolsets: weakref.WeakSet[RegistryToolset] = weakref.WeakSet()
        # Never changed, only replaced: whoever reads it has it for good.
        self._state = build_state(self._base, ())

    @staticmethod
    def load(
        *sources: str | os.PathLike[str],
        base_url: str | None = None,
        allowed_hosts: Collection[str] = (),
        max_bytes: int = MAX_FILE_BYTES,
    ) -> ToolRegistry:
        """The registry in a file, or in several places.

        Args:
            *sources: Each a `tools.xml`, flat or with sites (see docs/registry.md), or a folder, of
                which all files are read whose names end in ``.xml``, or a URL. They count as one
                document, in this order.
            base_url: What relative paths of tools with ``method="url"`` are relative to.
            allowed_hosts: Hosts that URLs may be read from, as ``host`` or ``host:port``.
            max_bytes: How long what a URL leads to may be.

        Raises:
            OSError: A file cannot be read.
            RegistryError: There are errors, all of which are in `diagnostics`; or a URL may not or
                cannot be read.
            ImportError: There is a URL, and httpx is not installed.
            TypeError: There is no source, or one string is given for allowed hosts.
        """
        if not sources:
            raise TypeError("load needs a file, a folder or a URL")
        if isinstance(allowed_hosts, str):
            raise TypeError(f"allowed_hosts must be several hosts; for one, [{allowed_hosts!r}]")
        check_count("max_bytes", max_bytes, 1)
        places = tuple(as_source(place, allowed_hosts, max_bytes) for place in sources)
        registry = ToolRegistry(base_url=base_url)
        registry._sources = places
        registry._read(read_all(places))
        registry._log_reading(changed=True)
        return registry

    @staticmethod
    def loads(source: str | bytes, *, base_url: str | None = None) -> ToolRegistry:
        """The registry that a text is.

        Args:
            source: The text, or its bytes in any encoding that XML names.
            base_url: What relative paths of tools with ``method="url"`` are relative to.

        Raises:
            RegistryError: It has errors; all of them are in `diagnostics`.
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
        """A registry of tools, each of which serves itself.

        Prompts and structures follow from what the tools tell a model.

        Args:
            tools: The tools, or anything else that a `Toolset` takes.
            type: The type that has them.
            site: The site that has them; every site by default.

        Raises:
            ContractError: A name is given twice, or a definition is none.
            ToolDefinitionError: A tool has no function, or none that can serve it.
        """
        from ..tools import Toolset

        registry = ToolRegistry()
        registry._add_registrations(
            Registration.of(tool_key(tool.name, type, site), tool) for tool in Toolset(tools)
        )
        return registry

    @property
    def path(self) -> Path | None:
        """The file that it was loaded from; None if it is from no file, or not from one alone."""
        match self._sources:
            case (FileSource(path=path),):
                return path
            case _:
                return None

    @property
    def snapshot(self) -> RegistrySnapshot:
        """The registry as it is now, which later changes do not reach."""
        return self._state.snapshot

    @property
    def fingerprint(self) -> str:
        """A hash of all that it says: the same for the same tools, whatever the layout."""
        return self._state.snapshot.fingerprint

    def tools_for(self, type: str, site: str | None = None) -> tuple[ToolEntry, ...]:
        """The tools of a type: its own and those it inherits, general ones first.

        Args:
            type: A type of schema.org in any spelling, or one of your own.
            site: The site; by default only tools of every site.
        """
        snapshot = self._state.snapshot
        self._warn_unknown_type(snapshot, type)
        return snapshot.tools_for(type, site)

    def explain(self, type: str, site: str | None = None) -> tuple[Origin, ...]:
        """Where each tool of a type comes from and what it replaces.

        Args:
            type: As for `tools_for`.
            site: As for `tools_for`.
        """
        return self._state.snapshot.explain(type, site)

    def lint(self, *, allowed_handlers: Collection[str] = ()) -> tuple[Diagnostic, ...]:
        """All that can be said against it, in the order of the text.

        Handlers that are registered in Python are there. A path that a file gives is looked for
        without importing anything; only what is allowed is imported, to be certain.

        Args:
            allowed_handlers: The modules that may be imported, each with all below it.

        Raises:
            TypeError: `allowed_handlers` is one string instead of several.
        """
        if isinstance(allowed_handlers, str):
            raise TypeError(f"allowed handlers are several: [{allowed_handlers!r}]")
        state, documents, parts = self._state, self._documents, self._parts
        if len(documents) < 2:
            text = SourceText(documents[0].data if documents else b"")
            return lint(state, parts[0], allowed_handlers, text, self.base_url)
        found: list[Diagnostic] = []
        for document, part in zip(documents, parts, strict=True):
            text = SourceText(document.data)
            diagnostics = lint(state, part, allowed_handlers, text, self.base_url)
            found += [with_document_name(document.name, one) for one in diagnostics]
        return (*found, *self._base.diagnostics)

    def write(self, path: str | os.PathLike[str] | None = None) -> str:
        """The registry as XML. Reading it gives the same tools.

        Args:
            path: The file to replace, in one step; none by default.

        Raises:
            OSError: It cannot be written; it is then as it was.
        """
        text = self._state.snapshot.write()
        if path is not None:
            write_atomically(Path(path), text)
        return text

    def reload(self) -> bool:
        """Reads all that it was loaded from again. What was registered in Python stays.

        If any of it cannot be used, the registry is as it was.

        Returns:
            Whether anything is said that was not said before, or the other way round.

        Raises:
            OSError: A file cannot be read.
            RegistryError: There are errors, a URL cannot be read, or the registry is from no file.
        """
        if not self._sources:
            raise RegistryError("the registry is from no file that could be read again")
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
        """Reads it again whenever a file changes, for as long as a block lasts.

        A file that is broken is reported, and the registry stays as it was. Needs the extra
        ``nlweb``.

        Args:
            poll: After how many seconds URLs are read again, if there are any.

        Example:
            async with registry.watch() as reloads:
                async for reload in reloads:
                    print(reload.changed, reload.error)

        Raises:
            RegistryError: The registry is from no file.
            ImportError: The package watchfiles is not installed.
        """
        from .watching import RegistryWatch

        if not self._sources:
            raise RegistryError("the registry is from no file that could be watched")
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
        """Registers what it decorates as the handler of a tool.

        The tool may be of the file, or of a more general type, and is then served by this
        handler for this type and all below it. Otherwise it is made of the function: of its types
        and its docstring, as `tool` does. What is given here comes before either.

        Args:
            name: The name of the tool.
            type: The type that has it.
            site: The site that has it; every site by default.
            prompt: The prompt that it is scored with.
            examples: Queries that it is for.
            arguments: What its arguments are, by name.
            return_struc: An example of a reply to the prompt.

        Returns:
            A decorator, which returns what it is given: a class with ``do()``, a function or a
            `Tool`.

        Raises:
            ToolDefinitionError: A function cannot be made into a tool, where there is none.
            TypeError: It cannot be a handler; raised by the decorator.
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
        """Removes what was registered in Python: a handler, with the tool that was made of it.

        A tool of a file stays, without that handler. Toolsets that follow the registry have it no
        more; a call that runs goes on.

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
        """What was registered in Python for a tool: for its own type, or one it is a kind of.

        The most specific registration counts, types before sites. A dotted path in the file
        counts more than registrations for more general types or sites, and less than one for the
        very tool.

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
        """The tools of a type as tools for an `Agent`, a `ToolExecutor` or `toolweave.mcp`.

        Each runs as `toolweave.handlers.run_handler` says. The set follows the registry: tools
        that come with a reload are in it.

        Args:
            type: As for `tools_for`.
            site: As for `tools_for`.
            handler: What handlers get besides the parameters, such as NLWeb's own of the query.
                By default an object that collects what they send; where they return nothing,
                that is the result.
            allowed_handlers: Prefixes of dotted paths that may be imported.
            allowed_hosts: Hosts that tools with ``method="url"`` may ask.
            timeout: How long a handler may take, in seconds.
            describe: What a model is told of a tool; by default its prompt without what is said
                about scores, and its examples.

        Raises:
            ContractError: A tool cannot be described to a model.
        """
        from .toolset import RegistryToolset, make_runner

        run = make_runner(
            self,
            allowed_handlers=allowed_handlers,
            allowed_hosts=allowed_hosts,
            timeout=timeout,
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
        base = join_snapshots(parts)
        state = build_state(base, self._registrations.values())
        self._documents, self._parts, self._base = documents, parts, base
        self._publish(state)

    def _warn_unknown_type(self, snapshot: RegistrySnapshot, type: str) -> None:
        """Tells of a type that is none, once."""
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
                # The later one counts, and counts as later.
                known.pop(registration.key, None)
                known[registration.key] = registration
            state = build_state(self._base, known.values())
            self._registrations = known
            self._publish(state)

    def _log_reading(self, *, changed: bool) -> None:
        # Counting makes an object of each tool and each warning, and most files have many.
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
                # It keeps the tools that it has, and the registry is what it has become.
                log.exception("a toolset cannot follow its registry")


def _check_handler(handler: object, name: str) -> None:
    if isinstance(handler, type):
        if callable(getattr(handler, "do", None)):
            return
        raise TypeError(
            f"tool {name!r}: the class {handler.__name__!r} has no method do(); a handler is made "
            "with (params, handler), and its do() is awaited"
        )
    if not callable(handler):
        raise TypeError(
            f"tool {name!r}: a handler is a class with do(), a function or a Tool, not {handler!r}"
        )
