"""Check what a release publishes, with the tools of the dependency group `release`.

    python release/check.py local WHEEL        # `make release-check`
    python release/check.py published FOLDER   # the workflow, before anything is published

`local` checks a wheel, and an sdist that it makes from the sources of this folder: metadata,
platform, ABI, licences, and whether each works in an environment of its own. `published` checks
that a folder has all files of a release and nothing else.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTICES = ("LICENSE", "THIRD-PARTY-NOTICES.txt")
EXAMPLE = "https://git.example/toolweave/toolweave"
"""Address in the metadata of an sdist that is only tried."""

PLATFORMS = {
    "manylinux x86_64": r"manylinux_\d+_\d+_x86_64(\.\w+)?",
    "manylinux aarch64": r"manylinux_\d+_\d+_aarch64(\.\w+)?",
    "musllinux x86_64": r"musllinux_\d+_\d+_x86_64",
    "musllinux aarch64": r"musllinux_\d+_\d+_aarch64",
    "macOS x86_64": r"macosx_\d+_\d+_x86_64",
    "macOS arm64": r"macosx_\d+_\d+_arm64",
    "Windows x86_64": r"win_amd64",
}
TARGETS = {
    "x86_64-unknown-linux-musl": "tar.gz",
    "aarch64-unknown-linux-musl": "tar.gz",
    "x86_64-apple-darwin": "tar.gz",
    "aarch64-apple-darwin": "tar.gz",
    "x86_64-pc-windows-msvc": "zip",
}


def expected(version: str) -> dict[str, str]:
    """Return the files of a release: what each is, and a pattern of its name."""
    number = re.escape(version)
    wheels = {
        f"wheel for {platform}": rf"toolweave-{number}-cp310-abi3-{tag}\.whl"
        for platform, tag in PLATFORMS.items()
    }
    proxies = {
        f"proxy for {target}": re.escape(f"toolweave-serve-{version}-{target}.{ending}")
        for target, ending in TARGETS.items()
    }
    boms = {
        f"bill of {part}": rf"toolweave-{number}\.{part}\.cdx\.json" for part in ("rust", "python")
    }
    return {"sdist": rf"toolweave-{number}\.tar\.gz", **wheels, **proxies, **boms}


def differences(names: Iterable[str], version: str) -> Iterator[str]:
    """Yield what is missing from the files of a release, and what is too much."""
    left = set(names)
    for what, pattern in expected(version).items():
        found = {name for name in left if re.fullmatch(pattern, name)}
        if len(found) != 1:
            yield f"{len(found)} files instead of one: {what} ({pattern})"
        left -= found
    yield from (f"not a file of a release: {name}" for name in sorted(left))


def members(archive: Path) -> list[str]:
    """Return the paths of the files in a wheel or an archive."""
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as opened:
            return opened.getnames()
    with zipfile.ZipFile(archive) as opened:
        return opened.namelist()


def without_notices(archive: Path) -> Iterator[str]:
    """Yield the licence files that a wheel or an archive lacks."""
    inside = {Path(path).name for path in members(archive)}
    yield from (f"{archive.name} has no {name}" for name in NOTICES if name not in inside)


def run(*command: str | Path, **environment: str) -> None:
    """Run a command; end this program with its exit status if it fails."""
    print("+", *command, flush=True)
    done = subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, **environment})
    if done.returncode:
        raise SystemExit(done.returncode)


def check_packages(packages: list[Path]) -> None:
    """Check the metadata of packages, and the ABI of those that are wheels."""
    run("twine", "check", "--strict", *packages)
    for wheel in packages:
        if wheel.suffix == ".whl":
            run("abi3audit", "--strict", "--summary", wheel)


def report(problems: Iterable[str]) -> None:
    """Print problems; end this program with status 1 if there are any."""
    found = list(problems)
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    if found:
        raise SystemExit(1)


def try_package(package: Path, folder: Path, **environment: str) -> None:
    """Install a package into an environment of its own, and use it there."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run("uv", "--quiet", "pip", "install", "--python", python, package, **environment)
    run(python, "-I", ROOT / "release/smoke.py")


def make_sdist(folder: Path) -> Path:
    """Return an sdist, made from a copy of the sources that is prepared like a release."""
    copy, out = folder / "sources", folder / "sdist"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    run(sys.executable, copy / "release/prepare.py", "address", EXAMPLE, "v0")
    run("maturin", "sdist", "--manifest-path", copy / "Cargo.toml", "--out", out)
    [sdist] = out.glob("*.tar.gz")
    return sdist


def local(wheel: Path) -> None:
    """Check a wheel of this platform, and an sdist."""
    with tempfile.TemporaryDirectory(prefix="toolweave-release-") as name:
        folder = Path(name)
        sdist = make_sdist(folder)
        check_packages([wheel, sdist])
        report(problem for package in (wheel, sdist) for problem in without_notices(package))
        if sys.platform == "linux":
            run("auditwheel", "show", wheel)
            run("auditwheel", "repair", "--wheel-dir", folder / "repaired", wheel)
            [wheel] = (folder / "repaired").glob("*.whl")
        try_package(wheel, folder / "wheel-environment")
        # The crates that a development build has compiled already; an LTO build takes minutes.
        try_package(
            sdist,
            folder / "sdist-environment",
            CARGO_TARGET_DIR=str(ROOT / "target"),
            MATURIN_PEP517_ARGS="--profile dev",
        )


def published(folder: Path) -> None:
    """Check the files of a release."""
    files = sorted(folder.iterdir())
    sdists = [re.fullmatch(r"toolweave-(\d[^-]*)\.tar\.gz", file.name) for file in files]
    versions = [found[1] for found in sdists if found]
    if len(versions) != 1:
        raise SystemExit(f"error: {len(versions)} sdists instead of one in {folder}")
    report(differences((file.name for file in files), versions[0]))
    archives = [file for file in files if file.suffix != ".json"]
    report(problem for archive in archives for problem in without_notices(archive))
    check_packages([file for file in archives if not file.name.startswith("toolweave-serve-")])


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description="Check what a release publishes.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("local").add_argument("wheel", type=Path)
    commands.add_parser("published").add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "local":
        local(arguments.wheel.resolve())
    else:
        published(arguments.folder.resolve())


if __name__ == "__main__":
    main()
