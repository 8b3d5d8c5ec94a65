"""Assertion on the course of a run: requests, the order of calls, corrected errors, the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .._checks import check_count, check_items, check_text, wrong_type
from .._core import TextMessage
from ..kinds import Role
from ._calls import made_calls, messages_of, numbered
from ._observer import RecordingObserver
from ._values import differences, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

    from .._messages import Message
    from ._calls import CallSource, MadeCall

ExpectedText: TypeAlias = "str | re.Pattern[str] | Callable[[str], object]"
"""An expected text: the whole text, a pattern that is searched in it, or a predicate."""

_MOST_LINES = 40


def expect_trajectory(
    source: CallSource,
    *,
    requests: int | None = None,
    max_requests: int | None = None,
    order: Sequence[str] = (),
    corrected: str | Sequence[str] = (),
    errors: int | None = None,
    text: ExpectedText | None = None,
    stop_reason: str | None = None,
) -> None:
    """Assert the course of a run; conditions that are not given hold for any.

    All conditions are checked, and the failure message shows those that do not hold together with
    the trajectory: texts, calls and results by request.

    Args:
        source: An `AgentResult` or a `SceneResult`, an `AgentRun` or messages in any form.
        requests: Number of requests to the model.
        max_requests: Maximum number of requests.
        order: Names of tools, each of which must have been called without an error in an earlier
            request than the first call of the next one. Calls in one reply are made without
            knowledge of each other's results, so they are in no order. A tool that is not called
            needs no tool before it.
        corrected: Tools of which a call failed, and a call in a later request succeeded.
        errors: Number of calls that failed, were invalid or were denied.
        text: The last text of the model, without surrounding white space.
        stop_reason: Reason why the run ended, such as ``completed``.

    Raises:
        AssertionError: A condition does not hold.
        TypeError: `source` has no messages, or no stop reason where one is expected.

    Example:
        >>> import asyncio
        >>> from toolweave import Agent
        >>> from toolweave.testing import ScriptedModel, expect_trajectory
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> model = ScriptedModel('<add>{"a": 2}</add>', '<add>{"a": 2, "b": 3}</add>', "It is 5.")
        >>> result = asyncio.run(Agent(model, [add]).run("What is 2 + 3?"))
        >>> expect_trajectory(result, requests=3, corrected="add", stop_reason="completed")
    """
    check_count("requests", requests, none=True)
    check_count("max_requests", max_requests, none=True)
    check_count("errors", errors, none=True)
    check_text("stop_reason", stop_reason, none=True)
    names = "a sequence of names of tools"
    order = check_items("order", order, str, names)
    corrected = [corrected] if isinstance(corrected, str) else corrected
    corrected = check_items("corrected", corrected, str, f"the name of a tool or {names}")
    if not (text is None or isinstance(text, (str, re.Pattern)) or callable(text)):
        raise wrong_type("text", "a text, a pattern, a predicate or None", text)
    course = _Course(source)
    failures = [
        *_check_requests(course.requests, requests, max_requests),
        *_check_order(course.calls, order),
        *_check_corrected(course.calls, corrected),
    ]
    failed = sum(call.is_error for call in course.calls)
    if errors is not None and failed != errors:
        failures.append(f"errors: expected {errors}, got {failed}")
    if text is not None:
        failures += differences(text, course.text, "text")
    if stop_reason is not None and course.stop_reason != stop_reason:
        failures.append(f"stop_reason: expected {stop_reason!r}, got {course.stop_reason!r}")
    if failures:
        lines = [f"- {failure}" for failure in failures]
        raise AssertionError("\n".join([_HEADING, *lines, "the trajectory:", *course.lines()]))


_HEADING = "the trajectory is not as expected:"


class _Course:
    """The course of a run."""

    def __init__(self, source: object) -> None:
        if isinstance(source, RecordingObserver):
            raise TypeError(
                "source must be a result, a run or messages, got a RecordingObserver, which "
                "observes neither requests nor texts"
            )
        self._source = source
        self._messages: list[tuple[int, Message]] = list(numbered(messages_of(source)))
        self.calls = made_calls(source)

    @property
    def requests(self) -> int:
        """Number of requests; in messages, that of replies."""
        counted = getattr(self._source, "iterations", None)
        if isinstance(counted, int):
            return counted
        return max((number for number, _ in self._messages), default=0)

    @property
    def text(self) -> str:
        """The last text of the model."""
        text = getattr(self._source, "text", None)
        if isinstance(text, str):
            return text
        texts = [message.text for _, message in self._messages if _is_text(message)]
        return texts[-1].strip() if texts else ""

    @property
    def stop_reason(self) -> str:
        """The reason why the run ended."""
        reason: Any = getattr(self._source, "stop_reason", None)
        if reason is None:
            raise TypeError(
                f"a {type(self._source).__name__} has no stop reason; pass the result of the run"
            )
        return str(getattr(reason, "value", reason))

    def lines(self) -> Iterator[str]:
        """Yield the texts and calls, a line each, as many as a person reads."""
        calls = iter(self.calls)
        lines: list[str] = []
        for number, message in self._messages:
            if isinstance(message, TextMessage):
                at = f"{number}. " if _is_text(message) else ""
                lines.append(f"  {at}{message.role.value}: {shown(message.text)}")
            lines += [f"  {number}. {next(calls)}" for _ in getattr(message, "tool_calls", ())]
        yield from lines[:_MOST_LINES]
        if len(lines) > _MOST_LINES:
            yield f"  ... and {len(lines) - _MOST_LINES} more"


def _is_text(message: Message) -> TypeGuard[TextMessage]:
    return isinstance(message, TextMessage) and message.role == Role.ASSISTANT


def _check_requests(made: int, exact: int | None, most: int | None) -> Iterator[str]:
    if exact is not None and made != exact:
        yield f"requests: expected {exact}, got {made}"
    if most is not None and made > most:
        yield f"requests: expected at most {most}, got {made}"


def _check_order(calls: Sequence[MadeCall], order: Sequence[str]) -> Iterator[str]:
    for index in range(1, len(order)):
        earlier, name = order[index - 1], order[index]
        first = next((call.request for call in calls if call.name == name), None)
        if first is None:
            continue
        before = [call for call in calls if call.name == earlier]
        done = [call.request for call in before if not call.is_error and call.request is not None]
        if not done or done[0] >= first:
            state = f"first called in request {done[0]}" if done else "never called with success"
            state = state if before else "never called"
            yield (
                f"order: {earlier!r} must be called before {name!r}, which was called in request "
                f"{first}; it was {state}"
            )


def _check_corrected(calls: Sequence[MadeCall], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        of_tool = [(call.request or 0, call.is_error) for call in calls if call.name == name]
        failed = [number for number, is_error in of_tool if is_error]
        if not failed:
            yield f"corrected: no call of {name!r} failed"
        elif not any(number > failed[0] and not is_error for number, is_error in of_tool):
            yield (
                f"corrected: a call of {name!r} failed in request {failed[0]}, and none succeeded "
                "in a later one"
            )
