"""Generator and check of `THIRD-PARTY-NOTICES.txt`.

A wheel contains the code of all crates that the bindings depend on, and of the npm packages that
the page of the playground is built from, so their licences go with it. `python tests/notices.py`
compares the crates that the notices name with what `cargo metadata` says, and the packages with
those that the build of the page has found in its bundle and with `web/package-lock.json`; with
``--write`` it regenerates the notices from the files in the crates and next to the page.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parent.parent
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"
PAGE = ROOT / "python/toolweave/web/page/licenses.md"
"""Packages in the bundle of the page, written by its build; `make page` keeps it current."""
LOCK = ROOT / "web/package-lock.json"

LICENCES = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "LLVM-exception",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
"""Allowed licences of crates: they require nothing but attribution."""

UNMAINTAINED = {"fxhash": "RUSTSEC-2025-0057"}
"""Unmaintained crates that must not return, and their advisories."""

HEAD = """\
Third-party notices
===================

toolweave is under the MIT License (see LICENSE), but for a table of the types of schema.org. Its
wheels contain the work of others, named here with their licences. Written by tests/notices.py.
"""

VOCABULARY = """\
The types of schema.org
=======================

The package contains a table of the types of schema.org 30.0 and their supertypes
(src/registry/schema_org_types.tsv in the sources; compiled into the extension module). It was
made from the vocabulary that schema.org publishes, https://schema.org, and is licensed, as that
is, under the Creative Commons Attribution-ShareAlike License, version 3.0 (CC BY-SA 3.0):
https://creativecommons.org/licenses/by-sa/3.0/

Changes: of each type only its name and its direct supertypes were kept.
"""

PRICES = """\
Prices of models
================

The package contains a table of the prices of models that chat (toolweave/costs/data/prices.json),
made from model_prices_and_context_window_backup.json of the wheel of litellm that the table names,
https://pypi.org/project/litellm, which is under the MIT License, Copyright (c) 2023 Berri AI:

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

Changes: of some providers the base prices were kept, written for a million tokens.
"""

RULE = "-" * 80


@dataclass(frozen=True, order=True)
class Crate:
    """A crate in the notices."""

    name: str
    version: str
    licence: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.licence})"


@dataclass(frozen=True, order=True)
class Bundled:
    """An npm package in the bundle of the page."""

    name: str
    version: str
    licence: str
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.licence}), from npm"


def bundled(written: str) -> list[Bundled]:
    """Return the packages that the build of the page lists, with the texts of their licences."""
    heads = list(re.finditer(r"^## (\S+) - (\S+) \((.+)\)$", written, re.MULTILINE))
    ends = [head.start() for head in heads[1:]] + [len(written)]
    return [
        Bundled(head[1], head[2], head[3], stripped(written[head.end() : end]))
        for head, end in zip(heads, ends, strict=True)
    ]


def locked() -> dict[str, tuple[str, str]]:
    """Return versions and licences of the page's packages in its lock file, by name."""
    packages = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    top = re.compile(r"node_modules/((?:@[^/]+/)?[^/]+)")
    return {
        found[1]: (package["version"], package.get("license", "none"))
        for path, package in packages.items()
        if (found := top.fullmatch(path))
    }


def stripped(text: str) -> str:
    """Return a text without white space at its ends and at the ends of its lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def linked(metadata: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the packages in the extension module on any platform, by id."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root: str = metadata["resolve"]["root"]
    found: set[str] = set()
    waiting = [root]
    while waiting:
        node = nodes[waiting.pop()]
        for dependency in node["deps"]:
            kinds = [kind["kind"] for kind in dependency["dep_kinds"]]
            if None in kinds and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return {package["id"]: package for package in metadata["packages"] if package["id"] in found}


def crate(package: Mapping[str, Any]) -> Crate:
    """Return the crate of a package, with an SPDX licence expression."""
    licence = re.sub(r"\s*/\s*", " OR ", package["license"] or "none")
    return Crate(package["name"], package["version"], licence)


def listed(notices: str) -> list[Crate]:
    """Return the crates in notices."""
    lines = re.findall(r"^\* (\S+) (\S+) \((.+)\)$", notices, re.MULTILINE)
    return [Crate(*line) for line in lines]


def listed_packages(notices: str) -> list[Bundled]:
    """Return the npm packages in notices."""
    lines = re.findall(r"^\* (\S+) (\S+) \((.+)\), from npm$", notices, re.MULTILINE)
    return [Bundled(*line) for line in lines]


def problems(
    notices: str,
    crates: Iterable[Crate],
    packages: Iterable[Bundled] = (),
    lock: Mapping[str, tuple[str, str]] | None = None,
) -> Iterator[str]:
    """Return all problems of notices, crates and packages."""
    yield from _problems_of_page(notices, set(packages), lock or {})
    have, want = set(listed(notices)), set(crates)
    yield from (f"not in the notices: {crate}" for crate in sorted(want - have))
    yield from (f"in the notices, but not used: {crate}" for crate in sorted(have - want))
    if VOCABULARY not in notices:
        yield "not in the notices: the types of schema.org"
    if PRICES not in notices:
        yield "not in the notices: the prices of models"
    for crate in sorted(want):
        if crate.name in UNMAINTAINED:
            yield f"no longer maintained ({UNMAINTAINED[crate.name]}): {crate}"
        if not is_allowed(crate.licence):
            yield f"not under a licence that is allowed: {crate}"


def _problems_of_page(
    notices: str, want: set[Bundled], lock: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    have = set(listed_packages(notices))
    yield from (f"not in the notices: {package}" for package in sorted(want - have))
    yield from (f"in the notices, but not in the page: {each}" for each in sorted(have - want))
    for package in sorted(want):
        if lock.get(package.name) != (package.version, package.licence):
            yield f"in the page, but not as it is locked in web/: {package}"
        if not package.text or package.text not in notices:
            yield f"no text of its licence in the notices: {package}"
        if not is_allowed(package.licence):
            yield f"not under a licence that is allowed: {package}"


def is_allowed(licence: str) -> bool:
    """Return true if a licence expression can be satisfied with allowed licences."""
    # `AND` binds closer than `OR`, and no crate has parentheses around an `AND`.
    for choice in re.split(r" OR (?![^(]*\))", licence):
        names = re.split(r" AND | WITH ", choice)
        if all(any(name in LICENCES for name in part.strip("()").split(" OR ")) for part in names):
            return True
    return False


def files(package: Mapping[str, Any]) -> list[Path]:
    """Return the licence files that must accompany a crate.

    If licences can be chosen, it is the MIT file, if there is one.
    """
    folder = Path(package["manifest_path"]).parent
    known = re.compile(r"(un)?licen[cs]e|copying|notice|copyright|third.?party", re.IGNORECASE)
    found = sorted(
        path
        for path in folder.rglob("*")
        if known.match(path.name)
        and path.suffix.lower() in ("", ".md", ".txt", ".mit")
        and path.is_file()
    )
    at_root = [path for path in found if path.parent == folder]
    mit = [path for path in at_root if "mit" in path.name.lower().split("mit-0")[0]]
    if (
        mit
        and re.search(r"\bMIT\b(?!-0)", package["license"])
        and " AND " not in package["license"]
    ):
        others = [path for path in found if not re.match("(un)?licen|copying", path.name.lower())]
        return mit + others
    return found


def notices(packages: Iterable[dict[str, Any]], page: Iterable[Bundled]) -> str:
    """Return the notices of crates and packages: lists of them, and each text once."""
    crates: dict[str, list[Crate]] = {}
    mine = (ROOT / "LICENSE").read_text(encoding="utf-8")
    permission = mine[mine.index("Permission is hereby granted") :].strip()
    packages = sorted(packages, key=lambda package: crate(package))
    for package in packages:
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in files(package)]
        if not texts:
            # The manifest names the licence, but no file contains it.
            if "MIT" not in package["license"]:
                raise SystemExit(f"{crate(package)} has no text of its licence")
            authors = ", ".join(package["authors"]) or f"The authors of {package['name']}"
            texts = [f"Copyright (c) {authors}\n\n{permission}"]
        for text in texts:
            crates.setdefault(stripped(text), []).append(crate(package))
    names = [f"* {crate(package)}" for package in packages]
    parts = [
        HEAD,
        VOCABULARY,
        PRICES,
        "Crates\n======\n\n" + "\n".join(names) + "\n",
    ]
    for text, owners in crates.items():
        of = "\n".join(f"{owner.name} {owner.version}" for owner in dict.fromkeys(owners))
        parts.append(f"{RULE}\n{of}\n{RULE}\n\n{text}\n")
    page = sorted(page)
    parts.append("The page\n========\n\n" + "".join(f"* {each}\n" for each in page))
    for each in page:
        of = f"{each.name} {each.version}"
        parts.append(f"{RULE}\n{of}\n{RULE}\n\n{each.text}\n")
    return "\n".join(parts)


def metadata() -> dict[str, Any]:
    """Return `cargo metadata` of the shipped bindings, for all platforms.

    The network is used only if a crate was never fetched on this machine.
    """
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--features=abi3"]
    done = subprocess.run([*command, "--offline"], cwd=ROOT, check=False, capture_output=True)
    if done.returncode:
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def main() -> int:
    """Compare the notices, or write them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true", help="write the notices anew")
    packages = linked(metadata()).values()
    page = bundled(PAGE.read_text(encoding="utf-8"))
    if arguments.parse_args().write:
        NOTICES.write_text(notices(packages, page), encoding="utf-8")
    written = NOTICES.read_text(encoding="utf-8")
    found = list(problems(written, map(crate, packages), page, locked()))
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        print("fix with: python tests/notices.py --write", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
