"""Packages that are needed only for some of what this one does."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, extra: str) -> Any:
    """Imports a module that an extra brings.

    Raises:
        ImportError: It is not installed; says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as err:
        # A package that is there but cannot be imported has something else to say.
        if err.name is None or err.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise ImportError(
            f"the package {module} is not installed; pip install 'toolweave[{extra}]'",
            name=module,
        ) from err
