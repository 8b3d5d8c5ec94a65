"""Selection that asks a model about each tool, natively and through the client of OpenAI."""

from __future__ import annotations

import sys
from importlib.metadata import version

from endpoint.control import in_process, provider
from report import Section

MODELS = {
    "http": f"`HttpModel` (toolweave {version('toolweave')})",
    "openai": f"`OpenAIModel` (openai {version('openai')})",
}
SIZES = {6: 50, 100: 10}
"""Number of selections in a row, by number of tools."""


def run(*, quick: bool = False) -> Section:
    """Run both models and sizes, in turns."""
    best: dict[tuple[str, int], dict[str, float]] = {}
    with provider() as port:
        for _ in range(1 if quick else 5):
            for tools, times in SIZES.items():
                for model in MODELS:
                    print(f"scoring: {tools} tools, {model}", file=sys.stderr)
                    spec = {"model": model, "port": port, "tools": tools, "times": times}
                    found = in_process("selection", spec)
                    before = best.setdefault((model, tools), found)
                    if found["user"] + found["system"] < before["user"] + before["system"]:
                        best[model, tools] = found
    rows = [
        [
            f"{label}, {tools} tools",
            *(f"{best[model, tools][name] * 1e3:.1f}" for name in ("user", "system", "took")),
            f"{best[model, tools]['stall'] * 1e3:.1f}",
        ]
        for tools in SIZES
        for model, label in MODELS.items()
    ]
    return Section(
        "Selection over an endpoint",
        "Milliseconds of one selection that asks about every tool (`each`, all at once, without "
        "early stop and cache), with a server that scores at once: CPU time, wall-clock time, and "
        "the longest stall of the event loop in CPU time, as above. Of several runs in turns, each "
        "in a new process, the one with the least CPU time.",
        ["", "user", "system", "wall clock", "longest stall"],
        rows,
    )
