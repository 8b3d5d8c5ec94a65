"""For agents of LangChain's: what becomes of a reply whose calls are all invalid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, ToolMessage

from ..._checks import check_count
from .messages import invalid_calls

if TYPE_CHECKING:
    from langchain.agents import AgentState


class AnswerInvalidCalls(AgentMiddleware[Any, Any, Any]):
    """Tells the model what is wrong with its invalid calls, and asks it again.

    Without it, an agent of LangChain's takes a reply that only has invalid calls for its answer,
    and ends.
    Needs the package ``langchain``.

    Args:
        limit: How often in a row the model is asked again. After that the agent ends, as it would
            have without.

    Raises:
        ValueError: The limit is below 1.
    """

    def __init__(self, *, limit: int = 3) -> None:
        super().__init__()
        check_count("limit", limit, 1)
        self.limit = limit

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState[Any], runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """Answers the invalid calls of the last reply."""
        messages = state["messages"]
        reply = messages[-1]
        if not isinstance(reply, AIMessage):
            return None
        answers = [
            ToolMessage(what, tool_call_id=call.id, name=call.name, status="error")
            for call, what in invalid_calls(reply)
        ]
        if not answers:
            return None
        if reply.tool_calls:
            # Those run now, and then the model is asked anyway.
            return {"messages": answers}
        return None if self._spent(messages) else {"messages": answers, "jump_to": "model"}

    def _spent(self, messages: list[Any]) -> bool:
        """Whether as many replies in a row before the last one had nothing but invalid calls."""
        row = 0
        for message in reversed(messages[:-1]):
            if isinstance(message, AIMessage):
                if message.tool_calls or not message.invalid_tool_calls:
                    break
                row += 1
            elif not (isinstance(message, ToolMessage) and message.status == "error"):
                break
        return row >= self.limit
