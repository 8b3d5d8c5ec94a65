"""The public module of a name that a private module defines."""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import Any


def claim_exports(namespace: dict[str, Any]) -> None:
    """Set `__module__` of the names in `__all__` to the package that exports them.

    Names of public modules keep their module. Annotations of classes are evaluated first, since
    `typing.get_type_hints` looks their names up in `__module__`; those that need an import that
    only type checkers make stay text.

    Args:
        namespace: `globals()` of the package's ``__init__``.
    """
    package: str = namespace["__name__"]
    for name in namespace["__all__"]:
        exported = namespace.get(name)
        if not getattr(exported, "__module__", "").startswith(f"{package}._"):
            continue
        if inspect.isclass(exported):
            with suppress(NameError, TypeError):
                exported.__annotations__ = inspect.get_annotations(exported, eval_str=True)
        exported.__module__ = package
