"""The public modules and names of the package: a list that changes only on purpose."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pickle
import pkgutil
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import toolweave
from toolweave import conversations, costs, executor, handlers, scenes, selection, store, tools, web

SNAPSHOT = Path(__file__).with_name("public_names.json")


def public_modules(module: ModuleType = toolweave) -> Iterator[ModuleType]:
    """Yield a module and, recursively, the public modules in it."""
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not info.name.startswith("_") and info.name != "litellm":
            yield from public_modules(importlib.import_module(f"{module.__name__}.{info.name}"))


MODULES = {module.__name__: module for module in public_modules()}
EXPORTS = [(module, name) for module in MODULES.values() for name in module.__all__]


def is_private(module: str) -> bool:
    return any(part.startswith("_") for part in module.split("."))


def test_public_modules_and_names_are_the_listed_ones() -> None:
    found = {name: sorted(module.__all__) for name, module in MODULES.items()}
    # It needs an environment of its own, in which its tests import it.
    found["toolweave.integrations.litellm"] = ["LiteLLMModel"]
    assert found == json.loads(SNAPSHOT.read_text("utf-8"))


@pytest.mark.parametrize(("module", "name"), EXPORTS)
def test_an_exported_name_has_a_public_module(module: ModuleType, name: str) -> None:
    exported = getattr(module, name)
    defined_in = getattr(exported, "__module__", None)
    if isinstance(exported, type) or inspect.isfunction(exported):
        assert not is_private(defined_in), defined_in
        assert getattr(importlib.import_module(defined_in), name) is exported
        assert pickle.loads(pickle.dumps(exported)) is exported


@pytest.mark.parametrize(
    "exported",
    [
        costs.Budget,
        costs.Cost,
        conversations.Interaction,
        executor.ToolProgress,
        handlers.HandlerRun,
        scenes.ClientResult,
        selection.SelectionPolicy,
        store.RunRecord,
        tools.RetryPolicy,
        web.WebLimits,
    ],
)
def test_annotations_are_looked_up_where_they_are_written(exported: type) -> None:
    """The public module does not have the names, which pydantic needs for a field of the class."""
    fields = {field.name for field in dataclasses.fields(exported)}
    assert typing.get_type_hints(exported).keys() >= fields
