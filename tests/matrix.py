"""Runs the Python suite against a built wheel on every supported CPython of this machine.

    python tests/matrix.py dist/toolweave-*.whl [-- pytest arguments]

What needs servers of its own is for the first and the last of them. Each interpreter gets a virtual
environment of its own, made afresh whenever the wheel or what the tests need has changed. A version
that is not installed is skipped with a message. This file needs nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venvs"
PARALLEL = ["-n", "2", "--dist", "worksteal", "-q"]
"""The suite leaves a core idle otherwise; no test minds which others run beside it."""
FAULTS = ["--ignore-glob=*/test_faults_*.py"]
"""Killed servers and lost connections take minutes: that is for the last version only."""
SERVERS = [f"--ignore-glob=*/test_{area}*.py" for area in ("http", "playground", "store", "web")]
"""Databases and servers take long as well: they are for the first version and the last."""
LITELLM = [
    f"tests/python/test_models_{part}.py"
    for part in ("conformance", "failures", "litellm", "llmock")
]

# What a candidate must answer: its version, if it is a CPython that can make environments.
PROBE = """
import ensurepip, platform, sys, venv
if platform.python_implementation() == "CPython":
    print("%d.%d" % sys.version_info[:2], sys.executable)
"""


def output(*command: str) -> str:
    """What a command prints; nothing if there is no such command or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def candidates(version: str) -> list[str]:
    """Where a version may be found: on the path, among those of pyenv, or running this."""
    found = [f"python{version}"]
    if shutil.which("pyenv"):
        names = output("pyenv", "versions", "--bare").split()
        exact = [name for name in names if re.fullmatch(re.escape(version) + r"\.\d+", name)]
        exact.sort(key=lambda name: int(name.rpartition(".")[2]), reverse=True)
        prefixes = [output("pyenv", "prefix", name).strip() for name in exact]
        found += [str(Path(prefix, "bin", "python")) for prefix in prefixes if prefix]
    return [*found, sys.executable]


def interpreter(version: str) -> str | None:
    """An interpreter of this version that works, if there is one."""
    for candidate in candidates(version):
        found, _, path = output(candidate, "-c", PROBE).strip().partition(" ")
        if found == version:
            return path
    return None


def environment(name: str, python: str, wheel: Path, group: str = "test") -> Path:
    """The Python of an environment that holds the wheel and what the tests need."""
    home = ENVIRONMENTS / name
    inside = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made_for = hashlib.sha256(wheel.read_bytes() + (ROOT / "pyproject.toml").read_bytes())
    stamp = home / "made-for"
    if not stamp.exists() or stamp.read_text("utf-8") != made_for.hexdigest():
        pip = [str(inside), "-m", "pip", "install", "--quiet"]
        groups = f"{ROOT / 'pyproject.toml'}:{group}"
        subprocess.run([python, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([*pip, "--upgrade", "pip"], check=True)
        subprocess.run([*pip, "--group", groups, f"{wheel}[cli]"], check=True)
        stamp.write_text(made_for.hexdigest(), "utf-8")
    return inside


class Made:
    """Environments, made one after the other while the suite runs in those that are ready."""

    def __init__(self, wheel: Path) -> None:
        self._wheel = wheel
        self._maker = ThreadPoolExecutor(max_workers=1)
        self._made: dict[str, Future[Path]] = {}

    def order(self, name: str, python: str, group: str = "test") -> None:
        """Has one made."""
        self._made[name] = self._maker.submit(environment, name, python, self._wheel, group)

    def python(self, name: str) -> Path | None:
        """Its Python, once it is made; `None` where it could not be."""
        try:
            return self._made[name].result()
        except subprocess.CalledProcessError as error:
            print(f"no environment for {name}: {error}", flush=True)
            return None


def passes(title: str, inside: Path | None, arguments: list[str]) -> bool:
    """Whether pytest passes in an environment."""
    print(f"\n=== {title}", flush=True)
    if inside is None:
        return False
    return subprocess.run([str(inside), "-m", "pytest", *arguments], cwd=ROOT).returncode == 0


def main() -> int:
    """Runs the suite on each version; the exit code is 0 if every one that ran passed."""
    wheel = Path(sys.argv[1]).resolve()
    arguments = [argument for argument in sys.argv[2:] if argument != "--"]
    running = "{}.{}".format(*sys.version_info)
    versions = [*VERSIONS, *({running} - set(VERSIONS))]
    pythons = {version: interpreter(version) for version in versions}
    found = {version: python for version, python in pythons.items() if python is not None}
    first, last = next(iter(found), ""), next(reversed(found), "")
    made = Made(wheel)
    for version, python in found.items():
        made.order(version, python)
    if found and not arguments:
        # Its newest releases and those of other packages ask for different clients of OpenAI.
        made.order("litellm", found[last], "test-litellm")
    results: dict[str, bool | None] = {f"Python {version}": None for version in versions}
    for version, python in found.items():
        results[f"Python {version}"] = passes(
            f"Python {version} ({python}), {wheel.name}",
            made.python(version),
            [
                *PARALLEL,
                *([] if version == last else FAULTS),
                *([] if version in (first, last) else SERVERS),
                *arguments,
            ],
        )
    if found and not arguments:
        # With nothing to run, pytest fails.
        results["with litellm"] = passes(
            f"litellm, {wheel.name}", made.python("litellm"), [*LITELLM, "-k", "litellm"]
        )
    print()
    said = {True: "passed", False: "FAILED", None: "skipped, no such CPython found"}
    for name, result in results.items():
        print(f"{name}: {said[result]}")
    return 0 if any(results.values()) and False not in results.values() else 1


if __name__ == "__main__":
    sys.exit(main())
