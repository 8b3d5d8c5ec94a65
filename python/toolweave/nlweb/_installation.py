"""Access to the running NLWeb installation: its tools, its model and its settings.

Only modules that NLWeb has loaded are used, except for those of models and of routing, which are
imported on demand.
"""

from __future__ import annotations

import contextvars
import importlib
import json
import logging
import os
import sys
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from ..exceptions import ModelError, RegistryError
from ..selection._scorer import ScorerReply
from ._tools import RELEASED, TypeHierarchy

if TYPE_CHECKING:
    from ..registry import ToolRegistry
    from ..selection._scorer import ScorerRequest

QUERY_PARAMS: contextvars.ContextVar[Mapping[str, Any] | None] = contextvars.ContextVar(
    "toolweave_nlweb_query_params", default=None
)
"""Parameters of the current request, from which NLWeb selects a model in development mode."""

_log = logging.getLogger("toolweave.nlweb")

_RELEASED = TypeHierarchy(RELEASED)
# Packages of NLWeb without the module, so that it is not looked up twice.
_failed_imports: weakref.WeakSet[ModuleType] = weakref.WeakSet()
# The last edited hierarchy, so that equal hierarchies are the same object.
_edited_hierarchy: tuple[Mapping[str, Sequence[str]], TypeHierarchy] = (RELEASED, _RELEASED)


def is_enabled() -> bool:
    """Return True unless NLWeb's configuration disables tool selection."""
    return _is_on("is_tool_selection_enabled")


def is_aggregated() -> bool:
    """Return True unless NLWeb's configuration disables aggregation over all sites."""
    return _is_on("is_aggregation_enabled")


def _is_on(setting: str) -> bool:
    enabled = getattr(_config(), setting, None)
    return bool(enabled()) if callable(enabled) else True


def hierarchy() -> TypeHierarchy:
    """Return the type hierarchy of this NLWeb, or that of its releases if it was not edited."""
    global _edited_hierarchy
    selector = getattr(_module("core.router"), "ToolSelector", None)
    declared: object = getattr(selector, "TYPE_HIERARCHY", None)
    if not isinstance(declared, Mapping):
        return _RELEASED
    parents = cast("Mapping[str, Sequence[str]]", declared)
    if parents != _edited_hierarchy[0]:
        _edited_hierarchy = (dict(parents), TypeHierarchy(parents))
    return _edited_hierarchy[1]


def load_registry() -> ToolRegistry:
    """Load the ``tools.xml`` in NLWeb's configuration folder.

    Invalid tools are skipped and logged.

    Raises:
        RegistryError: The file is missing or invalid; the message names the path or the errors.
    """
    from ..registry import ToolRegistry
    from ..registry._files import format_diagnostic, read_bytes, read_snapshot

    folder = os.environ.get("NLWEB_CONFIG_DIR") or getattr(_config(), "config_directory", None)
    if not folder:
        raise RegistryError(
            "tools.xml cannot be found: neither NLWEB_CONFIG_DIR nor NLWeb's configuration names "
            "its folder; load a registry and pass it to toolweave.nlweb.configure(registry)"
        )
    path = Path(os.path.expandvars(str(folder))).expanduser() / "tools.xml"
    try:
        data = read_bytes(path)
    except OSError as error:
        raise RegistryError(f"the tools cannot be read from {path}: {error}") from error
    snapshot = read_snapshot(data, str(path), skip_invalid=True)
    for found in snapshot.diagnostics:
        if found.severity == "error":
            _log.error("left out of the tools: %s", format_diagnostic(str(path), found))
    return ToolRegistry(snapshot)


def _config() -> object:
    return getattr(sys.modules.get("core.config"), "CONFIG", None)


def _module(name: str) -> ModuleType | None:
    """Return a module of NLWeb, if NLWeb is loaded."""
    found, core = sys.modules.get(name), sys.modules.get("core")
    if found is None and core is not None and core not in _failed_imports:
        try:
            found = importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - modules of NLWeb may raise anything
            _log.warning("NLWeb's %s cannot be imported", name, exc_info=error)
            _failed_imports.add(core)
    return found


class InstalledModel:
    """Scorer that asks NLWeb's model as NLWeb does, with the level ``high``."""

    @property
    def name(self) -> str:
        """Name of the scorer, with all settings that determine the model."""
        preferred: object = getattr(_config(), "preferred_llm_endpoint", None)
        given = QUERY_PARAMS.get() or {}
        chosen = {name: value for name, value in given.items() if str(name).startswith("llm")}
        if not chosen and preferred is None:
            return "nlweb"
        return f"nlweb {json.dumps([preferred, chosen], sort_keys=True, default=str)}"

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Ask `core.llm.ask_llm`.

        Raises:
            ModelError: The function is missing, or returned no reply; NLWeb gives no reason.
        """
        prompt, structure = request.prompt, cast("object", request.schema)
        if request.bare is not None:
            # For a single tool, its own prompt and structure, as in NLWeb.
            prompt = request.bare
            structure = request.tools[0].return_struc or structure
        reply = await _ask_llm()(
            prompt, structure, level="high", query_params=QUERY_PARAMS.get() or {}
        )
        if not reply:
            raise ModelError("NLWeb's model did not reply, or not in time", "nlweb")
        return ScorerReply(reply)


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
            "NLWeb is not loaded, so it has no model to ask; pass a model with "
            "toolweave.nlweb.configure(scorer=...)",
            "nlweb",
        )
    return cast("Callable[..., Awaitable[Any]]", found)
