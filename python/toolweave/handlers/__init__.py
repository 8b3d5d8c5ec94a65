"""How a chosen tool runs.

The handler that a registry names for a tool is a dotted path. `load_handler` imports it, if it
lies under an allowed prefix.
"""

from __future__ import annotations

from .loading import load_handler

__all__ = ["load_handler"]
