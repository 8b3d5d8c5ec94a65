"""Expected calls, and their assignment to the calls that were made."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._checks import check_text, wrong_type
from ._values import compare_fields, shown_call

if TYPE_CHECKING:
    from types import EllipsisType

    from ._calls import MadeCall


@dataclass(frozen=True)
class CallMatcher:
    """A call that a test expects, created by `call`."""

    name: str
    """Name of the tool."""
    arguments: Mapping[str, Any] | None = None
    """Expected arguments; None for any."""
    others: bool = False
    """True if the call may have further arguments."""

    def __str__(self) -> str:
        """Return the call in one line of bounded length."""
        return shown_call(self.name, self.arguments, others=self.others)

    def matches(self, made: MadeCall) -> bool:
        """Return True if a call is as expected."""
        return made.name == self.name and next(self.differences(made), None) is None

    def differences(self, made: MadeCall) -> Iterator[str]:
        """Yield the differences of the arguments of a call of this tool."""
        if self.arguments is not None:
            yield from compare_fields(self.arguments, made.arguments, others=self.others)


def call(name: str, others: EllipsisType | None = None, /, **arguments: Any) -> CallMatcher:
    """Describe a call that a test expects, with all its arguments.

    An argument is compared with ``==``, so `unittest.mock.ANY` and `pytest.approx` work; mappings
    and lists are compared item by item. It may also be a class, a predicate (a function that
    returns True for the right values) or a compiled pattern, which is searched in a text.

    Args:
        name: Name of the tool.
        others: ``...`` if the call may have further arguments.
        **arguments: The arguments. Names that are no Python names are given as in
            ``call("Mail", **{"from": "a@b.c"})``.

    Example:
        >>> print(call("book", city="Oslo", nights=2))
        book(city='Oslo', nights=2)
        >>> print(call("book", ..., city="Oslo"))
        book(city='Oslo', ...)
    """
    check_text("name", name, empty=False)
    if others is not None and others is not ...:
        raise wrong_type("others", "... or nothing, and arguments named", others)
    return CallMatcher(name, arguments, others is ...)


def as_expected(expected: object) -> CallMatcher:
    """Return an expected call; a name stands for a call with any arguments.

    Raises:
        TypeError: It is neither a name nor an expected call.
    """
    if isinstance(expected, str):
        return CallMatcher(expected)
    if not isinstance(expected, CallMatcher):
        raise wrong_type("expected", "the name of a tool or a `call(...)`", expected)
    return expected


def assign_in_order(expected: Sequence[CallMatcher], made: Sequence[MadeCall]) -> list[int | None]:
    """Return the index of the made call for each expected one, in increasing order.

    Each expected call gets the first that is left and matches, which finds an assignment of all if
    there is one. After one without a match the search goes on, so that the failure shows the rest.
    """
    assigned: list[int | None] = []
    after = 0
    for each in expected:
        found = next((at for at in range(after, len(made)) if each.matches(made[at])), None)
        assigned.append(found)
        after = after if found is None else found + 1
    return assigned


def assign_any_order(expected: Sequence[CallMatcher], made: Sequence[MadeCall]) -> list[int | None]:
    """Return a largest assignment of made calls to expected ones, each made call used once.

    An expected call that matches several must not take the only match of another: along an
    augmenting path, calls that have a match change to another one.
    """
    options = [[at for at, one in enumerate(made) if each.matches(one)] for each in expected]
    assigned: list[int | None] = [None] * len(expected)
    owner: dict[int, int] = {}
    for start in range(len(expected)):
        came_from: dict[int, int] = {}
        waiting = deque([start])
        while waiting:
            each = waiting.popleft()
            free = None
            for at in options[each]:
                if at in came_from:
                    continue
                came_from[at] = each
                if at not in owner:
                    free = at
                    break
                waiting.append(owner[at])
            if free is not None:
                _augment(free, came_from, owner, assigned)
                break
    return assigned


def _augment(
    free: int, came_from: dict[int, int], owner: dict[int, int], assigned: list[int | None]
) -> None:
    at: int | None = free
    while at is not None:
        each = came_from[at]
        previous = assigned[each]
        assigned[each], owner[at] = at, each
        at = previous
