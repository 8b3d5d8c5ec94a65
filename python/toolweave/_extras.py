"""Optional dependencies of this package."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any


def require(module: str, extra: str) -> Any:
    """Import a module that an extra installs.

    Raises:
        ImportError: The module is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as err:
        # An installed package that fails to import raises its own error.
        if err.name is None or err.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise _not_installed(module, extra) from err


def require_installed(module: str, extra: str) -> None:
    """Check that a module of an extra is installed, without importing it.

    Raises:
        ImportError: It is not; the message names the extra.
    """
    if find_spec(module) is None:
        raise _not_installed(module, extra)


def _not_installed(module: str, extra: str) -> ImportError:
    message = f"the package {module} is not installed; pip install 'toolweave[{extra}]'"
    return ImportError(message, name=module)
