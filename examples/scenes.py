"""Scenes: the model chooses a scene and calls its tools, and every step is an event.

The model is scripted; `--model URL` uses one at any OpenAI-compatible endpoint instead.

Prints:

    > What is 15 + 27?
    ExecutingScene     Entering scene: Calculator
    FunctionRequest    Executing tool: Add
    FunctionCompleted  Tool Add executed: 42
    Running            15 + 27 is 42.
    Completed          15 + 27 is 42.
    completed: 120 tokens in, 15 out, 0.00002700 USD
    > Calculate (10 + 5) * 3
    ExecutingScene     Entering scene: Calculator
    FunctionRequest    Executing tool: Add
    FunctionCompleted  Tool Add executed: 15
    FunctionRequest    Executing tool: Multiply
    FunctionCompleted  Tool Multiply executed: 45
    Running            (10 + 5) * 3 is 45.
    Completed          (10 + 5) * 3 is 45.
    completed: 160 tokens in, 20 out, 0.00003600 USD
"""

from __future__ import annotations

import argparse
import asyncio

from toolweave import SceneManager, UsageUpdate
from toolweave.costs import Budget, Price
from toolweave.protocols import Model
from toolweave.testing import ScriptedModel

QUESTIONS = ("What is 15 + 27?", "Calculate (10 + 5) * 3")
REPLIES = [
    *("<Calculator/>", '<Add>{"a": 15, "b": 27}</Add>', "15 + 27 is 42."),
    *("<Calculator/>", '<Add>{"a": 10, "b": 5}</Add>'),
    *('<Multiply>{"a": 15, "b": 3}</Multiply>', "(10 + 5) * 3 is 45."),
]


class Calculator:
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def multiply(self, a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b


async def main(model: Model) -> None:
    # The price of a model behind a URL is unknown, so it does not count against the budget.
    budget = Budget("0.01", unpriced="allow")
    manager = SceneManager(model, prices={"script": Price("0.15", "0.60")}, budget=budget)
    scene = manager.scene("Calculator", "Performs mathematical calculations")
    scene.service(Calculator(), methods={"add": "Add", "multiply": "Multiply"})
    scene.actor("Answer in one sentence.")
    for question in QUESTIONS:
        print(">", question)
        async for step in manager.stream(question):
            print(f"{step.status:18} {step.message}")
        used = f"{step.total_input_tokens} tokens in, {step.total_output_tokens} out"
        print(f"{step.stop_reason}: {used}, {step.total_cost:.8f} USD")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", metavar="URL")
    url = parser.parse_args().model
    model: Model = ScriptedModel(*([text, UsageUpdate(40, 5)] for text in REPLIES), name="script")
    if url:
        from toolweave.models.openai import OpenAIModel

        model = OpenAIModel("default", base_url=url, native_tools=False)
    asyncio.run(main(model))
