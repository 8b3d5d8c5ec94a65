"""Middleware for LangChain's agents that answers invalid calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, ToolMessage

from ..._checks import check_count
from ._messages import invalid_calls

if TYPE_CHECKING:
    from langchain.agents import AgentState


class AnswerInvalidCalls(AgentMiddleware[Any, Any, Any]):
    """Middleware that reports the errors of invalid calls to the model, for another attempt.

    Without it, a LangChain agent treats a reply that has only invalid calls as its answer, and
    ends. Needs the package ``langchain``.

    Args:
        limit: Maximum number of consecutive retries. After that the agent ends, as it would
            without the middleware.

    Raises:
        ValueError: `limit` is less than 1.
    """

    def __init__(self, *, limit: int = 3) -> None:
        super().__init__()
        check_count("limit", limit, 1)
        self.limit = limit

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState[Any], runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """Add results for the invalid calls of the last reply."""
        messages = state["messages"]
        reply = messages[-1]
        if not isinstance(reply, AIMessage):
            return None
        answers = [
            ToolMessage(error, tool_call_id=call.id, name=call.name, status="error")
            for call, error in invalid_calls(reply)
        ]
        if not answers:
            return None
        if reply.tool_calls:
            # The agent runs the valid calls, and then sends the next request anyway.
            return {"messages": answers}
        return None if self._limit_reached(messages) else {"messages": answers, "jump_to": "model"}

    def _limit_reached(self, messages: list[Any]) -> bool:
        """Return True if `limit` consecutive replies before the last had only invalid calls."""
        streak = 0
        for message in reversed(messages[:-1]):
            if isinstance(message, AIMessage):
                if message.tool_calls or not message.invalid_tool_calls:
                    break
                streak += 1
            elif not (isinstance(message, ToolMessage) and message.status == "error"):
                break
        return streak >= self.limit
