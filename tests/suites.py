"""Run the Python suites, each in the environment that it needs, and report their durations.

    python tests/suites.py check            # one interpreter, few examples
    python tests/suites.py test WHEEL       # required for every change
    python tests/suites.py all WHEEL        # required for a release

The wheel is tested on the newest supported CPython of this machine, and on older ones where the
version matters. The interpreter of the development environment tests the source folder. A change is
tested with the packages of `tests/constraints.txt`, a release with the newest ones. Property tests
are derandomized, so one interpreter runs more examples than the others. Each interpreter has a
virtual environment of its own, renewed when the wheel or the dependency groups change. Versions
that are not installed are reported as skipped.

A suite is run in shards of a few areas or files: processes that collect and import only what they
run. The shards of all suites share one pool.

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
ROOT = Path(__file__).resolve().parents[1]
TESTS = Path("tests")
CONSTRAINTS = ROOT / TESTS / "constraints.txt"
ENVIRONMENTS = ROOT / ".venvs"
WORKERS = 2 * (os.cpu_count() or 2)
"""Processes of tests: more than there are cores, as tests wait for servers and browsers."""
MEMORY = Path("/dev/shm")
"""Folder whose files are in memory, on Linux."""
ROOM = 4 << 30
"""Free bytes there with which temporary files go there."""
NO_TESTS = 5
"""Exit code of pytest if it selected no tests."""
MAX_RERUN = 20
"""Above this number of failures nothing is run again: the change is broken, not a test."""

AREAS = TESTS / "python"
WAITING = ("faults", "store", "web")
"""Areas whose tests wait for servers and processes, up to half a minute each."""
NOT_IN_CHECK = tuple(
    AREAS / path
    for path in (
        "demo",
        "docs",
        "endpoint/test_lifetimes.py",
        "faults",
        "package/test_loop_laws.py",
        "selection/test_benchmark.py",
        "store",
        "testing/test_pytest_plugin.py",
        "web/test_openapi.py",
        "web/test_processes.py",
    )
)
"""Areas and files that `check` leaves to `test`: killed processes, databases, the playground,
documents, and what takes longest."""
SLOW = (TESTS / "frontend/test_page_pictures.py",)
"""Tests for releases: the pictures in the documentation."""
VERSIONED = tuple(
    AREAS / path
    for path in (
        "endpoint/test_lifetimes_exit.py",
        "executor",
        "handlers",
        "message/test_message.py",
        "output/test_types.py",
        "package/test_exceptions.py",
        "package/test_exports.py",
        "package/test_limits.py",
        "package/test_public_names.py",
        "package/test_tracing.py",
        "tools",
    )
)
"""Areas and files that depend on the version of Python: asyncio, annotations, pickling, imports,
the ABI."""
REPEATED = ("-m", "not growth", "--assert=plain")
"""Options for tests that another interpreter or level runs, too: without those of how time grows
with the input, and without the values in failed assertions, which take half of the time of
importing tests; failed tests are run again with them."""
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
    """Tests for one interpreter.

    Attributes:
        name: Title in the report.
        python: Function that returns the interpreter, or None if there is none of that version.
        paths: Files and folders with the tests.
        without: Files and folders to leave out.
        effort: Number of examples and repetitions; see `tests/support/effort.py`.
        options: Further arguments of pytest.
        shard: Minimum of bytes of tests in a process; each process imports all that it tests.
    """

    name: str
    python: Callable[[], Path | None]
    paths: tuple[Path, ...]
    without: tuple[Path, ...] = ()
    effort: str = "quick"
    options: tuple[str, ...] = ()
    shard: int = 400_000

    def shards(self) -> Iterator[tuple[Path, ...]]:
        """Yield the paths to run in processes of their own, in the order in which to start them.

        What waits longest comes first, and so does what has most tests.
        """
        found: list[Path] = []
        for path in self.paths:
            if path == AREAS:
                found += sorted({file.parent for file in path.glob("*/test_*.py")})
            else:
                found += sorted(path.glob("test_*.py")) if path.parent == TESTS else [path]
        found = [path for path in found if path not in self.without]
        found.sort(key=lambda path: (path.name not in WAITING, -size(path)))
        shard: list[Path] = []
        for path in found:
            shard.append(path)
            if sum(map(size, shard)) >= self.shard:
                yield tuple(shard)
                shard.clear()
        if shard:
            yield tuple(shard)


@dataclass(frozen=True)
class Shard:
    """A part of a suite, run in a process of its own.

    Attributes:
        suite: The suite that it is a part of.
        paths: Files and folders with the tests.
        folder: New folder for its cache and report, beside the temporary files of all.
    """

    suite: Suite
    paths: tuple[Path, ...]
    folder: Path

    def __str__(self) -> str:
        return f"{self.suite.name}: {', '.join(path.stem for path in self.paths)}"


@dataclass
class Outcome:
    """Result of a suite: tests that failed twice, and those that passed when run again."""

    seconds: float = 0.0
    tests: int = 0
    broken: list[str] = field(default_factory=list[str])
    unstable: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])

    @property
    def passed(self) -> bool:
        return self.tests > 0 and not (self.broken or self.unstable or self.errors)


def size(path: Path) -> int:
    """Bytes of the tests of a file or folder."""
    files = path.glob("test_*.py") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)


def in_memory() -> Path | None:
    """Folder in memory for temporary files, or None if it has no room or runs no programs.

    The databases of tests, of which some programs are copied, would wait for a disk.
    """
    if not MEMORY.is_dir():
        return None
    found = os.statvfs(MEMORY)
    runs_programs = not found.f_flag & os.ST_NOEXEC
    return MEMORY if runs_programs and found.f_bavail * found.f_frsize >= ROOM else None


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


def plan(level: str, wheel: Path | None) -> Iterator[Suite]:
    """Suites of a level, the longest first; environments are made while others run."""

    def here() -> Path:
        return Path(sys.executable)

    if wheel is None:
        name = "Python, development"
        yield Suite(name, here, (AREAS,), NOT_IN_CHECK, options=REPEATED, shard=150_000)
        return
    pythons = {version: interpreter(version) for version in VERSIONS}
    found = [version for version, python in pythons.items() if python is not None]
    last = found[-1]
    group, constraints = ("test-large", None) if level == "all" else ("test", CONSTRAINTS)
    pool = ThreadPoolExecutor(max_workers=1)
    environments = {
        version: pool.submit(environment, version, pythons[version], wheel, group, constraints)
        for version in (last, *(version for version in VERSIONS if version != last))
    }
    slow = () if level == "all" else SLOW
    yield Suite("page", here, (TESTS / "frontend",), slow, "full", shard=40_000)
    yield Suite("foreign clients", here, (TESTS / "clients",), effort="full", shard=40_000)
    for version, made in environments.items():
        name = f"Python {version}"
        if level == "all":
            # The examples are the same everywhere.
            effort = "long" if version == last else "normal"
            yield Suite(name, made.result, (AREAS,), effort=effort)
        elif version == last:
            yield Suite(name, made.result, (AREAS,), effort="normal", shard=350_000)
        else:
            name = f"{name}, what depends on it"
            yield Suite(name, made.result, VERSIONED, options=REPEATED)
    if level == "all":
        # The newest litellm and other packages require different clients of OpenAI.
        made = pool.submit(environment, "litellm", pythons[last], wheel, "test-litellm")
        tests = (*LITELLM, SERVE_LITELLM)
        yield Suite("litellm", made.result, tests, effort="full", options=("-k", "litellm"))
        made = pool.submit(environment, "serve", pythons[last], wheel, "test-serve")
        # Frameworks leave connections open when their event loop ends.
        lenient = ("-W", "ignore::pytest.PytestUnraisableExceptionWarning")
        serve = (TESTS / "serve",)
        yield Suite(
            "clients of toolweave serve", made.result, serve, (SERVE_LITELLM,), "full", lenient
        )
    pool.shutdown(wait=False)


def failed_tests(cache: Path) -> set[str]:
    """Ids of the tests that failed in the last run with a cache folder."""
    found = cache / "v/cache/lastfailed"
    return set(json.loads(found.read_text("utf-8"))) if found.exists() else set()


def run(shard: Shard, arguments: Sequence[str]) -> Outcome:
    """Run a shard, and print what pytest prints; failed tests are listed as broken."""
    outcome = Outcome()
    python = shard.suite.python()
    if python is None:
        return outcome
    start = time.monotonic()
    report = shard.folder / "report.xml"
    done = pytest(shard, python, [f"--junitxml={report}", *arguments])
    if report.exists():
        found = ElementTree.parse(report).getroot().find("testsuite")
        outcome.tests = 0 if found is None else int(found.get("tests", 0))
    outcome.broken = sorted(failed_tests(shard.folder))
    if done.returncode not in (0, NO_TESTS) and not outcome.broken:
        outcome.errors.append(f"{shard}: pytest exited with {done.returncode}")
    outcome.seconds = time.monotonic() - start
    title = f"{shard} ({shard.suite.effort}, {outcome.seconds:.0f} s)"
    print(f"\n=== {title}\n{done.stdout}", end="", flush=True)
    return outcome


def run_again(shard: Shard, outcome: Outcome) -> None:
    """Run the failed tests of a shard once more, to see which of them are unstable."""
    python = shard.suite.python()
    assert python is not None
    again = ["--last-failed", "--last-failed-no-failures=none", "--assert=rewrite"]
    done = pytest(shard, python, again)
    print(f"\n=== {shard}, failed tests once more\n{done.stdout}", end="", flush=True)
    broken = failed_tests(shard.folder)
    outcome.unstable = sorted(set(outcome.broken).difference(broken))
    outcome.broken = sorted(broken)


def pytest(
    shard: Shard, python: Path, arguments: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run pytest on a shard, with standard error among its output."""
    suite = shard.suite
    command = [str(python), "-m", "pytest", "-q", "-o", f"cache_dir={shard.folder}"]
    command += [f"--ignore={path}" for path in suite.without]
    temporary = str(shard.folder.parent)
    variables = {**os.environ, "TOOLWEAVE_EFFORT": suite.effort, "TMPDIR": temporary}
    # Without bytecode on disk, each process of a test would compile all that it imports.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [*command, *suite.options, *arguments, *map(str, shard.paths)],
        cwd=ROOT,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )


def run_all(suites: Sequence[Suite], arguments: Sequence[str]) -> dict[str, Outcome]:
    """Run the shards of all suites in one pool, then the tests that failed, one at a time."""
    outcomes = {suite.name: Outcome() for suite in suites}
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        ThreadPoolExecutor(WORKERS) as pool,
    ):
        # PostgreSQL runs as another user.
        Path(folder).chmod(0o755)
        parts = [(suite, paths) for suite in suites for paths in suite.shards()]
        shards = [
            Shard(suite, paths, Path(folder, str(number)))
            for number, (suite, paths) in enumerate(parts)
        ]
        try:
            ended = list(pool.map(partial(run, arguments=arguments), shards))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        again = sum(len(outcome.broken) for outcome in ended) <= MAX_RERUN
        for shard, outcome in zip(shards, ended, strict=True):
            if outcome.broken and again:
                run_again(shard, outcome)
            total = outcomes[shard.suite.name]
            total.seconds += outcome.seconds
            total.tests += outcome.tests
            total.broken += outcome.broken
            total.unstable += outcome.unstable
            total.errors += outcome.errors
    return outcomes


def report(outcomes: dict[str, Outcome]) -> None:
    """Print a line for each suite, and the name of each test that failed."""
    print()
    for name, outcome in outcomes.items():
        if not (outcome.tests or outcome.errors):
            print(f"{name}: skipped, no such CPython found")
            continue
        verdict = "passed" if outcome.passed else "FAILED"
        print(f"{name}: {verdict}, {outcome.tests} tests in {outcome.seconds:.0f} s of processes")
        for error in outcome.errors:
            print(f"  {error}")
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
    start = time.monotonic()
    outcomes = run_all(list(plan(own.level, own.wheel and own.wheel.resolve())), arguments)
    report(outcomes)
    print(f"all Python suites: {time.monotonic() - start:.0f} s")
    ran = [outcome for outcome in outcomes.values() if outcome.tests or outcome.errors]
    return 0 if ran and all(outcome.passed for outcome in ran) else 1


if __name__ == "__main__":
    sys.exit(main())
