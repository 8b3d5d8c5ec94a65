"""A selection that asks a model about each tool, natively and through the client of OpenAI."""

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
"""How many tools, and how many selections in a row."""


def run(*, quick: bool = False) -> Section:
    """Both models and sizes, in turns."""
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
        "early stop and cache), with a server that scores at once: CPU time, the time by the "
        "clock, and the longest stall of the event loop in CPU time, as above. The run that took "
        "the least CPU time of several, each in a new process, in turns.",
        ["", "user", "system", "by the clock", "longest stall"],
        rows,
    )
