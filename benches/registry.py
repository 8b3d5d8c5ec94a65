"""Loading, lookup and selection, from a `tools.xml` to the selected tool."""

from __future__ import annotations

import asyncio
import gc
import json
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from report import Section, Target
from toolweave.registry import ToolRegistry
from toolweave.selection import CallLimiter, SelectionPolicy, ToolSelector

if TYPE_CHECKING:
    from streaming import Effort

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "nlweb_router" / "tools.xml"
SIZES = (15, 1_000, 10_000)
TYPES = 100
"""Number of types in the file for lookups; all have the same number of tools."""

PROMPT = (
    "The user has the following query: {request.query}. " + "This tool serves some queries. " * 40
)
STRUCTURE = '{"score": "integer between 0 and 100", "item_name": "the name", "details": "which"}'


def document(tools: int, types: int = 1) -> str:
    """Return a flat file; each tool takes about 1.9 kB, as in real files."""
    parts = ["<Tools>"]
    for number in range(types):
        # The first is the root, whose tools all others inherit.
        name = "Item" if number == 0 else f"Kind{number}"
        parts.append(f"<{name}>")
        parts += [
            f'<Tool name="tool_{number}_{at}" enabled="true"><method>code</method>'
            f"<handler>methods.some.Handler{at}</handler>"
            f"<example>What is number {at}?</example><example>Find {at} for me</example>"
            f"<prompt>{PROMPT}</prompt><returnStruc>{STRUCTURE}</returnStruc></Tool>"
            for at in range(tools // types)
        ]
        parts.append(f"</{name}>")
    return "\n".join([*parts, "</Tools>"])


def parse(path: Path) -> object:
    """Parse the XML with the standard library."""
    return ET.parse(path)


def as_nlweb(path: Path) -> object:
    """Parse the XML with the standard library, and read the tree as NLWeb does."""
    tools: dict[str, list[dict[str, Any]]] = {}
    for kind in ET.parse(path).getroot():
        for tool in kind.findall("Tool"):
            if tool.get("enabled", "true").lower() != "true":
                continue
            arguments = {
                each.get("name", ""): (each.text or "").strip() for each in tool.findall("argument")
            }
            structure = tool.findtext("returnStruc")
            tools.setdefault(kind.tag, []).append(
                {
                    "name": tool.get("name", ""),
                    "path": (tool.findtext("path") or "").strip(),
                    "method": (tool.findtext("method") or "").strip(),
                    "handler": (tool.findtext("handler") or "").strip(),
                    "arguments": arguments,
                    "examples": [(each.text or "").strip() for each in tool.findall("example")],
                    "prompt": (tool.findtext("prompt") or "").strip(),
                    "structure": json.loads(structure) if structure else None,
                }
            )
    return tools


def least(contestants: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Return the minimum CPU time of one call of each, in seconds, from many taken in turns.

    As with `timeit`, the garbage collector is off and short calls are repeated.
    """
    best = dict.fromkeys(contestants, float("inf"))
    counts: dict[str, int] = {}
    for name, contestant in contestants.items():
        begun = time.process_time()
        contestant()
        counts[name] = max(1, int(0.02 / max(time.process_time() - begun, 1e-6)))
    until = time.process_time() + seconds * len(contestants)
    rounds = 0
    while rounds < 5 or time.process_time() < until:
        rounds += 1
        for name, contestant in contestants.items():
            gc.collect()
            gc.disable()
            try:
                begun = time.process_time()
                for _ in range(counts[name]):
                    contestant()
                spent = time.process_time() - begun
            finally:
                gc.enable()
            best[name] = min(best[name], spent / counts[name])
    return best


def looking_up(effort: Effort, folder: Path) -> tuple[float, float]:
    """Return the CPU microseconds of the first lookup of a type, and of a repeated one."""
    path = folder / "types.xml"
    path.write_text(document(10_000, TYPES), encoding="utf-8")
    cold = float("inf")
    for _ in range(3 * effort.repeats):
        registry = ToolRegistry.load(path)
        names = [f"Kind{number}" for number in range(1, TYPES)]
        begun = time.process_time()
        for name in names:
            registry.tools_for(name)
        cold = min(cold, (time.process_time() - begun) / len(names))
        assert len(registry.tools_for("Kind1")) == 2 * 10_000 // TYPES
    warm = float("inf")
    for _ in range(10 * effort.repeats):
        begun = time.process_time()
        for _ in range(10_000):
            registry.tools_for("Kind1")
        warm = min(warm, (time.process_time() - begun) / 10_000)
    return cold * 1e6, warm * 1e6


def selecting(effort: Effort, tools: int) -> float:
    """Return the CPU microseconds of a selection among tools that are scored instantly."""

    async def scorer(prompt: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        del prompt, schema
        return {"score": 75, "item_name": "x", "details": "y"}

    registry = ToolRegistry.loads(document(tools))
    policy = SelectionPolicy(
        strategy="each", prefilter=None, early_stop=None, max_concurrency=tools
    )
    selector = ToolSelector(registry, scorer, policy, cache_ttl=0, limiter=CallLimiter(tools))
    count = max(3, 1_200 // tools)

    async def main() -> float:
        await selector.select("What is number 3?")
        begun = time.process_time()
        for _ in range(count):
            await selector.select("What is number 3?")
        return (time.process_time() - begun) / count

    return min(asyncio.run(main()) for _ in range(3 * effort.repeats)) * 1e6


def run(effort: Effort) -> Section:
    """Run all benchmarks of registries."""
    rows: list[list[str]] = []
    targets: list[Target] = []
    seconds = 0.5 if effort.repeats > 1 else 0.1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"the example's file": EXAMPLE}
        for size in SIZES:
            path = folder / f"{size}.xml"
            path.write_text(document(size), encoding="utf-8")
            files[f"{size:,} tools"] = path
        for label, path in files.items():
            toolweave, etree, nlweb = least(
                {
                    "toolweave": lambda path=path: ToolRegistry.load(path),
                    "etree": lambda path=path: parse(path),
                    "nlweb": lambda path=path: as_nlweb(path),
                },
                seconds,
            ).values()
            rows.append(
                [f"load {label}", *(f"{value * 1e3:,.2f}" for value in (toolweave, etree, nlweb))]
            )
            targets.append(
                Target(f"loading {label}, relative to `ET.parse`", 0.35, toolweave / etree)
            )
        cold, warm = looking_up(effort, folder)
    rows.append(["`tools_for`, 200 of 10,000, first time", f"{cold / 1e3:.4f}", "-", "-"])
    rows.append(["`tools_for`, 200 of 10,000, again", f"{warm / 1e3:.5f}", "-", "-"])
    targets.append(Target("`tools_for`, first time, microseconds", 20, cold))
    targets.append(Target("`tools_for`, again, microseconds", 0.5, warm))
    few, many = selecting(effort, 6), selecting(effort, 600)
    rows.append(["select among 6 tools, instant scorer", f"{few / 1e3:.3f}", "-", "-"])
    rows.append(["select among 600 tools, instant scorer", f"{many / 1e3:.2f}", "-", "-"])
    targets.append(Target("selection among 6 tools, microseconds", 100, few))
    targets.append(Target("a tool among 600, relative to one among 6", 1.1, many / 600 / (few / 6)))
    return Section(
        title="Registry and selection",
        note="Milliseconds. The standard library reads the same files: the XML alone, and with "
        "what NLWeb takes out of the tree. A selection asks about every tool (`each`), without "
        "early stop and cache.",
        header=["", "toolweave", "`ET.parse`", "`ET.parse`, then as NLWeb"],
        rows=rows,
        targets=targets,
    )
