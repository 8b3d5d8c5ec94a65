"""The code of handlers: whether their dotted paths resolve, and which parameters they require.

A path that is not allowed is searched for in files: the source of its module is parsed for the
name, and nothing is imported. A path that is allowed is imported as it would be to run it.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
import warnings
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..exceptions import HandlerError
from ..tools._function import is_tool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


INJECTED_PARAMETERS = frozenset({"handler", "params"})
"""Parameters of a function that the application injects; see `toolweave.handlers`."""

HandlerDefinition: TypeAlias = "ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef"


def is_allowed(path: str, allowed: Collection[str]) -> bool:
    """Return True if a dotted path is one of the allowed prefixes, or below one."""
    return any(path == prefix or path.startswith(f"{prefix}.") for prefix in allowed)


def quoted(text: str) -> str:
    """Quote a name in a diagnostic as the core does."""
    return json.dumps(text, ensure_ascii=False)


class HandlerResolver:
    """Resolver of handlers by dotted path. The source of each module is parsed once.

    Args:
        allowed: Dotted prefixes that may be imported.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self._allowed = allowed
        self._texts: dict[str, Sequence[ast.stmt] | None] = {}

    def find_error(self, path: str) -> str | None:
        """Return the reason why a handler cannot be imported; None if no reason is known."""
        if is_allowed(path, self._allowed):
            from ..handlers import load_handler

            try:
                load_handler(path, self._allowed)
            except HandlerError as err:
                return str(err)
            return None
        parts = path.split(".")
        if len(parts) < 2 or not all(part.isidentifier() for part in parts):
            return f"{quoted(path)} is no dotted path such as package.module.Handler"
        spec, depth = _module_of(parts)
        if depth == 0:
            return f"there is no module {quoted(parts[0])}"
        module, name = ".".join(parts[:depth]), parts[depth]
        known = self._names(module, spec)
        if known is None or name in known:
            return None
        if depth < len(parts) - 1:
            return f"there is no module {quoted('.'.join(parts[: depth + 1]))}"
        return f"module {quoted(module)} has no {quoted(name)}"

    def definition_of(self, path: str) -> HandlerDefinition | None:
        """Return the definition of a handler in the source of its module, if it can be found."""
        parts = path.split(".")
        if len(parts) < 2 or not all(part.isidentifier() for part in parts):
            return None
        spec, depth = _module_of(parts)
        if spec is None or depth != len(parts) - 1:
            return None
        for statement in self._text(".".join(parts[:depth]), spec) or ():
            match statement:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                    pass
                case ast.AsyncFunctionDef(name=name):
                    pass
                case _:
                    continue
            # Decorators may replace the definition.
            if name == parts[-1] and not statement.decorator_list:
                return statement
        return None

    def _names(self, module: str, spec: ModuleSpec | None) -> set[str] | None:
        """Return the names that a module defines; None if unknown."""
        loaded = sys.modules.get(module)
        if loaded is not None:
            found = set(vars(loaded))
        elif spec is None:
            return None
        elif spec.origin is None and spec.submodule_search_locations is not None:
            # Namespace packages contain only modules.
            return set()
        else:
            text = self._text(module, spec)
            if text is None:
                return None
            found = set(_defined(text))
        return None if {"*", "__getattr__"} & found else found

    def _text(self, module: str, spec: ModuleSpec) -> Sequence[ast.stmt] | None:
        if module not in self._texts:
            self._texts[module] = _source(spec)
        return self._texts[module]


def _module_of(parts: Sequence[str]) -> tuple[ModuleSpec | None, int]:
    """Return the innermost module of a path, and the number of parts in its name."""
    spec = _top(parts[0])
    if spec is None and parts[0] not in sys.modules:
        return None, 0
    depth = 1
    # The last part is a name in a module, even if a module of that name exists.
    while depth < len(parts) - 1:
        inner = _inner(spec, parts[: depth + 1])
        if inner is None:
            break
        spec, depth = inner, depth + 1
    return spec, depth


def _top(name: str) -> ModuleSpec | None:
    try:
        # For a name without a dot this imports nothing.
        return find_spec(name)
    except ValueError:
        # The module is loaded but has no spec, such as `__main__` of a script.
        return None


def _inner(spec: ModuleSpec | None, parts: Sequence[str]) -> ModuleSpec | None:
    """Return the spec of the last of these modules, given that of its parent."""
    loaded = sys.modules.get(".".join(parts))
    if loaded is not None and loaded.__spec__ is not None:
        return loaded.__spec__
    places = None if spec is None else spec.submodule_search_locations
    if places is None:
        return None
    # `find_spec` would import the parent packages. A finder that is given their folders does not,
    # and needs only the last part of the name.
    return PathFinder.find_spec(parts[-1], list(places))


def _source(spec: ModuleSpec) -> Sequence[ast.stmt] | None:
    loader: Any = spec.loader
    try:
        source: object = loader.get_source(spec.name)
        if not isinstance(source, str):
            return None
        with warnings.catch_warnings():
            # Warnings of the compiler are not about the registry.
            warnings.simplefilter("ignore")
            return ast.parse(source).body
    except (
        AttributeError,
        ImportError,
        OSError,
        MemoryError,
        RecursionError,
        SyntaxError,
        ValueError,
    ):
        return None


def _defined(body: Sequence[ast.stmt]) -> Iterator[str]:
    # Not with `ast.walk`, which would descend into functions. A list instead of recursion, since
    # a text may be nested to any depth.
    left: list[ast.AST] = [*body]
    while left:
        match left.pop():
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    yield alias.asname or alias.name.partition(".")[0]
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Lambda():
                pass
            case node:
                left.extend(ast.iter_child_nodes(node))


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
