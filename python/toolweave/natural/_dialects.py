"""Dialects of a model: the one that its prompts teach, and those that are named to its parsers."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias, cast

from .._checks import check_text, check_type
from .._core import Dialect, render_contracts

if TYPE_CHECKING:
    from .._options import ParserOptions
    from ..profiles import Profile

AUTO = "auto"
"""Option that leaves the choice to toolweave."""

NATURAL = Dialect.named("natural")
"""Dialect that any model can write if its prompt describes it."""

DialectOption: TypeAlias = "str | Dialect"
"""A dialect, its name, or ``auto``."""


class ModelDialects:
    """Dialects of one model.

    Args:
        model: The name of the model.
        dialect: The dialect that the caller names; ``auto`` for that of the profile, the template
            or the model, whichever comes first.
        template: The text of the model's chat template.
        profile: The profile of the model.
        read: The dialects that the caller restricts parsers to, by name; None for all.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The dialect is unknown, or is not one of those that are read.
    """

    def __init__(
        self,
        model: str,
        dialect: DialectOption = AUTO,
        *,
        template: str | None = None,
        profile: Profile | None = None,
        read: Iterable[str] | None = None,
    ) -> None:
        check_text("template", template, none=True)
        self._model = model
        self._read = None if read is None else tuple(read)
        self.is_named = dialect != AUTO
        """True if the caller names the dialect, so that tools that it cannot present are an
        error."""
        self._own = self._find(dialect, template, profile)
        self._learned: tuple[Dialect, ...] = ()

    @property
    def taught(self) -> Dialect:
        """Dialect that prompts teach."""
        candidates = self._learned if self._own is None else (self._own,)
        if self._read is not None:
            candidates += tuple(map(Dialect.named, self._read))
        for candidate in candidates:
            if self._can_read(candidate) and can_teach(candidate):
                return candidate
        return NATURAL

    def named(self, *, native: bool) -> tuple[str, ...]:
        """Return the names of the dialects to name to a parser.

        Args:
            native: True for replies to native requests, which teach no dialect.
        """
        learned = (each for each in self._learned if not each.is_shaped)
        taught = () if native else (self.taught,)
        own = () if self._own is None else (self._own,)
        names = dict.fromkeys(each.name for each in (*own, *taught, *learned))
        names.pop(NATURAL.name, None)
        return tuple(names)

    def learn(self, name: str) -> None:
        """Record the dialect of a recovered call.

        It is named to parsers, unless its calls may have no marker: JSON that the model quotes
        would be a call. It is taught if the model is not known and the server rejects tools.
        """
        dialect = Dialect.named(name)
        if dialect not in (self._own, *self._learned):
            self._learned = (*self._learned, dialect)

    def _can_read(self, dialect: Dialect) -> bool:
        return self._read is None or dialect.name in self._read

    def _find(
        self, dialect: DialectOption, template: str | None, profile: Profile | None
    ) -> Dialect | None:
        """Return the dialect of the model; None if it is not known."""
        if dialect != AUTO:
            found = named_dialect(dialect)
            if not self._can_read(found):
                read = ", ".join(self._read or ())
                raise ValueError(
                    f"dialect {found.name!r} must be one of the dialects that are read, got {read}"
                )
        elif profile is not None:
            return Dialect.named(profile.dialect)
        elif template is not None:
            found = Dialect.from_template(template)
        else:
            found = Dialect.for_model(self._model)
        return None if dialect == AUTO and found == NATURAL else found


def named_dialect(dialect: DialectOption) -> Dialect:
    """Return the dialect of the option `dialect`.

    Raises:
        TypeError: It is neither a dialect nor a name.
        ValueError: There is no dialect of this name.
    """
    if isinstance(dialect, Dialect):
        return dialect
    check_type("dialect", dialect, str, "a dialect or its name")
    try:
        return Dialect.named(dialect)
    except ValueError as error:
        raise ValueError(f"dialect{str(error).removeprefix('name')}") from None


@functools.cache
def can_teach(dialect: Dialect) -> bool:
    """Return True if tools can be presented in a dialect. Some are only read."""
    try:
        render_contracts((), dialect=dialect)
    except ValueError:
        return False
    return True


def dialects_read(options: ParserOptions) -> tuple[str, ...] | None:
    """Return the names of the dialects that the option `dialects` restricts parsers to.

    None stands for all dialects, and for a value that parsers reject.
    """
    given: object = options.get("dialects", AUTO)
    if isinstance(given, Dialect):
        return (given.name,)
    if not isinstance(given, (tuple, list)):
        return None
    items = cast("Iterable[object]", given)
    names = tuple(each.name if isinstance(each, Dialect) else each for each in items)
    known = set(Dialect.names())
    if AUTO in names or not all(isinstance(name, str) and name in known for name in names):
        return None
    return cast("tuple[str, ...]", names)


def with_dialects(options: ParserOptions, names: Iterable[str]) -> ParserOptions:
    """Return options of a parser in which some dialects are named.

    Only `dialects` with ``auto`` change: any other value names all that are recognized.
    """
    given = options.get("dialects", AUTO)
    if given == AUTO:
        given = (AUTO,)
    added = tuple(names)
    # Any other value names dialects, or is rejected by the parser.
    if not added or not isinstance(given, (tuple, list)) or AUTO not in given:
        return options
    return cast("ParserOptions", {**options, "dialects": (*given, *added)})
