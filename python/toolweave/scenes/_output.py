"""The output of a run: the request that asks for it, and the reading of answers as outputs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ..exceptions import OutputError
from ..kinds import SceneStopReason
from ._ends import CUT_OFF_MESSAGES, StopRun

if TYPE_CHECKING:
    from ..natural import NaturalToolUse, ReplyRun
    from ._state import RunState


class OutputRequest:
    """The request whose reply is the output of a run, and is requested again if it is invalid.

    Args:
        state: The run.
        use: The client for the request.
        with_tools: True if the model is shown the tools.
    """

    def __init__(self, state: RunState, use: NaturalToolUse, *, with_tools: bool = False) -> None:
        self._state = state
        state.output.use = use
        self.options, self.form = state.output.request(
            state.settings.options, with_tools=with_tools
        )
        """The options of the request, and the sentences that ask for the output."""

    async def accept(self, reply: ReplyRun, *, may_retry: bool) -> bool:
        """Read a reply as the output.

        Args:
            reply: The reply, which has no calls.
            may_retry: True if another request can be made.

        Returns:
            False if the model has to be asked again; the conversation ends with that question then.

        Raises:
            OutputError: The reply has no valid output, and the model cannot be asked again.
            StopRun: The reply was cut off, or the budget is exceeded.
        """
        state = self._state
        cut_off = CUT_OFF_MESSAGES.get(reply.finish_reason)
        try:
            return await _read(state, reply.text, truncated=bool(cut_off), may_retry=may_retry)
        except OutputError as error:
            if cut_off is not None:
                raise StopRun(SceneStopReason.ERROR, cut_off, exception=error) from error
            state.check_budget()
            raise


async def has_output(state: RunState) -> bool:
    """Return True if a run has its output, or its last answer is one.

    Only a text is the output without an `OutputRequest`: the form of other outputs was not part of
    the request.
    """
    if state.output.is_complete or not state.output.is_text:
        return state.output.is_complete
    return await _read(state, state.text, may_retry=True)


async def read_hook_answer(state: RunState) -> None:
    """Read the answer of a hook as the output; if it is none, `SceneResult.output` raises."""
    with suppress(OutputError):
        await _read(state, state.text)


async def _read(
    state: RunState, text: str, *, truncated: bool = False, may_retry: bool = False
) -> bool:
    may_retry = may_retry and state.limit_error is None
    question = await state.output.check(
        text, state.run_context(), truncated=truncated, may_retry=may_retry
    )
    if question is not None:
        state.messages.append(question)
    return question is None
