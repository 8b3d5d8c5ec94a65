"""Prepare the sources of a tagged version for its release.

    python release/prepare.py version v0.2.0
    python release/prepare.py address https://github.com/OWNER/REPOSITORY v0.2.0
    python release/prepare.py notes 0.2.0

`version` prints the version of a tag, after comparing it with the manifests and the changelog.
`address` rewrites README.md and pyproject.toml for a package index, which has none of the files
that relative links lead to: they become links to the tag. The sources name no address of their
own, so that a fork publishes its own. `notes` prints the section of a version in the changelog.

This file needs nothing but the standard library of Python 3.10.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Code, whose brackets are no links, and images and links with a target inside the repository.
SKIPPED = r"(?ms:^```.*?^```[ ]*$)|`[^`\n]+`"
LINK = re.compile(rf"{SKIPPED}|(?P<text>!?\[(?:[^][]|`[^`]*`)*\]\()(?P<path>[^)\s#:]+)(?=[)#])")

DATE = re.compile(r"\d{4}-\d\d-\d\d")


def absolute(markdown: str, repository: str, ref: str) -> str:
    """Return a page at the root of a repository with absolute links and images."""

    def replace(found: re.Match[str]) -> str:
        text, path = found["text"], found["path"]
        if text is None:
            return found[0]
        kind = "raw" if text.startswith("!") else "blob"
        return f"{text}{repository}/{kind}/{ref}/{path}"

    return LINK.sub(replace, markdown)


def with_urls(manifest: str, repository: str, ref: str) -> str:
    """Return a pyproject.toml that names the addresses of the project.

    Raises:
        ValueError: It names some already.
    """
    if "[project.urls]" in manifest:
        raise ValueError("pyproject.toml already has [project.urls]")
    urls = {
        "Documentation": f"{repository}/tree/{ref}/docs",
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/{ref}/CHANGELOG.md",
    }
    table = "\n".join(f"{name} = {json.dumps(url)}" for name, url in urls.items())
    return manifest.replace(
        "\n[project.scripts]\n", f"\n[project.urls]\n{table}\n\n[project.scripts]\n"
    )


def version_of(tag: str) -> str:
    """Return the version of a tag.

    Raises:
        ValueError: A manifest has another version, or the changelog has no such section.
    """
    version = tag.removeprefix("v")
    manifest = (ROOT / "Cargo.toml").read_text("utf-8")
    client = json.loads((ROOT / "web/client/package.json").read_text("utf-8"))
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    found = {
        "Cargo.toml": re.findall(r'^version = "(.+)"$', manifest, re.MULTILINE)[0],
        "web/client/package.json": client["version"],
        "CITATION.cff": re.findall(r"^version: (.+)$", citation, re.MULTILINE)[0],
    }
    for file, other in found.items():
        if other != version:
            raise ValueError(f"{file} has version {other}, the tag is {tag}")
    notes(version)
    return version


def notes(version: str) -> str:
    """Return the text of a version's section in the changelog.

    Raises:
        ValueError: There is no such section, or it has no date yet.
    """
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    section = re.search(
        rf"^## {re.escape(version)}\b([^\n]*)\n(.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    if section is None:
        raise ValueError(f"CHANGELOG.md has no section for {version}")
    if not DATE.search(section[1]):
        raise ValueError(f"CHANGELOG.md has no date for {version}")
    return section[2].strip() + "\n"


def write_address(repository: str, ref: str) -> None:
    """Write README.md and pyproject.toml with the addresses of a repository."""
    readme, manifest = ROOT / "README.md", ROOT / "pyproject.toml"
    manifest.write_text(with_urls(manifest.read_text("utf-8"), repository, ref), "utf-8")
    readme.write_text(absolute(readme.read_text("utf-8"), repository, ref), "utf-8")


def main() -> int:
    """Run a command; return 1 with the reason if it fails."""
    parser = argparse.ArgumentParser(description="Prepare a tagged version for its release.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("version").add_argument("tag")
    address = commands.add_parser("address")
    address.add_argument("repository")
    address.add_argument("ref")
    commands.add_parser("notes").add_argument("version")
    arguments = parser.parse_args()
    try:
        match arguments.command:
            case "version":
                print(version_of(arguments.tag))
            case "address":
                write_address(arguments.repository.rstrip("/"), arguments.ref)
            case _:
                print(notes(arguments.version), end="")
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
