"""Required parameters of handlers, from their signatures or the source of their classes."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..tools._function import is_tool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

INJECTED_PARAMETERS = frozenset({"handler", "params"})
"""Parameters of a function that the application injects; see `toolweave.handlers`."""

HandlerDefinition: TypeAlias = "ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef"


class RequiredParameters(NamedTuple):
    """Parameters that a handler always reads."""

    names: tuple[str, ...]
    by_position: bool = False
    """True if two parameters with other names are the dict of all parameters and the
    application's object."""

    def missing(self, known: Collection[str]) -> tuple[str, ...]:
        """Return the required parameters that a tool does not have."""
        if (
            self.by_position
            and len(self.names) == 2
            and not {*self.names} & {*known, *INJECTED_PARAMETERS}
        ):
            return ()
        return tuple(
            name for name in self.names if name not in known and name not in INJECTED_PARAMETERS
        )


def required_parameters(handler: object) -> RequiredParameters:
    """Return the required parameters of a handler that is registered in Python."""
    if is_tool(handler):
        return RequiredParameters(tuple((handler.contract.parameters or {}).get("required", ())))
    if inspect.isclass(handler):
        try:
            [definition] = ast.parse(textwrap.dedent(inspect.getsource(handler))).body
        except (OSError, TypeError, SyntaxError, ValueError):
            return RequiredParameters(())
        return (
            required_by_definition(definition)
            if isinstance(definition, ast.ClassDef)
            else RequiredParameters(())
        )
    function: Any = handler
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return RequiredParameters(())
    return RequiredParameters(
        tuple(
            one.name
            for one in parameters
            if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        ),
        by_position=True,
    )


def required_by_definition(definition: HandlerDefinition) -> RequiredParameters:
    """Return the required parameters of a handler from its source."""
    if isinstance(definition, ast.ClassDef):
        return RequiredParameters(tuple(dict.fromkeys(_keys_read_by(definition))))
    arguments = definition.args
    plain = [*arguments.posonlyargs, *arguments.args]
    required = plain[: len(plain) - len(arguments.defaults)]
    required += [
        one
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    return RequiredParameters(tuple(one.arg for one in required), by_position=True)


def _keys_read_by(definition: ast.ClassDef) -> Iterator[str]:
    """Yield the parameters that a class reads without testing for them first.

    A parameter read with a default counts if the class returns or raises without it, as NLWeb's
    handlers do.
    """
    init = next(
        (
            one
            for one in definition.body
            if isinstance(one, ast.FunctionDef) and one.name == "__init__"
        ),
        None,
    )
    if init is None or len(init.args.args) < 2:
        return
    params = init.args.args[1].arg
    holders = {
        target.attr
        for one in ast.walk(init)
        if isinstance(one, ast.Assign) and _is_name(one.value, params)
        for target in one.targets
        if isinstance(target, ast.Attribute)
    }
    asked = {
        one.left.value
        for one in ast.walk(definition)
        if isinstance(one, ast.Compare) and isinstance(one.left, ast.Constant)
    }
    inside = {id(one) for one in ast.walk(init)}

    def is_parameters_dict(read: ast.AST, one: ast.AST) -> bool:
        """Return True if `read` is the dict of the parameters."""
        held = isinstance(read, ast.Attribute) and read.attr in holders
        return held or (_is_name(read, params) and id(one) in inside)

    keys_by_attribute: dict[str, str] = {}
    for one in ast.walk(definition):
        match one:
            case ast.Assign(
                targets=[ast.Attribute(attr=attribute)],
                value=ast.Call(
                    func=ast.Attribute(value=read, attr="get"),
                    args=[ast.Constant(value=str() as key), *_],
                ),
            ) if is_parameters_dict(read, one):
                keys_by_attribute[attribute] = key
            case _:
                pass
    for one in ast.walk(definition):
        match one:
            case ast.Subscript(value=read, slice=ast.Constant(value=str() as key), ctx=ast.Load()):
                if is_parameters_dict(read, one) and key not in asked:
                    yield key
            case ast.If(
                test=ast.UnaryOp(op=ast.Not(), operand=ast.Attribute(attr=attribute)),
                body=[*_, ast.Return() | ast.Raise()],
            ) if attribute in keys_by_attribute:
                yield keys_by_attribute[attribute]
            case _:
                pass


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
