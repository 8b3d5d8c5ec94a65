"""`toolweave score`: select the tool for a query, or measure how well a model does."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from ._inputs import InputError, name_of, read_registry, write_escapes
from ._options import (
    add_model_options,
    api_key,
    check_required,
    count,
    positive,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from .._core import RegistrySnapshot, UsageUpdate
    from ..selection import Scorer, Selection, SelectionPolicy
    from ..selection._benchmark import LabelledQuery, Measurement, Method, Recall

SUMMARY = "find the tool of a tools.xml for a query, or measure how well models do"
DESCRIPTION = (
    "Find the tool of a tools.xml that a query is for, and print the reason; or, with --examples, "
    "measure how well a model finds the tool of each example, which is left out of the prompts."
)
WORDS = "words"

EXIT_NOT_SCORED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", metavar="FILE", help="the tools.xml; stdin if -")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="the query")
    parser.add_argument(
        "--type", default="Thing", metavar="TYPE", help="the type of the query (default: Thing)"
    )
    parser.add_argument("--site", metavar="SITE", help="the site of the query")
    parser.add_argument(
        "--strategy",
        action="append",
        choices=("choose", "each", "batch", "prefilter", "all"),
        help="the strategy (default: choose); prefilter is choose among the three tools that share "
        "words with the query; with --examples it may be repeated, or all",
    )
    parser.add_argument(
        "--timeout",
        type=positive("a number of seconds"),
        default=120.0,
        metavar="S",
        help="seconds that one call may take (default: 120)",
    )
    parser.add_argument(
        "--max-concurrency",
        type=count,
        default=8,
        metavar="N",
        help="calls in flight at once (default: 8)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.add_argument_group("scorer")
    asked.add_argument(
        "--model",
        metavar="MODEL",
        help="an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1; or the name of a "
        f"model of OpenAI's; or {WORDS}, which is no model but counts words in common",
    )
    add_model_options(
        asked.add_argument, "the name of the model at the endpoint; its first model by default"
    )
    asked.add_argument("--replay", metavar="FILE", help="recorded replies, instead of a model")
    measured = parser.add_argument_group("measuring")
    measured.add_argument("--examples", action="store_true", help="run all examples of the file")
    measured.add_argument(
        "--limit", type=count, metavar="N", help="run N of them, spread over the file"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    write_escapes()
    if options.examples == (options.query is not None):
        raise InputError("give either a QUERY or --examples")
    if options.limit is not None and not options.examples:
        raise InputError("--limit requires --examples")
    methods = _methods(options.strategy or ["choose"])
    if not options.examples and len(methods) > 1:
        raise InputError("a QUERY takes one --strategy; compare several with --examples")
    registry = read_registry(options.file)
    if options.examples:
        asyncio.run(_measure(registry, methods, options))
        return 0
    selection = asyncio.run(_score(registry, methods[0], options))
    # Failed calls and invalid replies leave the fallback.
    return EXIT_NOT_SCORED if selection.fallback and selection.errors else 0


async def _score(
    registry: RegistrySnapshot, method: Method, options: argparse.Namespace
) -> Selection:
    from ..selection import ToolSelector
    from ..selection._benchmark import policy_of

    async with AsyncExitStack() as stack:
        scorer = await _scorer(options, stack)
        selector = ToolSelector(registry, scorer, policy_of(method, _policy(options)))
        selection = await selector.select(options.query, item_type=options.type, site=options.site)
    text = json.dumps(_selected(selection), indent=2) if options.json else selection.explain()
    sys.stdout.write(f"{text}\n")
    return selection


async def _measure(
    registry: RegistrySnapshot, methods: Sequence[Method], options: argparse.Namespace
) -> None:
    from ..selection import _benchmark as benchmark

    queries = benchmark.labelled_queries(registry, registry.entries)
    if not queries:
        raise InputError(f"{name_of(options.file)} has no examples of tools to choose between")
    asked = queries if options.limit is None else benchmark.sample(queries, options.limit)
    policy = _policy(options)
    async with AsyncExitStack() as stack:
        scorer = await _scorer(options, stack)
        done = [
            await benchmark.measure(method, registry, asked, scorer, policy, on_result=_progress)
            for method in methods
        ]
    found = benchmark.recall(registry, queries, policy)
    if options.json:
        facts = {
            "model": scorer.name,
            "examples": len(queries),
            "strategies": [_facts(measured) for measured in done],
            f"recall_at_{benchmark.RECALL_AT}": {**found.__dict__, "share": found.share},
        }
        sys.stdout.write(f"{json.dumps(facts, indent=2)}\n")
    else:
        sys.stdout.write("\n".join(_report(scorer, len(queries), done, found)) + "\n")


def _report(scorer: Scorer, examples: int, done: Sequence[Measurement], found: Recall) -> list[str]:
    lines = [f"{done[0].queries} of {examples} examples, asked of {scorer.name}", ""]
    if scorer.name == WORDS:
        lines.insert(1, "(no model: it counts the words that query and tool have in common)")
    rows = [_HEAD, *map(_row, done)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells))
    lines.append("")
    if found.queries:
        lines.append(
            f"Words alone find the tool among the best 3 for {found.found} of {found.queries} "
            f"examples with more than 3 tools to choose from: {found.share:.2f}"
        )
    else:
        lines.append("No example has more than 3 tools to choose from.")
    return lines


_HEAD = (
    "strategy",
    "right",
    "share",
    "calls",
    "chars",
    "tokens in",
    "cached",
    "tokens out",
    "seconds",
    "ties",
    "fallback",
    "errors",
)
"""Columns of the table. Calls, characters, tokens and seconds are averages per query."""


def _row(done: Measurement) -> tuple[str, ...]:
    def each(total: float, places: int = 0) -> str:
        return f"{total / done.queries:.{places}f}"

    tokens = ("-" if count is None else each(count) for count in _tokens(done.usage).values())
    return (
        done.method,
        f"{done.right}/{done.queries}",
        f"{done.accuracy:.2f}",
        each(done.calls, 2),
        each(done.prompt_chars),
        *tokens,
        each(done.seconds, 3),
        str(done.ties),
        str(done.fallbacks),
        str(done.errors),
    )


def _facts(done: Measurement) -> dict[str, Any]:
    fields = {name: value for name, value in done.__dict__.items() if name != "usage"}
    return {**fields, "accuracy": done.accuracy, **_tokens(done.usage)}


def _tokens(usage: UsageUpdate | None) -> dict[str, int | None]:
    """Return the numbers of tokens by kind, which are None if they are unknown."""
    kinds = ("input_tokens", "cached_input_tokens", "output_tokens")
    return {kind: None if usage is None else getattr(usage, kind) for kind in kinds}


def _selected(selection: Selection) -> dict[str, Any]:
    return {
        "query": selection.query,
        "type": selection.item_type,
        "site": selection.site,
        "tool": None if selection.tool is None else selection.tool.name,
        "score": selection.score,
        "parameters": selection.parameters,
        "decision": selection.decision,
        "reason": selection.reason,
        "ties": [tool.name for tool in selection.ties],
        "ranking": [
            {
                "tool": one.tool.name,
                "from": one.tool.type,
                "score": one.score,
                "parameters": one.parameters,
                "error": one.error,
                "note": one.note or None,
            }
            for one in selection.ranking
        ],
        "strategy": selection.strategy,
        "calls": selection.calls,
        "input_tokens": selection.usage and selection.usage.input_tokens,
        "output_tokens": selection.usage and selection.usage.output_tokens,
        "seconds": selection.duration,
    }


def _progress(method: Method, query: LabelledQuery, selection: Selection) -> None:
    from ..selection._benchmark import is_right

    chosen = "no tool" if selection.tool is None else selection.tool.name
    verdict = "right" if is_right(query, selection) else f"not {' or '.join(sorted(query.tools))}"
    asked = json.dumps(query.query)
    sys.stderr.write(
        f"{method} {query.item_type} {asked}: {chosen}, {verdict}, {selection.duration:.3g} s\n"
    )


def _policy(options: argparse.Namespace) -> SelectionPolicy:
    from ..selection import SelectionPolicy

    return SelectionPolicy(timeout=options.timeout, max_concurrency=options.max_concurrency)


async def _scorer(options: argparse.Namespace, stack: AsyncExitStack) -> Scorer:
    """Return the scorer to ask. Its resources are closed with `stack`."""
    from ..selection import as_scorer

    model: str | None = options.model
    if (model is None) == (options.replay is None):
        raise InputError(f"give one of --model URL, --model {WORDS} and --replay FILE")
    if model is None or model == WORDS:
        check_required(options, "--model URL", "model_name", "api_key_env")
    if model == WORDS:
        from ..selection._words import WordScorer

        return WordScorer()
    if model is None:
        from ..models.replay import ReplayModel

        try:
            return as_scorer(ReplayModel(options.replay))
        except (OSError, ValueError) as err:
            raise InputError(f"cannot replay {options.replay}: {err}") from None
    if "://" in model:
        from ._endpoint import live_model

        return as_scorer(await stack.enter_async_context(await live_model(options, max_retries=2)))
    try:
        from ..models.openai import OpenAIModel

        made = OpenAIModel(options.model_name or model, api_key=api_key(options))
    except (ImportError, ValueError) as err:
        raise InputError(str(err)) from None
    return as_scorer(await stack.enter_async_context(made))


def _methods(asked: Sequence[str]) -> list[Method]:
    from ..selection._benchmark import METHODS

    return [method for method in METHODS if method in asked or "all" in asked]
