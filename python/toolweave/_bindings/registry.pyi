"""Tools of registries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from typing_extensions import Self

from .diagnostic import Diagnostic
from .selection import ReplyReader

@final
class ToolEntry:
    """A tool of a registry: the element `Tool` of NLWeb's `tools.xml`."""

    __match_args__ = ("name", "type", "site")

    def __new__(
        cls,
        name: str,
        *,
        type: str = "Thing",
        site: str | None = None,
        enabled: bool = True,
        path: str = "",
        method: str = "",
        handler: str | None = None,
        arguments: Mapping[str, str] | None = None,
        examples: Iterable[str] | None = None,
        prompt: str | None = None,
        return_struc: Any = None,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """The name."""

    @property
    def type(self) -> str:
        """The type that has the tool, in its short form, such as ``Recipe``."""

    @property
    def site(self) -> str | None:
        """The site that has the tool; None for every site."""

    @property
    def enabled(self) -> bool:
        """True if the tool is enabled. A disabled tool hides those that it replaces."""

    @property
    def path(self) -> str:
        """The path of a remote tool; empty if there is none."""

    @property
    def method(self) -> str:
        """``builtin``, ``code``, ``extension`` or ``url``; empty if not given."""

    @property
    def handler(self) -> str | None:
        """The dotted path of the handler."""

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments, as descriptions by name."""

    @property
    def examples(self) -> tuple[str, ...]:
        """Example queries for the tool."""

    @property
    def prompt(self) -> str | None:
        """The scoring prompt for a model, with placeholders."""

    @property
    def return_struc(self) -> Any:
        """An example of the reply: any JSON. A new object each time."""

    @property
    def line(self) -> int | None:
        """The line in the file, from 1; None if the tool is not from a file."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The placeholders of the prompt, each once."""

    def render(self, values: Mapping[str, str]) -> str:
        """Fill the placeholders of the prompt in one pass; unknown ones become empty."""

    @property
    def reader(self) -> ReplyReader:
        """The reader of replies to the prompt. The same object each time."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a reply: that of `return_struc`, with a score."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The same schema without the score: the parameters of the handler. An object schema."""
    def __replace__(self, **changes: Any) -> ToolEntry: ...

@final
class Origin:
    """The origin of a tool of a type, and the tools that it replaces."""

    __match_args__ = ("tool", "owner", "site", "replaces")

    def __new__(
        cls,
        tool: ToolEntry,
        owner: str,
        site: str | None = None,
        replaces: tuple[ToolEntry, ...] | None = None,
    ) -> Self: ...
    @property
    def tool(self) -> ToolEntry:
        """The tool. If it is disabled, the type does not have it, and `replaces` is hidden."""

    @property
    def owner(self) -> str:
        """The type that declares it."""

    @property
    def site(self) -> str | None:
        """The site that declares it; None for those of every site."""

    @property
    def replaces(self) -> tuple[ToolEntry, ...]:
        """The tools that it replaces, the nearest first."""
    def __replace__(self, **changes: Any) -> Origin: ...

@final
class RegistrySnapshot:
    """The immutable content of a `tools.xml`."""

    @staticmethod
    def read(source: str | bytes, *, skip_invalid: bool = False) -> RegistrySnapshot:
        """Read a document; bytes may be UTF-8, UTF-16 with a byte order mark, or declared Latin-1.

        Args:
            source: The document.
            skip_invalid: True to skip tools with errors, which are then among the diagnostics,
                instead of rejecting the document. A document that is not XML is always rejected.

        Raises:
            RegistryError: The document is invalid; its `diagnostics` list all defects.
        """

    @staticmethod
    def of(entries: Iterable[ToolEntry]) -> RegistrySnapshot:
        """Create a registry of tools, in the given order.

        Raises:
            RegistryError: A type is called ``Site`` or ``Tool``.
        """

    @staticmethod
    def join(parts: Iterable[RegistrySnapshot]) -> RegistrySnapshot:
        """Join several registries, in order, as if they were one document.

        Its `diagnostics` are only those of the combination, such as a tool that two of them have.
        The `line` of each tool refers to its own document.

        Raises:
            RegistryError: A type is its own ancestor in the combination.
        """

    def with_entries(self, entries: Iterable[ToolEntry]) -> RegistrySnapshot:
        """Return a registry with additional tools.

        A tool of the same name, type and site is replaced. Others are added at the end of the last
        block of their type.

        Raises:
            RegistryError: A type is called ``Site`` or ``Tool``.
        """

    @property
    def entries(self) -> tuple[ToolEntry, ...]:
        """All tools in document order, disabled ones as well."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types that have tools, in the order of their first tools."""

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites, except for ``default``."""

    @property
    def fingerprint(self) -> str:
        """A hash of the content, regardless of its layout: 32 hexadecimal digits."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The warnings, in the order of the text, and the errors of skipped tools."""

    def tools_of(
        self, kinds: Sequence[str], site: str | None = None, *, sites_replace: bool = False
    ) -> tuple[ToolEntry, ...]:
        """Return the tools of some types, general to specific.

        Args:
            kinds: The types in any spelling, the most specific first.
            site: The site; by default only tools of every site.
            sites_replace: If true, a site that does not state whether it inherits has only its own
                tools, as in NLWeb.
        """

    def tools_for(self, type: str, site: str | None = None) -> tuple[ToolEntry, ...]:
        """Return the tools of a type in any spelling, general to specific.

        A specific tool takes the place of the one that it replaces. A site that the registry does
        not have has the tools of ``default``.
        """

    def explain(self, type: str, site: str | None = None) -> tuple[Origin, ...]:
        """Return the same tools with the origin of each, and the disabled ones as well."""

    def supertypes(self, type: str) -> tuple[str, ...]:
        """Return the result of `supertypes`, including types that this registry extends."""

    def suggest_type(self, type: str) -> str | None:
        """Return the known type most similar to an unknown one: ``Hotel`` for ``hotel``.

        None if the registry or schema.org knows the type, or if there is no similar one.
        """

    def write(self) -> str:
        """Return the registry as XML, with its comments; reading it gives the same registry.

        Raises:
            RegistryError: A text has characters that XML cannot represent, or a type is not a valid
                element name.
        """

def type_name(spelling: str) -> str:
    """Return the short form of a schema.org type: ``Recipe`` for ``https://schema.org/Recipe``.

    ``Thing`` for ``Item``, which is NLWeb's name of the root.
    """

def supertypes(type: str) -> tuple[str, ...]:
    """Return a type and all its supertypes, the most specific first, ``Thing`` last."""
