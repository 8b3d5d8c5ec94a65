"""Distribution of a client's instructions over its parts, by callgrind.

    make profile                          # builds the module with its symbols; needs valgrind
    make profile ARGS="openai --rest 10"  # another client, and the costliest functions of each part

Only instructions in user space, while replies arrive, are counted. The cost of a function that
belongs to no part, such as `malloc`, is attributed to its callers in proportion.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from endpoint.control import BENCHES, provider
from endpoint.probe import MARK
from report import table

PARTS = {
    "HTTP: hyper, reqwest": r"hyper|hyper_util|reqwest|httparse|http|http_body|tower|h2|url",
    "tokio: wake-ups, sockets, timers": r"tokio|mio|futures|std::sys::net|tokio_util",
    "SSE of the stream": r"sse_stream",
    "JSON of the chunks": r"serde_json|serde|serde_core|toolweave::endpoint::(?:chunk|lenient)",
    "the endpoint around them": r"toolweave::endpoint|bytes",
    "parser, validation": r"toolweave::(parser|reply|calls|validation|repair|contracts|text)|jiter"
    r"|jsonschema",
    "the proxy around the endpoint": r"toolweave::proxy",
    "queue, wakeup": r"toolweave::python::endpoint::(queue|wakeup)",
    "to Python objects": r"toolweave::python|pyo3|_core::",
    "Python: asyncio, in C": r"_asyncio|select|_socket",
    "Python: the interpreter": r"_PyEval_EvalFrameDefault",
    "Python: garbage collection": r"gc_collect_main|gc_collect_with_callback",
}
_KNOWN = [(part, re.compile(rf"(?:{pattern})(?:::|$|\.)")) for part, pattern in PARTS.items()]
REST = "the rest"
_PATH = re.compile(r"(?:impl .*? for |dyn |mut |&|\*|<|\[|alloc::\w+::\w+<|core::\w+::\w+<)+")
_AGAIN = re.compile(r"'\d+$")
"""Suffix by which callgrind marks recursive functions."""
_PASSES = 300


@dataclass
class Function:
    """Cost of a function itself, and of the calls to it by caller."""

    own: float = 0.0
    callers: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def part_of(name: str, module: str) -> str | None:
    """Return the part that a function belongs to; None if it belongs to those of its callers."""
    if module.startswith(("_asyncio", "select", "_socket")):
        return "Python: asyncio, in C"
    path = (
        _PATH.sub("", name, count=1) if name.startswith(("<", "core::ptr::drop_in_place")) else name
    )
    for part, pattern in _KNOWN:
        if pattern.match(path):
            return part
    return None


def read(profile: Path) -> dict[tuple[str, str], Function]:
    """Return the functions of a profile, by name and module."""
    functions: dict[tuple[str, str], Function] = defaultdict(Function)
    module = called_module = name = called = ""
    calling = False
    for line in profile.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if key in ("fn", "cfn"):
            value = _AGAIN.sub("", value)
        if key == "ob":
            module = value.rsplit("/", 1)[-1]
        elif key == "fn":
            name = value
            called_module = module
        elif key == "cob":
            called_module = value.rsplit("/", 1)[-1]
        elif key == "cfn":
            called = value
        elif key == "calls":
            calling = True
        elif line[:1].isdigit():
            cost = float(line.split()[-1])
            if calling:
                functions[called, called_module].callers["\0".join((name, module))] += cost
                called_module = module
                calling = False
            else:
                functions[name, module].own += cost
    return functions


def shares(functions: dict[tuple[str, str], Function]) -> dict[str, float]:
    """Return the cost of each part."""
    taken: dict[str, float] = defaultdict(float)
    open_costs = {key: function.own for key, function in functions.items()}
    # Costs are passed from callee to caller until they reach a part; recursion takes many passes.
    for _ in range(_PASSES):
        passed: dict[tuple[str, str], float] = defaultdict(float)
        for (name, module), cost in open_costs.items():
            part = part_of(name, module)
            callers = functions[name, module].callers
            total = sum(callers.values())
            if part is not None or not total:
                taken[part or REST] += cost
                continue
            for caller, share in callers.items():
                caller_name, caller_module = caller.split("\0")
                passed[caller_name, caller_module] += cost * share / total
        open_costs = passed
    taken[REST] += sum(open_costs.values())
    return taken


def profiled(reader: str, streams: int, tokens: int, tick: float, keep: Path | None) -> Path:
    """Run a client under callgrind.

    Returns:
        The profile between the two marks of the client.
    """
    folder = keep or Path(tempfile.mkdtemp(prefix="toolweave-callgrind-"))
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "callgrind.out"
    with provider() as port:
        spec = {
            "reader": reader,
            "port": port,
            "streams": streams,
            "tokens": tokens,
            "tick": tick,
            "group": "profile",
            "stalls": False,
        }
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [f"--dump-before={MARK}", "--compress-strings=no", "--compress-pos=no"]
        command += [sys.executable, "-m", "endpoint.client", json.dumps(spec)]
        subprocess.run(
            command,
            cwd=BENCHES,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # As in production: valgrind would otherwise use another allocator.
            env={**os.environ, "PYTHONMALLOC": "pymalloc"},
        )
    return folder / "callgrind.out.2"


def main() -> None:
    """Profile one reader and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("reader", nargs="?", default="http-parsed")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--tick", type=float, default=0.4, help="callgrind is 50 times slower")
    parser.add_argument("--profile", type=Path, help="read an existing profile")
    parser.add_argument("--keep", type=Path, help="the folder for the profile")
    parser.add_argument(
        "--rest", type=int, default=0, help="print the N costliest functions of each part"
    )
    given = parser.parse_args()
    path = given.profile or profiled(
        given.reader, given.streams, given.tokens, given.tick, given.keep
    )
    functions = read(path)
    taken = shares(functions)
    total = sum(taken.values())
    tokens = given.streams * given.tokens
    rows = [
        [part, f"{cost / tokens:,.0f}", f"{cost / total:.0%}"]
        for part, cost in sorted(taken.items(), key=lambda item: -item[1])
    ]
    rows.append(["all", f"{total / tokens:,.0f}", "100%"])
    print(table([f"`{given.reader}`", "instructions per token", "share"], rows))
    if given.rest:
        of_part: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for (name, module), function in functions.items():
            of_part[part_of(name, module) or "(callers')"].append((function.own, name))
        for part, found in of_part.items():
            print(f"\n{part}")
            for own, name in sorted(found, reverse=True)[: given.rest]:
                print(f"  {own / tokens:10,.1f}  {name[:150]}")
    print(f"\nprofile: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
