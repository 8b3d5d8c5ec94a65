"""Run the Python suites, each in the environment that it needs, and report their durations.

    python tests/suites.py check            # one interpreter, few examples
    python tests/suites.py test WHEEL       # required for every change
    python tests/suites.py all WHEEL        # required for a release

The wheel is tested on the newest supported CPython of this machine; on the oldest without servers,
databases and tests of the compiled core; and on those in between where the version matters. The
interpreter of the development environment tests the source folder. A change is tested with the
packages of `tests/constraints.txt`, a release with the newest ones. Property tests
are derandomized, so one interpreter runs more examples than the others. Each interpreter has a
virtual environment of its own, renewed when the wheel or the dependency groups change. Versions
that are not installed are reported as skipped.

A failed test is run again, alone, only to distinguish broken tests from unstable ones: it is listed
by name in either case, and the run has failed.

This file needs nothing but the standard library, and `uv` in the development environment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
ROOT = Path(__file__).resolve().parents[1]
TESTS = Path("tests")
CONSTRAINTS = ROOT / TESTS / "constraints.txt"
ENVIRONMENTS = ROOT / ".venvs"
WORKERS = 1 + (os.cpu_count() or 2)
"""Processes of a suite: one more than there are cores, as tests wait for servers and browsers."""
MAX_RERUN = 20
"""Above this number of failures nothing is run again: the change is broken, not a test."""

AREAS = TESTS / "python"
ONCE = tuple(
    AREAS / area
    for area in ("demo", "docs", "endpoint", "faults", "mcp", "models", "proxy", "store", "web")
)
"""Areas tested on one interpreter: servers, databases, third-party clients, documents."""
COMPILED = tuple(
    AREAS / area
    for area in ("consolidate", "lifecycle", "parser", "prompt", "repair", "reply", "validator")
)
"""Areas of the core, a compiled file that is identical for every version of Python."""
NOT_IN_CHECK = (AREAS / "demo", AREAS / "docs", AREAS / "faults")
"""Areas that `check` leaves to `test`: killed processes, the playground, and documents."""
SLOW = (TESTS / "frontend/test_page_pictures.py",)
"""Tests for releases: the pictures in the documentation."""
SOURCE = tuple(
    AREAS / "package" / f"test_{part}.py"
    for part in ("benches", "layers", "loop_laws", "loop_watchdog", "notices", "words")
)
"""Tests of the source folder, of the tests themselves and of how long the core takes for large
inputs: the same on every interpreter."""
VERSIONED = tuple(
    AREAS / area
    for area in ("endpoint/test_lifetimes_exit.py", "executor", "message", "package", "tools")
)
"""Areas that depend on the version of Python: asyncio, annotations, pickling, imports, the ABI."""
LITELLM = tuple(
    AREAS / "models" / f"test_{part}.py"
    for part in ("conformance", "failures", "litellm", "llmock")
)
SERVE_LITELLM = TESTS / "serve/test_litellm.py"

# A candidate prints its version and path if it is a CPython that can make environments.
PROBE = """
import ensurepip, platform, sys, venv
if platform.python_implementation() == "CPython":
    print("%d.%d" % sys.version_info[:2], sys.executable)
"""


@dataclass(frozen=True)
class Suite:
    """A run of pytest.

    Attributes:
        name: Title in the report.
        python: Interpreter to run; None if there is none of that version.
        paths: Files and folders with the tests.
        effort: Number of examples and repetitions; see `tests/support/effort.py`.
        options: Further arguments of pytest.
    """

    name: str
    python: Path | None
    paths: tuple[Path, ...]
    effort: str = "quick"
    options: tuple[str, ...] = ()

    @property
    def workers(self) -> int:
        """Number of processes; in a quick run, collecting the tests takes most of the time."""
        return WORKERS if self.effort != "quick" else WORKERS - 1


@dataclass
class Outcome:
    """Result of a suite: tests that failed twice, and those that passed when run again."""

    seconds: float = 0.0
    tests: int = 0
    broken: list[str] = field(default_factory=list[str])
    unstable: list[str] = field(default_factory=list[str])
    exit_code: int = 0

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and not self.broken and not self.unstable


def output(*command: str) -> str:
    """Standard output of a command; empty if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def candidates(version: str) -> Iterator[str]:
    """Commands that may start a version: on the path, of pyenv, or the one that runs this."""
    yield f"python{version}"
    if shutil.which("pyenv"):
        names = output("pyenv", "versions", "--bare").split()
        exact = [name for name in names if re.fullmatch(re.escape(version) + r"\.\d+", name)]
        exact.sort(key=lambda name: int(name.rpartition(".")[2]), reverse=True)
        for name in exact:
            yield str(Path(output("pyenv", "prefix", name).strip(), "bin", "python"))
    yield sys.executable


def interpreter(version: str) -> str | None:
    """Path of a working interpreter of this version."""
    for candidate in candidates(version):
        found, _, path = output(candidate, "-c", PROBE).strip().partition(" ")
        if found == version:
            return path
    return None


def environment(
    name: str,
    python: str | None,
    wheel: Path,
    group: str = "test",
    constraints: Path | None = None,
) -> Path | None:
    """Python of an environment with the wheel and a dependency group, made if it is not current."""
    if python is None:
        return None
    home = ENVIRONMENTS / name
    inside = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    project = ROOT / "pyproject.toml"
    sources = [wheel, project, *([constraints] if constraints else [])]
    made_for = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = home / "made-for"
    if not stamp.exists() or stamp.read_text("utf-8") != made_for:
        uv = [sys.executable, "-m", "uv", "--quiet"]
        subprocess.run([*uv, "venv", "--clear", "--python", python, str(home)], check=True)
        install = [*uv, "pip", "install", "--python", str(inside)]
        limits = ["--constraint", str(constraints)] if constraints else []
        groups = ["--group", f"{project}:{group}"]
        subprocess.run([*install, *limits, *groups, f"{wheel}[cli]"], check=True)
        stamp.write_text(made_for, "utf-8")
    return inside


def ignored(*paths: Path) -> tuple[str, ...]:
    """Options that leave paths out."""
    return tuple(f"--ignore={path}" for path in paths)


def plan(level: str, wheel: Path | None) -> Iterator[Suite]:
    """Suites of a level, quickest to fail first; environments are made while others run."""
    here = Path(sys.executable)
    page = (TESTS / "clients", TESTS / "frontend")
    if wheel is None:
        yield Suite("Python, development", here, (AREAS,), options=ignored(*NOT_IN_CHECK))
        return
    pythons = {version: interpreter(version) for version in VERSIONS}
    found = [version for version, python in pythons.items() if python is not None]
    first, last = found[0], found[-1]
    group, constraints = ("test-large", None) if level == "all" else ("test", CONSTRAINTS)
    with ThreadPoolExecutor(max_workers=1) as pool:
        environments = {
            version: pool.submit(environment, version, python, wheel, group, constraints)
            for version, python in pythons.items()
        }
        for version, made in environments.items():
            inside = made.result()
            name = f"Python {version}"
            if level == "all":
                effort = "long" if version == last else "full"
                yield Suite(name, inside, (AREAS,), effort)
            elif version == last:
                yield Suite(name, inside, (AREAS,), "normal")
            elif version == first:
                yield Suite(name, inside, (AREAS,), options=ignored(*ONCE, *COMPILED, *SOURCE))
            else:
                title = f"{name}, what depends on it"
                yield Suite(title, inside, VERSIONED, options=ignored(*SOURCE))
    # A page per worker at a time: its server and its browser serve a module.
    alone = ("--dist=loadfile",)
    if level == "all":
        yield Suite("page and foreign clients", here, page, "full", alone)
        # The newest litellm and other packages require different clients of OpenAI.
        inside = environment("litellm", pythons[last], wheel, "test-litellm")
        yield Suite("litellm", inside, (*LITELLM, SERVE_LITELLM), "full", ("-k", "litellm"))
        inside = environment("serve", pythons[last], wheel, "test-serve")
        # Frameworks leave connections open when their event loop ends.
        lenient = ("-W", "ignore::pytest.PytestUnraisableExceptionWarning")
        options = (*lenient, *ignored(SERVE_LITELLM))
        yield Suite("clients of toolweave serve", inside, (TESTS / "serve",), "full", options)
    else:
        yield Suite("page and foreign clients", here, page, "full", (*alone, *ignored(*SLOW)))


def failed_tests(cache: Path) -> set[str]:
    """Ids of the tests that failed in the last run with a cache folder."""
    found = cache / "v/cache/lastfailed"
    return set(json.loads(found.read_text("utf-8"))) if found.exists() else set()


def run(suite: Suite, arguments: Sequence[str]) -> Outcome:
    """Run a suite; if tests fail, run those once more, alone, to see which of them are unstable."""
    assert suite.python is not None
    start = time.monotonic()
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        cache, report = Path(folder, "cache"), Path(folder, "report.xml")
        command = [str(suite.python), "-m", "pytest", "-q", "-o", f"cache_dir={cache}"]
        command += [*suite.options, *arguments, *map(str, suite.paths)]
        variables = {**os.environ, "TOOLWEAVE_EFFORT": suite.effort}
        # Without bytecode on disk, each process of a test would compile all that it imports.
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        parallel = ["-n", str(suite.workers), "--dist", "worksteal", f"--junitxml={report}"]
        # Options that come later win, so a suite's own `--dist` does.
        done = subprocess.run([*command[:3], *parallel, *command[3:]], cwd=ROOT, env=variables)
        outcome.exit_code = done.returncode
        if report.exists():
            found = ElementTree.parse(report).getroot().find("testsuite")
            outcome.tests = 0 if found is None else int(found.get("tests", 0))
        failed = failed_tests(cache)
        if failed and len(failed) <= MAX_RERUN:
            print(f"--- {suite.name}: {len(failed)} failed; once more, one at a time", flush=True)
            again = ["--last-failed", "--last-failed-no-failures=none"]
            subprocess.run([*command, *again], cwd=ROOT, env=variables)
            outcome.broken = sorted(failed_tests(cache))
            outcome.unstable = sorted(failed.difference(outcome.broken))
        else:
            outcome.broken = sorted(failed)
    outcome.seconds = time.monotonic() - start
    return outcome


def report(outcomes: dict[str, Outcome | None]) -> None:
    """Print a line for each suite, and the name of each test that failed."""
    print()
    for name, outcome in outcomes.items():
        if outcome is None:
            print(f"{name}: skipped, no such CPython found")
            continue
        verdict = "passed" if outcome.passed else "FAILED"
        print(f"{name}: {verdict}, {outcome.tests} tests in {outcome.seconds:.0f} s")
        for test in outcome.broken:
            print(f"  failed: {test}")
        for test in outcome.unstable:
            print(f"  unstable (failed, then passed alone): {test}")


def main() -> int:
    """Run the suites of a level; the exit code is 0 if some ran and all of them passed."""
    parser = argparse.ArgumentParser(description="Run the Python suites.")
    parser.add_argument("level", choices=("check", "test", "all"))
    parser.add_argument("wheel", nargs="?", type=Path)
    own, arguments = parser.parse_known_args()
    if (own.wheel is None) != (own.level == "check"):
        parser.error("`test` and `all` need a wheel, `check` takes none")
    outcomes: dict[str, Outcome | None] = {}
    for suite in plan(own.level, own.wheel and own.wheel.resolve()):
        print(f"\n=== {suite.name} ({suite.python}), {suite.effort}", flush=True)
        outcomes[suite.name] = None if suite.python is None else run(suite, arguments)
    report(outcomes)
    ran = [outcome for outcome in outcomes.values() if outcome is not None]
    return 0 if ran and all(outcome.passed for outcome in ran) else 1


if __name__ == "__main__":
    sys.exit(main())
