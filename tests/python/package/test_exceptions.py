"""The exception tree: drawn in its docstring, picklable, built on builtins."""

from __future__ import annotations

import builtins
import inspect
import pickle
import re
import types
import typing
from typing import Any

import pytest

import toolweave
from toolweave import InvalidToolCall, exceptions
from toolweave.exceptions import ToolweaveError

LINE = re.compile(r"^(?P<branch>[│├└─ ]*)(?P<name>\w+)(?: +\(also an? (?P<builtin>\w+)\))?$")


def tree(root: type[BaseException], depth: int = 0) -> list[tuple[int, str, str | None]]:
    """Return depth, name and builtin base of a class and its subclasses, in order of definition."""
    assert depth < 10
    found = [(depth, root.__name__, builtin_base(root) if depth else None)]
    for child in root.__subclasses__():
        if child.__module__ == exceptions.__name__:
            found += tree(child, depth + 1)
    return found


def builtin_base(cls: type[BaseException]) -> str | None:
    own = [base.__name__ for base in cls.__bases__ if base.__module__ == builtins.__name__]
    assert len(own) <= 1, f"{cls.__name__} has several builtin bases"
    return own[0] if own else None


def sample(annotation: Any) -> Any:
    """Return a sample value for an exception's parameter of this type."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return sample(typing.get_args(annotation)[0])
    plain = typing.get_origin(annotation) or annotation
    samples: dict[Any, Any] = {str: "text", int: 7, float: 0.5, bool: True, Any: {"a": [1]}}
    samples[InvalidToolCall] = InvalidToolCall(0, "call_0", "Add", "unclosed", "<Add>", ())
    if plain in samples:
        return samples[plain]
    concrete = {"Sequence": tuple, "Mapping": dict}.get(getattr(plain, "__name__", ""), plain)
    return concrete()


CLASSES = [getattr(exceptions, name) for _, name, _ in tree(ToolweaveError)]


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    drawn = []
    for line in (exceptions.__doc__ or "").splitlines():
        match = LINE.match(line)
        if match and match["name"] in vars(exceptions):
            drawn.append((len(match["branch"]) // 4, match["name"], match["builtin"]))
    assert drawn == tree(ToolweaveError)


def test_every_exception_of_the_module_is_in_the_tree() -> None:
    defined = [
        value
        for value in vars(exceptions).values()
        if inspect.isclass(value) and value.__module__ == exceptions.__name__
    ]
    assert set(defined) == set(CLASSES)


@pytest.mark.parametrize("cls", CLASSES)
def test_an_exception_survives_pickling(cls: type[ToolweaveError]) -> None:
    if not inspect.isfunction(cls.__init__):
        original = cls("text")
    else:
        hints = typing.get_type_hints(cls.__init__, localns=vars(toolweave))
        parameters = list(inspect.signature(cls.__init__).parameters)[1:]
        original = cls(*(sample(hints[name]) for name in parameters))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(original, protocol))
        assert type(copy) is cls
        assert (str(copy), copy.args) == ("text", original.args)
        assert vars(copy) == vars(original)


@pytest.mark.parametrize("cls", CLASSES[1:])
def test_an_exception_can_be_caught_as_a_builtin(cls: type[ToolweaveError]) -> None:
    # The builtin may be a base of a base: subclasses inherit it.
    plain = [base for base in cls.__mro__ if base.__module__ == builtins.__name__]
    assert plain[0] not in (Exception, BaseException), f"{cls.__name__} has no builtin base"


def test_an_exception_without_arguments_has_an_empty_message() -> None:
    assert str(ToolweaveError()) == ""
