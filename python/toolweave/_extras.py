"""Optional dependencies of this package."""

from __future__ import annotations

import importlib
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
        raise ImportError(
            f"the package {module} is not installed; pip install 'toolweave[{extra}]'",
            name=module,
        ) from err
