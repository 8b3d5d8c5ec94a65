"""Inputs of commands: streamed text, files of contracts, and registries."""

from __future__ import annotations

import codecs
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .._core import FunctionContract, Parser
from ..exceptions import ContractError, RegistryError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from io import BufferedReader

    from .._core import RegistrySnapshot

BLOCK_BYTES = 1 << 16
MAX_BYTES = 64 << 20
STDIN = "-"

PROVIDER_KEYS = frozenset({"function", "type", "input_schema", "inputSchema"})
"""Keys that distinguish a provider's definition of a tool from a contract."""


class InputError(Exception):
    """Invalid input. The message names the input, the position and the reason."""


def write_utf8() -> None:
    """Set standard output to UTF-8 in any locale, since the output is data."""
    _reconfigure(encoding="utf-8")


def write_escapes() -> None:
    """Set standard output to escape characters that its encoding lacks."""
    _reconfigure(errors="backslashreplace")


def _reconfigure(**how: str) -> None:
    # A program that calls `main` may have replaced standard output.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(**how)


def name_of(path: str) -> str:
    """Return the name of a path for messages."""
    return "standard input" if path == STDIN else path


def add_cwd_to_path() -> None:
    """Add the current folder to the module search path, as `python -m` does."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)


def read_bytes(path: str) -> bytes:
    """Read a file or standard input.

    Args:
        path: The file, or `-`.

    Raises:
        InputError: It cannot be read, or is larger than `MAX_BYTES`.
    """
    with _opened(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"{name_of(path)} is larger than {MAX_BYTES >> 20} MiB")
    return data


def read_registry(path: str) -> RegistrySnapshot:
    """Read a registry from a file or standard input.

    Args:
        path: The file, or `-`.

    Raises:
        InputError: It cannot be read, or has errors, all of which are reported with positions.
    """
    from ..registry._files import read_snapshot

    data = read_bytes(path)
    try:
        return read_snapshot(data, name_of(path))
    except RegistryError as err:
        raise InputError(str(err)) from None


def stream_text(path: str) -> Iterator[str]:
    """Yield the text of a file or of standard input as it arrives.

    Args:
        path: The file, or `-`.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    block = b"."
    with _opened(path) as file:
        while block:
            # As much as is available, without waiting for a whole block.
            block = file.read1(BLOCK_BYTES)
            kept = len(decoder.getstate()[0])
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as err:
                raise InputError(
                    f"{name_of(path)} is not UTF-8: byte 0x{err.object[err.start]:02x} "
                    f"at offset {done - kept + err.start} ({err.reason})"
                ) from None
            done += len(block)
            if text:
                yield text


@contextmanager
def _opened(path: str) -> Generator[BufferedReader, None, None]:
    """Open a file or standard input, and report that it cannot be read."""
    try:
        if path == STDIN:
            yield cast("BufferedReader", sys.stdin.buffer)
        else:
            with Path(path).open("rb") as file:
                yield file
    except OSError as err:
        raise InputError(f"cannot read {name_of(path)}: {err.strerror or err}") from None


def read_contracts(path: str) -> list[FunctionContract]:
    """Read the contracts in a JSON file.

    The file has one contract or a list of them in the format of `FunctionContract.from_dict`, or
    tools in the formats of providers; also as the member `tools` of an object, such as a request.

    Args:
        path: The file, or `-`.

    Raises:
        InputError: It cannot be read, or has another format.
    """
    text = "".join(stream_text(path))
    try:
        data: object = json.loads(text)
    except json.JSONDecodeError as err:
        raise InputError(
            f"{name_of(path)} is not JSON: {err.msg} at line {err.lineno}, column {err.colno}"
        ) from None
    except (ValueError, RecursionError) as err:
        raise InputError(f"{name_of(path)} is not JSON that can be read: {err}") from None
    if isinstance(data, dict) and "tools" in data:
        data = cast("dict[str, object]", data)["tools"]
    entries: list[object] = [data]
    if isinstance(data, list):
        entries = cast("list[object]", data)
    contracts = [
        _contract(entry, f"{name_of(path)}, contract {number}")
        for number, entry in enumerate(entries, 1)
    ]
    try:
        # The parser checks the schemas, and that names are unique.
        Parser(contracts)
    except (ContractError, SchemaError) as err:
        raise InputError(f"{name_of(path)}: {err}") from None
    return contracts


def _contract(entry: object, where: str) -> FunctionContract:
    keys = cast("dict[str, object]", entry).keys() if isinstance(entry, dict) else ()
    # Unknown keys in definitions of providers are skipped, misspelled keys of a contract are not.
    is_contract = PROVIDER_KEYS.isdisjoint(keys)
    read = FunctionContract.from_dict if is_contract else FunctionContract.from_openai
    try:
        # Both raise an error if it is not an object.
        return read(cast("dict[str, Any]", entry))
    except ContractError as err:
        raise InputError(f"{where}: {err}") from None
