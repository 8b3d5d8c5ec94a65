"""Planning, executing with approval, and planning again: a graph as a function.

LangGraph's plan-and-execute graph, in toolweave: its edges are the lines of `solve`. Set MODEL_URL
(and MODEL_NAME, MODEL_KEY) to ask a real model at any OpenAI-compatible endpoint.

Prints:

    plan: Find the winner's hometown. / Send a card there.
    1. Find the winner's hometown. -> It is Innichen.
    plan: Send a card there.
    may the agent send_card {'town': 'Innichen'}? yes
    2. Send a card there. -> The card is sent.
    The winner gets a card in Innichen.
"""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

from pydantic import BaseModel, Field

from toolweave import Agent, Approval, ChatModel, FunctionContract, HttpModel, ToolCall, tool
from toolweave.testing import ScriptedModel


class Plan(BaseModel):
    steps: Annotated[list[str], Field(min_length=1)]


class Answer(BaseModel):
    answer: str


@tool(requires_approval=True)
def send_card(town: str) -> str:
    """Send a card to a town."""
    return f"Sent to {town}."


def approve(call: ToolCall, contract: FunctionContract) -> Approval:
    print(f"may the agent {contract.name} {call.arguments}? yes")  # a person decides here
    return Approval.allow(decided_by="ann")


def model() -> ChatModel:
    if url := os.environ.get("MODEL_URL"):
        return HttpModel(url, os.environ.get("MODEL_NAME", "qwen3"), os.environ.get("MODEL_KEY"))
    return ScriptedModel(
        '{"steps": ["Find the winner\'s hometown.", "Send a card there."]}',
        "It is Innichen.",
        '{"steps": ["Send a card there."]}',
        '<send_card>{"town": "Innichen"}</send_card>',
        "The card is sent.",
        '{"answer": "The winner gets a card in Innichen."}',
    )


async def solve(task: str, max_steps: int = 8) -> str:
    rule = "List the steps that are left, or give the answer if none are."
    asked = model()
    planner = Agent[None, Plan | Answer](asked, instructions=rule, output_type=[Plan, Answer])
    worker = Agent(asked, [send_card], approver=approve)
    done = f"Task: {task}"
    for number in range(1, max_steps + 1):
        decision = (await planner.run(done)).output
        if isinstance(decision, Answer):
            return decision.answer
        print("plan:", " / ".join(decision.steps))
        result = await worker.run(f"{done}\nDo only this: {decision.steps[0]}")
        print(step := f"{number}. {decision.steps[0]} -> {result.text}")
        done = f"{done}\n{step}"
    return f"Not solved in {max_steps} steps."


if __name__ == "__main__":
    print(asyncio.run(solve("Send the winner a card.")))
