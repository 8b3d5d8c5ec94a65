"""The router on the command line.

Without a question it runs a tour: one question for each tool, and three special cases:

    python examples/nlweb_router
    python examples/nlweb_router "Compare Chicken Alfredo vs Spaghetti Carbonara" --type Recipe
    python examples/nlweb_router "Which film is the longest?" --type Movie --model http://HOST/v1
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from recorded import Recorded, Recorder
from router import POLICY, open_registry, route
from toolweave import ToolSelector
from tour import FURTHER, TOUR


async def main(options: argparse.Namespace) -> int:
    """Answer one question, or those of the tour."""
    scorer: Recorded | Recorder
    if options.model:
        from toolweave.models.openai import OpenAIModel

        scorer = Recorder(OpenAIModel(options.model_name, base_url=options.model))
        print(f"Asking {options.model_name} at {options.model}.")
    else:
        scorer = Recorded()
        print(f"Playing replies recorded from {scorer.name}; --model URL uses your model.")
    selector = ToolSelector(open_registry(), scorer, POLICY)
    questions = [*((query, item_type, None, tool) for query, item_type, tool in TOUR), *FURTHER]
    if options.query:
        questions = [(options.query, options.type, options.site, "")]
    for query, item_type, site, _ in questions:
        answer = await route(selector, query, item_type, site)
        print(f"\n{'-' * 80}")
        if answer.selection.errors and not options.model:
            print(f"No reply to {query!r} is recorded, so no tool was selected: pass")
            print("--model, or ask a question of the tour. Results of search alone:\n")
        else:
            print(f"{answer.selection.explain()}\n")
        print(answer.text)
    if options.record and isinstance(scorer, Recorder):
        scorer.save()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser("nlweb_router", description="Routes a question to a tool.")
    parser.add_argument("query", nargs="?", help="the question; without one, a tour")
    parser.add_argument(
        "--type", help="Recipe, Movie, or Item for both; by default the model decides"
    )
    parser.add_argument("--site", help="cellar, which has only one tool")
    parser.add_argument("--model", metavar="URL", help="an OpenAI-compatible endpoint to ask")
    parser.add_argument("--model-name", default="default", help="name of the model there")
    parser.add_argument("--record", action="store_true", help="write its replies to replies.json")
    sys.exit(asyncio.run(main(parser.parse_args())))
