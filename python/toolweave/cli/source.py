"""What commands read: text that streams in, and files of contracts."""

from __future__ import annotations

import codecs
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from .. import ContractError, FunctionContract

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

BLOCK_BYTES = 1 << 16
STDIN = "-"


class InputError(Exception):
    """Input that cannot be used; the text says which, where and why."""


def write_utf8() -> None:
    """Make standard output UTF-8, whatever the locale says: the output is data."""
    # A program that calls `main` may have put anything in its place.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")


def shown(path: str) -> str:
    """How a message names a path."""
    return "standard input" if path == STDIN else path


def stream_text(path: str) -> Iterator[str]:
    """The text of a file or of standard input, as it comes.

    Args:
        path: The file, or `-`.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    try:
        if path == STDIN:
            yield from _decoded(sys.stdin.buffer, path)
        else:
            with Path(path).open("rb") as file:
                yield from _decoded(file, path)
    except OSError as err:
        raise InputError(f"cannot read {shown(path)}: {err.strerror or err}") from None


def _decoded(file: BinaryIO, path: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    reader = cast("BufferedReader", file)
    done = 0
    block = b"."
    while block:
        # As much as there is, without waiting for a whole block.
        block = reader.read1(BLOCK_BYTES)
        kept = len(decoder.getstate()[0])
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as err:
            raise InputError(
                f"{shown(path)} is not UTF-8: byte 0x{err.object[err.start]:02x} "
                f"at offset {done - kept + err.start} ({err.reason})"
            ) from None
        done += len(block)
        if text:
            yield text


def read_contracts(path: str) -> list[FunctionContract]:
    """The contracts in a JSON file.

    One contract, or a list of them, each `{"name", "description", "parameters",
    "returns"}`, where all but the name may be left out; also as the chat API of OpenAI
    writes them (`{"type": "function", "function": {...}}`), and either as the member
    `tools` of an object.

    Args:
        path: The file, or `-`.

    Raises:
        InputError: It cannot be read, or holds something else.
    """
    text = "".join(stream_text(path))
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as err:
        raise InputError(
            f"{shown(path)} is not JSON: {err.msg} at line {err.lineno}, column {err.colno}"
        ) from None
    except (ValueError, RecursionError) as err:
        raise InputError(f"{shown(path)} is not JSON that can be read: {err}") from None
    if isinstance(data, dict) and "tools" in data:
        data = cast("dict[str, object]", data)["tools"]
    entries: list[object] = cast("list[object]", data) if isinstance(data, list) else [data]
    contracts: list[FunctionContract] = []
    for number, entry in enumerate(entries, 1):
        where = f"{shown(path)}, contract {number}"
        contract = _contract(entry, where)
        if any(contract.name == other.name for other in contracts):
            raise InputError(f"{where}: there are two contracts named {contract.name!r}")
        contracts.append(contract)
    return contracts


FIELDS = ("name", "description", "parameters", "returns")


def _contract(entry: object, where: str) -> FunctionContract:
    fields = _object(entry, where)
    if "function" in fields:
        fields = _object(fields["function"], where)
    if "name" not in fields:
        raise InputError(f"{where}: a contract is an object with a name")
    unknown = [name for name in fields if name not in (*FIELDS, "strict")]
    if unknown:
        raise InputError(
            f"{where}: unknown field {unknown[0]!r}; a contract has {', '.join(FIELDS)}"
        )
    try:
        return FunctionContract(**{name: fields[name] for name in FIELDS if name in fields})
    except (ContractError, TypeError, ValueError) as err:
        raise InputError(f"{where}: {err}") from None


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: a contract is an object with a name")
    return cast("dict[str, Any]", value)
