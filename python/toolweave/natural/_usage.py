"""Usage of a reply: as the provider reports it, or estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .._core import TextMessage, ToolAggregateMessage
from ..costs import estimate_usage
from ..kinds import FinishReason
from ..models import as_messages
from ..models._requests import is_large
from ._parts import is_slow_to_parse

if TYPE_CHECKING:
    from ..costs import Usage
    from ._run import ReplyRun


class ReplyUsage(NamedTuple):
    """Usage of a reply."""

    usage: Usage
    """Tokens of the request."""
    estimated: bool
    """True if the provider did not report them."""


def is_slow_to_estimate(reply: ReplyRun) -> bool:
    """Return True if `usage_of` takes longer than starting a thread."""
    if reply.usage is not None:
        return False
    return is_slow_to_parse(reply.calls) or is_large(as_messages(reply.conversation))


def usage_of(reply: ReplyRun) -> ReplyUsage | None:
    """Return the usage of a reply, complete or not; None if the model has not answered at all."""
    reported = reply.usage
    if reported is not None:
        return ReplyUsage(reported, estimated=False)
    if reply.finish_reason is FinishReason.MISSING and not (reply.messages or reply.calls):
        return None
    request = reply.request
    written = [each for each in reply.messages if not isinstance(each, ToolAggregateMessage)]
    # The results in aggregate messages are not output of the model, so only the calls count.
    called = [TextMessage(f"{call.name} {call.raw}") for call in reply.calls]
    estimate = estimate_usage(request.messages, [*written, *called], tools=request.tools)
    return ReplyUsage(estimate, estimated=True)
