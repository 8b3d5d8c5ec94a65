"""Support of a bank: dependencies, instructions of the customer, and typed answers.

The example that pydantic-ai opens with, in toolweave. Set MODEL_URL (and MODEL_NAME, MODEL_KEY) to
ask a real model at any OpenAI-compatible endpoint.

Prints:

    What is my balance? advice='It is 123.45 EUR.' block_card=False risk=1
    I lost my card! advice='Sorry, Ann. We block your card.' block_card=True risk=8
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from toolweave import Agent, ChatModel, HttpModel, RunContext, ToolContext
from toolweave.testing import ScriptedModel


class Bank:
    """A database in place of a real one."""

    async def name_of(self, customer: int) -> str:
        return {7: "Ann"}[customer]

    async def balance_of(self, customer: int, *, include_pending: bool) -> float:
        return {7: 123.45 if include_pending else 100.0}[customer]


@dataclass(frozen=True)
class Support:
    customer: int
    bank: Bank


class Answer(BaseModel):
    advice: Annotated[str, Field(description="The answer to the customer.")]
    block_card: Annotated[bool, Field(description="True to block the card.")]
    risk: Annotated[int, Field(ge=0, le=10, description="The risk of fraud.")]


async def name_the_customer(context: RunContext[Support]) -> str:
    return f"The customer's name is {await context.deps.bank.name_of(context.deps.customer)}."


async def get_balance(context: ToolContext[Support], include_pending: bool) -> str:
    """Look up the balance of the customer, with or without pending payments."""
    support = context.deps
    balance = await support.bank.balance_of(support.customer, include_pending=include_pending)
    return f"{balance:.2f} EUR"


def model() -> ChatModel:
    if url := os.environ.get("MODEL_URL"):
        return HttpModel(url, os.environ.get("MODEL_NAME", "qwen3"), os.environ.get("MODEL_KEY"))
    return ScriptedModel(
        '<get_balance>{"include_pending": "true"}</get_balance>',
        '{"advice": "It is 123.45 EUR.", "block_card": false, "risk": 1}',
        'So: {"advice": "Sorry, Ann. We block your card.", "block_card": true, "risk": 8,}',
    )


async def main() -> None:
    rules = "You work for the support of a bank. Answer the customer, and rate the risk."
    agent = Agent[Support, Answer](
        model(), [get_balance], instructions=[rules, name_the_customer], output_type=Answer
    )
    for question in ("What is my balance?", "I lost my card!"):
        result = await agent.run(question, deps=Support(7, Bank()))
        print(question, result.output)


if __name__ == "__main__":
    asyncio.run(main())
