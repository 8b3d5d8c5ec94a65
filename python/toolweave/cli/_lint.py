"""`toolweave lint`: check registries of tools."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..exceptions import RegistryError
from ._inputs import InputError, add_cwd_to_path, name_of, read_bytes, write_escapes, write_utf8

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from .._core import Diagnostic
    from ..registry._files import SourceText

EXIT_FOUND = 1
EXIT_UNREADABLE = 2

SUMMARY = "check a registry of tools"
DESCRIPTION = (
    "Check registries of tools (tools.xml), and report problems with their positions. The exit "
    "status is 0 if there are none of the given severity, 1 if there are, and 2 if a file cannot "
    "be read."
)


class CheckedFile(NamedTuple):
    """File with its diagnostics."""

    name: str
    source: SourceText
    tools: int | None
    """Number of tools; None if the file has errors."""
    diagnostics: Sequence[Diagnostic]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a tools.xml, or - for stdin")
    parser.add_argument(
        "--format",
        choices=("text", "json", "github"),
        default="text",
        help="for readers (default), one JSON object a line, or annotations of GitHub's workflows",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PREFIX",
        help="import handlers below this module to check them; may be repeated. By default they "
        "are looked for, and nothing is imported",
    )
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="FOLDER",
        help="look for handlers in this folder as well, such as NLWeb's code/python or "
        "AskAgent/python; may be repeated",
    )
    parser.add_argument(
        "--base-url", metavar="URL", help="the base URL of relative paths of tools with method url"
    )
    level = parser.add_mutually_exclusive_group()
    level.add_argument(
        "--severity",
        choices=("error", "warning"),
        default="error",
        help="the lowest severity that fails: error (default) or warning",
    )
    level.add_argument(
        "--strict",
        action="store_const",
        const="warning",
        dest="severity",
        help="the same as --severity warning",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    add_cwd_to_path()
    for folder in options.path:
        if not Path(folder).is_dir():
            sys.stderr.write(f"toolweave lint: --path: there is no folder {folder!r}\n")
            return EXIT_UNREADABLE
    sys.path[:0] = options.path
    unreadable = False
    checked: list[CheckedFile] = []
    for file in options.files:
        try:
            checked.append(_check(file, options.allow, options.base_url))
        except InputError as err:  # noqa: PERF203 - the other files are still checked
            sys.stderr.write(f"toolweave lint: {err}\n")
            unreadable = True
    if options.format == "text":
        write_escapes()
        _print_text(checked)
    else:
        write_utf8()
        line = _json_line if options.format == "json" else _github_line
        for one in checked:
            for found in one.diagnostics:
                sys.stdout.write(f"{line(one.name, found)}\n")
    if unreadable:
        return EXIT_UNREADABLE
    counting = ("error", "warning") if options.severity == "warning" else ("error",)
    severities = {found.severity for one in checked for found in one.diagnostics}
    return 0 if severities.isdisjoint(counting) else EXIT_FOUND


def _check(file: str, allowed: Sequence[str], base_url: str | None) -> CheckedFile:
    from ..registry import ToolRegistry
    from ..registry._files import SourceText

    data = read_bytes(file)
    # The name of a file may not be valid text.
    name = name_of(file).encode(errors="backslashreplace").decode()
    source = SourceText(data)
    try:
        registry = ToolRegistry.loads(data, base_url=base_url)
    except RegistryError as err:
        if not err.diagnostics:
            raise InputError(f"{name}: {err}") from None
        return CheckedFile(name, source, None, err.diagnostics)
    except ValueError as err:
        raise InputError(f"--base-url: {err}") from None
    try:
        diagnostics = registry.lint(allowed_handlers=allowed)
    except ValueError as err:
        raise InputError(f"--allow: {err}") from None
    return CheckedFile(name, source, len(registry.snapshot.entries), diagnostics)


def _print_text(checked: Iterable[CheckedFile]) -> None:
    from ._diagnostics import DiagnosticPrinter, count_noun

    painter = DiagnosticPrinter.of(sys.stdout, os.environ)
    errors = warnings = files = tools = 0
    for one in checked:
        files += 1
        tools += one.tools or 0
        for found in one.diagnostics:
            errors += found.severity == "error"
            warnings += found.severity == "warning"
            sys.stdout.write(painter.show(one.name, one.source.line(found.line), found))
    if not files:
        return
    where = f"{count_noun(tools, 'tool')} in {count_noun(files, 'file')}"
    kinds = [
        count_noun(number, kind) for number, kind in ((errors, "error"), (warnings, "warning"))
    ]
    counts = ", ".join(kind for kind in kinds if not kind.startswith("0 "))
    sys.stdout.write(f"{counts or 'no problems'}; {where}\n")


def _json_line(name: str, found: Diagnostic) -> str:
    fields = ("line", "column", "length", "severity", "code", "message", "hint")
    shown = {"file": name, **{field: getattr(found, field) for field in fields}}
    return json.dumps(shown, ensure_ascii=False)


def _github_line(name: str, found: Diagnostic) -> str:
    properties = {
        "file": name,
        "line": str(found.line),
        "endLine": str(found.line),
        "col": str(found.column),
        "endColumn": str(found.column + found.length),
        "title": found.code,
    }
    parameters = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    message = found.message if found.hint is None else f"{found.message}\n{found.hint}"
    return f"::{found.severity} {parameters}::{_data(message)}"


def _data(text: str) -> str:
    # Otherwise a text could end the command and start another.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
