"""Assertion on the calls of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._checks import check_flag
from ._calls import MadeCall, made_calls
from ._expected import as_expected, assign_any_order, assign_in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._calls import CallSource
    from ._expected import CallMatcher

_MOST_LINES = 40


def expect_calls(
    source: CallSource,
    /,
    *expected: CallMatcher | str,
    any_order: bool = False,
    at_least: bool = False,
) -> tuple[MadeCall, ...]:
    """Assert which calls a model has made: without expected ones, none.

    All calls count, also invalid and denied ones, those of tools that do not exist, and those with
    which a model enters a scene.

    Args:
        source: An `AgentResult` or a `SceneResult` (the calls of that run, not of its history), an
            `AgentRun`, messages in any form, or a `RecordingObserver`.
        *expected: The expected calls, created by `call`; a name stands for a call of that tool with
            any arguments.
        any_order: True to accept any order.
        at_least: True to accept other calls before, between and after the expected ones.

    Returns:
        The calls that were made for the expected ones, in the order of these.

    Raises:
        AssertionError: The calls differ. The message shows both, and the arguments that differ.
        TypeError: `source` has no calls.

    Example:
        >>> import asyncio
        >>> from toolweave import Agent
        >>> from toolweave.testing import ScriptedModel, call, expect_calls
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> agent = Agent(ScriptedModel('<add>{"a": 2, "b": 3}</add>', "It is 5."), [add])
        >>> result = asyncio.run(agent.run("What is 2 + 3?"))
        >>> [made] = expect_calls(result, call("add", a=2, b=lambda b: b > 0))
        >>> made.result.value
        5
    """
    check_flag("any_order", any_order)
    check_flag("at_least", at_least)
    wanted = [as_expected(each) for each in expected]
    made = made_calls(source)
    assigned = assign_any_order(wanted, made) if any_order else assign_in_order(wanted, made)
    if None in assigned or not (at_least or len(made) == len(wanted)):
        how = [", in any order" * any_order, ", among others" * at_least]
        heading = f"expected {_count(len(wanted))}{''.join(how)}, got {_count(len(made))}"
        if wanted and made:
            right = len(wanted) - assigned.count(None)
            heading += f", {right or 'none'} of them as expected"
        raise AssertionError("\n".join([heading, *_report(wanted, made, assigned, at_least)]))
    return tuple(made[at] for at in assigned if at is not None)


def _count(number: int) -> str:
    return {0: "no calls", 1: "1 call"}.get(number, f"{number} calls")


def _report(
    wanted: Sequence[CallMatcher],
    made: Sequence[MadeCall],
    assigned: Sequence[int | None],
    at_least: bool,
) -> Iterator[str]:
    """Yield the lines of a diff: ``-`` for expected calls, ``+`` for made ones."""
    lines = list(_diff(wanted, made, assigned, at_least))
    yield "  (- expected, + made)"
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"  ... and {len(lines) - _MOST_LINES} more lines"


def _diff(
    wanted: Sequence[CallMatcher],
    made: Sequence[MadeCall],
    assigned: Sequence[int | None],
    at_least: bool,
) -> Iterator[str]:
    left = dict(enumerate(made))
    for at in assigned:
        if at is not None:
            del left[at]
    for each, at in zip(wanted, assigned, strict=True):
        if at is not None:
            yield f"    {made[at]}"
            continue
        yield f"  - {each}"
        near = _nearest(each, left)
        if near is not None:
            found = left.pop(near)
            yield f"  + {found}"
            yield from (f"      {line}" for line in _bounded(each.differences(found)))
    # Calls that may be there as well, or that nothing is expected for.
    mark = " " if at_least and None not in assigned else "+"
    yield from (f"  {mark} {each}" for each in left.values())


def _nearest(expected: CallMatcher, left: dict[int, MadeCall]) -> int | None:
    """Return the first call of the same tool that no expected call has."""
    return next((at for at, made in left.items() if made.name == expected.name), None)


def _bounded(lines: Iterator[str], most: int = 8) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number == most:
            yield "..."
            return
        yield line
