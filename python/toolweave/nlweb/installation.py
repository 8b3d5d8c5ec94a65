"""The NLWeb that this runs in: its tools, its model and its switches.

Nothing of it is imported that is not there already, but for its own module of models.
"""

from __future__ import annotations

import contextvars
import importlib
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..exceptions import ModelError, RegistryError
from ..selection.scorer import Reply

if TYPE_CHECKING:
    from ..registry import ToolRegistry
    from ..selection.scorer import Request

QUERY_PARAMS: contextvars.ContextVar[Mapping[str, Any] | None] = contextvars.ContextVar(
    "toolweave_nlweb_query_params", default=None
)
"""The parameters of the request that is served: in development, NLWeb takes a model from them."""


def is_enabled() -> bool:
    """Whether NLWeb's configuration asks for tool selection; it does where there is none."""
    enabled = getattr(_config(), "is_tool_selection_enabled", None)
    return bool(enabled()) if callable(enabled) else True


def load_registry() -> ToolRegistry:
    """Loads the ``tools.xml`` beside NLWeb's configuration.

    Raises:
        RegistryError: It is not there, or is none; says where it was looked for, or what is wrong.
    """
    from ..registry import ToolRegistry

    folder = os.environ.get("NLWEB_CONFIG_DIR") or getattr(_config(), "config_directory", None)
    if not folder:
        raise RegistryError(
            "there is no tools.xml to take the tools from: neither NLWEB_CONFIG_DIR nor NLWeb's "
            "configuration says where; load one and give it to toolweave.nlweb.configure(registry)"
        )
    path = Path(os.path.expandvars(str(folder))).expanduser() / "tools.xml"
    try:
        return ToolRegistry.load(path)
    except OSError as error:
        raise RegistryError(f"the tools cannot be read from {path}: {error}") from error


def _config() -> object:
    return getattr(sys.modules.get("core.config"), "CONFIG", None)


class InstalledModel:
    """The model of NLWeb, as a scorer. Asked as NLWeb asks it: on its level ``high``."""

    name = "nlweb"

    async def ask(self, request: Request) -> Reply:
        """Asks `core.llm.ask_llm`.

        Raises:
            ModelError: There is no such function here, or it gave no reply: NLWeb says no more.
        """
        # Where one tool is asked about, the structure itself, as NLWeb has it.
        structure: object = request.schema
        if request.strategy == "each" and request.tools[0].return_struc is not None:
            structure = request.tools[0].return_struc
        reply = await _ask_llm()(
            request.prompt, structure, level="high", query_params=QUERY_PARAMS.get() or {}
        )
        if not reply:
            raise ModelError("NLWeb's model did not reply, or not in time", "nlweb")
        return Reply(reply)


def _ask_llm() -> Callable[..., Awaitable[Any]]:
    module = sys.modules.get("core.llm")
    if module is None and "core" in sys.modules:
        try:
            module = importlib.import_module("core.llm")
        except ImportError as error:
            raise ModelError(f"NLWeb's core.llm cannot be imported: {error}", "nlweb") from error
    found = getattr(module, "ask_llm", None)
    if not callable(found):
        raise ModelError(
            "there is no NLWeb here whose model could be asked; give one with "
            "toolweave.nlweb.configure(scorer=...)",
            "nlweb",
        )
    return cast("Callable[..., Awaitable[Any]]", found)
