"""The final answer of a run, where it is not that of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kinds import SceneStatus
from ._model_turn import ModelTurn
from ._output import OutputRequest
from ._reply_texts import refuse_all
from ._state import user

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._state import RunState
    from ._unregistered_calls import UnregisteredCall

_FINAL = "Based on all the information gathered, provide the final answer to the user's request."


async def conclude(state: RunState) -> None:
    """Ask the model for the final answer, with the output of the run.

    Raises:
        ModelError: A request failed, or a reply broke off.
        OutputError: The model gave no valid output, also when asked again.
        StopRun: The reply is empty, or the budget is exceeded.
    """
    state.emit(SceneStatus.GENERATING_FINAL_RESPONSE, "Generating final response", lifecycle=True)
    output = OutputRequest(state, state.scenes.plain)
    system = state.system(output.form)
    should_refuse: Callable[[UnregisteredCall], bool] | None = refuse_all
    start = len(state.messages)
    while True:
        turn = ModelTurn(state, state.scenes.plain, should_refuse=should_refuse)
        # The question about an invalid output follows the request for it.
        before, after = state.messages[:start], state.messages[start:]
        reply = await turn.run([*system, *before, user(_FINAL), *after], output=output)
        if turn.refused:
            should_refuse, start = None, len(state.messages)
            state.check_budget()
        elif await turn.report_answer(reply, output):
            return
