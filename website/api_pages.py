"""Pages of the reference that follow from the package: names, settings, errors and commands.

Names, signatures and docstrings are read from the source and the stubs; only the commands are
run, for their help.
"""

from __future__ import annotations

import contextlib
import io
import os
import pkgutil
import re
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import griffe

import option_pages
from docstrings import PackageDocstrings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "toolweave"

API = """\
# `{module}`

::: {module}
    options:
      members: [{names}]
"""
CORE = """\
# `toolweave`

These names are documented here. All others that `import toolweave` exports are listed at the end,
with the modules that document them.

{names}

## Other names

| name | documented in |
| --- | --- |
{others}
"""
SETTINGS = """\
# Settings

Every option with a default, of every public class and function, in the order of the modules. Sets
of options that several of them share follow at the end. The options of commands are with the
[commands](commands.md).

"""
ERRORS = """\
# Errors

Every exception of the package is a `ToolweaveError`. Errors of the programmer, such as an argument
out of range, are Python's own `TypeError` and `ValueError`. The [reasons why a run
stops](../explanation/agents.md#stop-reasons), the [diagnostics of
registries](../explanation/registry.md#diagnostics), and what [`toolweave
serve`](../explanation/serve.md#promises) answers to a call that stays invalid are no exceptions.

| exception | also a | cause | raised by |
| --- | --- | --- | --- |
"""
HTTP_ERRORS = """

## Errors of chats over HTTP

The server answers with `{"error": {"code", "message"}}`. Clients in Python raise a
`ChatRequestError` with both.

| status | code | cause |
| --- | --- | --- |
"""
COMMANDS = """\
# Commands

The command `toolweave` comes with the package. Exit codes: 0 for success, 1 if a requested check
failed, 2 for invalid usage or input.

"""
DESCRIBING = (griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.attributes)
"""Sections of a docstring with a text for each parameter or attribute."""
EMPTY = re.compile(r"^(dict|list)\[.*\]\(\)$")
"""A field that begins as an empty dict or list."""
LINK = re.compile(r"\]\(\.\./\.\./([a-z/-]+)\.html\)")
"""A link in a docstring to a page of the documentation, as `PackageDocstrings` writes it."""


def load() -> griffe.Module:
    """Load the package with its stubs, without importing it."""
    package = griffe.load(
        "toolweave",
        search_paths=[PACKAGE.parent],
        allow_inspection=False,
        resolve_aliases=True,
        extensions=griffe.load_extensions(PackageDocstrings),
    )
    return cast("griffe.Module", package)


def public_modules() -> list[str]:
    """Return the dotted names of the public modules below the package that export names."""
    return [
        found.name
        for found in pkgutil.walk_packages([str(PACKAGE)], "toolweave.")
        if not any(part.startswith("_") for part in found.name.split("."))
        and found.name not in ("toolweave.cli", "toolweave.integrations")
    ]


def exports(module: griffe.Object | griffe.Alias) -> list[str]:
    """Return the names that a module exports, sorted, without its version."""
    return sorted({str(name) for name in module.exports or ()} - {"__version__"})


def pages(package: griffe.Module) -> dict[str, str]:
    """Create the generated pages of the reference.

    Args:
        package: The package, as `load` returns it.

    Returns:
        The Markdown of each page, by its path in the documentation.

    Raises:
        ValueError: A public name has no docstring.
    """
    modules = {name: member(package, name) for name in public_modules()}
    missing = [
        f"{path}.{name}"
        for path, module in (("toolweave", package), *modules.items())
        for name in exports(module)
        if undocumented(module[name])
    ]
    if missing:
        raise ValueError(f"public names without a docstring: {', '.join(missing)}")
    api = {
        f"reference/api/{name}.md": API.format(module=name, names=", ".join(exports(module)))
        for name, module in modules.items()
    }
    return {
        "reference/api/toolweave.md": core_page(package, modules),
        **api,
        "reference/settings.md": settings_page(package, modules),
        "reference/errors.md": errors_page(package, modules),
        "reference/commands.md": commands_page(),
    }


def member(package: griffe.Module, path: str) -> griffe.Module:
    """Return a module of the package by its dotted name."""
    return cast("griffe.Module", package[path.removeprefix("toolweave.")])


def undocumented(exported: griffe.Object | griffe.Alias) -> bool:
    """Return whether a name that is neither an alias of types nor a module lacks a docstring."""
    return exported.kind in (griffe.Kind.CLASS, griffe.Kind.FUNCTION) and not exported.docstring


def core_page(package: griffe.Module, modules: dict[str, griffe.Module]) -> str:
    """Create the page of the names that no other public module exports."""
    homes: dict[str, str] = {}
    for path, module in modules.items():
        for name in exports(module):
            homes.setdefault(name, path)
    here = [name for name in exports(package) if name not in homes]
    return CORE.format(
        names="\n\n".join(
            f"::: toolweave.{name}\n    options:\n      show_root_heading: true\n"
            "      show_root_toc_entry: true"
            for name in here
        ),
        others="\n".join(
            f"| `{name}` | [`{homes[name]}`]({homes[name]}.md#{homes[name]}.{name}) |"
            for name in exports(package)
            if name in homes
        ),
    )


def settings_page(package: griffe.Module, modules: dict[str, griffe.Module]) -> str:
    """Create the page of all parameters with defaults."""
    lines = [SETTINGS]
    seen: set[str] = set()
    for path, module in (*modules.items(), ("toolweave", package)):
        for name in exports(module):
            found = module[name]
            has_options = found.is_function or (found.is_class and is_made_by_users(found))
            rows = list(options_of(found)) if has_options else []
            if rows and found.canonical_path not in seen:
                seen.add(found.canonical_path)
                lines += [
                    f"## {path}.{name}",
                    "",
                    f"[`{name}`](api/{path}.md#{path}.{name}): {first_sentence(found)}",
                    "",
                    "| option | default | meaning |",
                    "| --- | --- | --- |",
                    *rows,
                    "",
                ]
    return "\n".join([*lines, *shared_options(package, modules)])


def shared_options(package: griffe.Module, modules: dict[str, griffe.Module]) -> Iterator[str]:
    """Yield the lines of a section for each set of options that functions take by name."""
    taken = option_pages.takers(modules | {"toolweave": package})
    for path, users in sorted(taken.items(), key=lambda item: item[0].rpartition(".")[2]):
        links = ", ".join(f"[`{name}`](api/{link})" for name, link in users)
        yield from (f"## {path.rpartition('.')[2]}", "", f"Taken by {links}.", "")
        yield from ("| option | default | meaning |", "| --- | --- | --- |")
        for name, default, text in option_pages.rows(package, path):
            yield f"| `{name}` | {code(default) if default else ''} | {cell(text)} |"
        yield ""


def options_of(found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """Yield a row for each parameter of a class or function that has a default.

    Raises:
        ValueError: A parameter has no text.
    """
    texts = described(found)
    for parameter in found.parameters:  # type: ignore[union-attr]
        if (
            parameter.default is None
            or parameter.name.startswith("_")
            or parameter.kind is griffe.ParameterKind.var_keyword
        ):
            continue
        if not texts.get(parameter.name):
            raise ValueError(f"{found.path}: {parameter.name} must have a docstring")
        default, text = default_of(parameter, found.package), cell(texts[parameter.name])
        yield f"| `{parameter.name}` | {code(default) if default else ''} | {text} |"


def default_of(parameter: griffe.Parameter, package: griffe.Module) -> str:
    """Return the default of a parameter: of a constant its value, or nothing if that is long."""
    value = parameter.default
    while isinstance(value, griffe.ExprName) and value.canonical_path.startswith("toolweave."):
        named = package[value.canonical_path.removeprefix("toolweave.")]
        if not named.is_attribute or named.value is None:
            return ""
        value = named.value
    written = EMPTY.sub(lambda made: "{}" if made[1] == "dict" else "[]", str(value))
    return "" if len(written) > 60 or "__file__" in written else written


def described(found: griffe.Object | griffe.Alias) -> dict[str, str]:
    """Return the texts about the parameters and attributes of a function, or a class."""
    texts: dict[str, str] = {}
    classes = [*reversed(found.mro()), found] if found.is_class else [found]
    for documented in classes:
        texts.update(
            (name, attribute.docstring.value)
            for name, attribute in documented.members.items()
            if attribute.docstring
        )
        for described_in in (documented, documented.members.get("__init__")):
            if described_in is None or not described_in.docstring:
                continue
            for section in described_in.docstring.parse("google", warnings=False):
                if section.kind in DESCRIBING:
                    texts.update(
                        (item.name.lstrip("*"), item.description) for item in section.value
                    )
    return texts


def is_made_by_users(found: griffe.Object | griffe.Alias) -> bool:
    """Return whether a class is neither an exception nor one that only the package instantiates."""
    is_error = found.canonical_path.startswith("toolweave.exceptions.")
    return not is_error and "Created by `" not in (found.docstring.value if found.docstring else "")


def errors_page(package: griffe.Module, modules: dict[str, griffe.Module]) -> str:
    """Create the page of all exceptions, each with its cause and the functions that raise it."""
    raising = raisers(modules | {"toolweave": package})
    errors = modules["toolweave.exceptions"]
    lines = []
    for name in exports(errors):
        found = errors[name]
        bases = [f"`{base}`" for base in found.bases if str(base) != "ToolweaveError"]  # type: ignore[union-attr]
        where = ", ".join(f"[`{shown}`](api/{link})" for shown, link in raising.get(name, ()))
        lines.append(
            f"| [`{name}`](api/toolweave.exceptions.md#toolweave.exceptions.{name}) "
            f"| {', '.join(bases)} | {cell(found.docstring.value)} | {where} |"
        )
    return ERRORS + "\n".join(lines) + HTTP_ERRORS + "\n".join(http_errors()) + "\n"


def http_errors() -> Iterator[str]:
    """Yield a row for each error of the chat server."""
    # The file imports the standard library only, unlike its package.
    values = runpy.run_path(str(PACKAGE / "web/_openapi/_error_replies.py"))
    kind = values["ErrorReply"]
    replies: set[tuple[int, str, str]] = set()
    for value in values.values():
        if isinstance(value, kind):
            replies.add(value)
        elif isinstance(value, tuple):
            replies.update(each for each in value if isinstance(each, kind))
    for status, error_code, reason in sorted(replies):
        yield f"| {status} | `{error_code}` | {cell(reason)} |"


def raisers(modules: dict[str, griffe.Module]) -> dict[str, list[tuple[str, str]]]:
    """Return the public functions whose docstrings say that they raise each exception."""
    found: dict[str, list[tuple[str, str]]] = {}
    seen: set[str] = set()
    for path, module in modules.items():
        for name in exports(module):
            exported = module[name]
            if exported.is_alias:  # the members of an alias are aliases
                exported = exported.final_target
            inner = [exported]
            if exported.kind is griffe.Kind.CLASS:
                inner += [
                    each
                    for key, each in exported.all_members.items()
                    if (each.inherited or not each.is_alias)
                    and (key == "__init__" or not key.startswith("_"))
                ]
            for each in inner:
                if not each.docstring or each.canonical_path in seen:
                    continue
                seen.add(each.canonical_path)
                suffix = "" if each is exported else f".{each.name}"
                shown = f"{name}{suffix.replace('.__init__', '')}"
                anchor = f"{path}.md#{path}.{name}{suffix.replace('.__init__', '')}"
                for section in each.docstring.parse("google", warnings=False):
                    if section.kind is griffe.DocstringSectionKind.raises:
                        for item in section.value:
                            rows = found.setdefault(str(item.annotation), [])
                            if (shown, anchor) not in rows:
                                rows.append((shown, anchor))
    return found


def commands_page() -> str:
    """Create the page of all commands, with the help that each prints."""
    names = command_names()
    lines = [COMMANDS, "```text", help_of().rstrip(), "```", ""]
    for name in names:
        lines += [f"## toolweave {name}", "", "```text", help_of(name).rstrip(), "```", ""]
    return "\n".join(lines)


def command_names() -> tuple[str, ...]:
    """Return the names of the commands."""
    from toolweave import cli

    return tuple(cli.COMMANDS)


def help_of(*command: str) -> str:
    """Return the help of a command, 88 columns wide and without colors."""
    from toolweave.cli import main

    printed = io.StringIO()
    before = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ.update(COLUMNS="88", NO_COLOR="1")
    program = sys.argv[0]
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([*command, "--help"])
    finally:
        sys.argv[0] = program
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return printed.getvalue()


def first_sentence(found: griffe.Object | griffe.Alias) -> str:
    """Return the first line of a docstring, which is a sentence."""
    return found.docstring.value.partition("\n")[0] if found.docstring else ""


def cell(text: str) -> str:
    """Return a text as the cell of a table of a page in ``reference``."""
    linked = LINK.sub(r"](../\1.md)", text.partition("\n\n")[0])
    return " ".join(linked.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return an expression as inline code in the cell of a table."""
    return f"`{' '.join(text.split())}`".replace("|", "\\|")
