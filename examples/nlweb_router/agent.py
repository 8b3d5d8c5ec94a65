"""The tools of a type for an agent, and one more that is defined in Python alone.

    python agent.py                                    # replays the replies of a real model
    python agent.py --model http://127.0.0.1:8080/v1   # uses your model

The replies are from Qwen2.5-Coder 1.5B Instruct at temperature 0. The first one calls two tools,
which run concurrently.

Prints:

    tools: search, details, compare, ensemble, statistics, recipe_substitutions,
        accompaniment, scale_recipe
    scale_recipe {'recipe_name': 'Chocolate Cake', 'servings': 20}
    Chocolate Cake for 20: 400 g wheat flour, 160 g cocoa, 500 g sugar, 4 eggs, 480 ml
        buttermilk, 240 g butter, 2 tsp baking soda
    accompaniment {'main_item': 'Chocolate Cake', 'search_query': 'wine'}
    With Chocolate Cake:
    - Ruby port (dessert wine): its dark fruit is a match for chocolate
    The recipe for Chocolate Cake needs 400 g wheat flour, 160 g cocoa, 500 g sugar, 4 eggs,
        480 ml buttermilk, 240 g butter, and 2 tsp baking soda. A wine that goes well with
        Chocolate Cake is Ruby port (dessert wine), its dark fruit is a match for chocolate.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import textwrap
from pathlib import Path

from catalogue import open_catalogue
from router import POLICY, open_registry
from toolweave import Agent, ToolAggregateMessage
from toolweave.models.replay import ReplayModel
from toolweave.protocols import ChatModel

REPLIES = Path(__file__).parent / "agent_replies.json"
QUESTION = "Scale Chocolate Cake to 20 servings, then find a wine that goes with it."

registry = open_registry()


# This tool is in no file: its prompt and parameters follow from the types and the docstring.
@registry.handler("scale_recipe", type="Recipe")
async def scale_recipe(recipe_name: str, servings: int) -> str:
    """Return how much of each ingredient a recipe needs for a number of people.

    Args:
        recipe_name: The recipe.
        servings: Number of people.
    """
    recipe = open_catalogue().find(recipe_name, "Recipe")
    if recipe is None:
        return f"There is no recipe called {recipe_name!r}."
    factor = servings / recipe.facts["servings"]
    lines = [
        re.sub(r"^[\d.]+", lambda amount: f"{float(amount[0]) * factor:g}", line)
        for line in recipe.facts["ingredients"]
    ]
    return f"{recipe.title} for {servings}: {', '.join(lines)}"


async def main(model: ChatModel) -> None:
    tools = registry.toolset("Recipe", allowed_handlers=POLICY.allowed_handlers)
    show(f"tools: {', '.join(tool.name for tool in tools)}")
    agent = Agent(model, tools, instructions="Call tools first. Then tell the user what they said.")
    result = await agent.run(QUESTION)
    for message in result.messages:
        if isinstance(message, ToolAggregateMessage):
            for call, answer in zip(message.tool_calls, message.tool_results, strict=True):
                # Handlers send messages, functions return their result.
                text = answer.value["text"] if isinstance(answer.value, dict) else answer.result
                show(f"{call.name} {call.arguments}\n{text}")
    show(result.text)


def show(text: str) -> None:
    for line in text.splitlines():
        print(textwrap.fill(line, 90, subsequent_indent="    "))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", metavar="URL", help="an OpenAI-compatible endpoint")
    options = parser.parse_args()
    if options.model:
        from toolweave.models.openai import OpenAIModel

        # Small models call tools in their text more readily than by the protocol of the endpoint.
        asyncio.run(main(OpenAIModel("default", base_url=options.model, native_tools=False)))
    else:
        asyncio.run(main(ReplayModel(REPLIES, match="order")))
