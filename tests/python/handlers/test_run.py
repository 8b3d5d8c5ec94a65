"""`run_handler`: the choice of the handler, its arguments, and the fallback."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import logging
import threading
import weakref
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from handler_registries import ASKED, DETAILS, SEARCH, Details, Registry, Selected
from toolweave import ToolContext, tool
from toolweave._core import ToolEntry
from toolweave.exceptions import HandlerError, ToolFailed, ValidationError
from toolweave.handlers import HandlerRun, run_handler
from toolweave.handlers._run import run_with_timeout

APPLICATION = object()
WAIT = 10.0


def run(registry: Registry, entry: Any = DETAILS, parameters: Any = None, **options: Any) -> Any:
    if parameters is None and isinstance(entry, ToolEntry):
        parameters = ASKED
    handler = options.pop("handler", APPLICATION)
    return asyncio.run(run_handler(registry, entry, parameters, handler, **options))


def value(handler: object, parameters: Any = None) -> Any:
    """Return the value of a handler that is registered for the tool `details`."""
    return run(Registry({"details": handler}), parameters=parameters, fallback=None).value


# Styles of handlers


def test_a_class_is_constructed_with_parameters_and_handler_and_run_with_do() -> None:
    done: HandlerRun = run(Registry({"details": Details}))
    assert done.value == (ASKED, APPLICATION)
    assert done.tool is DETAILS
    assert (done.fell_back, done.error) == (False, None)
    assert done.duration >= 0


class Blocking(Details):
    def do(self) -> Any:  # type: ignore[override]
        return threading.current_thread(), VARIABLE.get()


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="")


def test_a_do_that_blocks_runs_in_a_thread_with_the_context_variables() -> None:
    token = VARIABLE.set("set")
    try:
        thread, seen = value(Blocking)
    finally:
        VARIABLE.reset(token)
    assert thread is not threading.main_thread()
    assert seen == "set"


async def by_name(item_name: str, limit: int = 1, *, handler: object) -> Any:
    return item_name, limit, handler


async def whole(params: dict[str, Any], handler: object) -> Any:
    return params, handler


def other_names(p: dict[str, Any], h: object) -> Any:
    return p, h


def positional(item_name: str, handler: object, /) -> Any:
    return item_name, handler


def two_parameters(item_name: str, limit: int) -> Any:
    return item_name, limit


def any_names(**parameters: Any) -> Any:
    return parameters


def rest(item_name: str, *args: Any, **others: Any) -> Any:
    return item_name, args, others


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (by_name, ("Pad Thai", 3, APPLICATION)),
        (whole, (ASKED, APPLICATION)),
        (other_names, (ASKED, APPLICATION)),
        (positional, ("Pad Thai", APPLICATION)),
        (two_parameters, ("Pad Thai", 3)),
        (any_names, ASKED),
        (rest, ("Pad Thai", (), {"limit": 3})),
        (lambda: "nothing", "nothing"),
        (lambda params: params, ASKED),
        (functools.partial(by_name, limit=7), ("Pad Thai", 3, APPLICATION)),
        (lambda item_name: by_name(item_name, handler=1), ("Pad Thai", 1, 1)),
    ],
)
def test_a_function_gets_the_arguments_it_names(function: Any, expected: Any) -> None:
    assert value(function) == expected


def test_parameters_outside_the_structure_are_dropped() -> None:
    made_up = {**ASKED, "justification": "so"}
    assert value(two_parameters, made_up) == ("Pad Thai", 3)
    assert value(any_names, made_up) == ASKED
    entry = ToolEntry("details")
    assert run(Registry({"details": any_names}), entry, made_up).value == made_up
    assert run(Registry({"details": lambda limit: limit}), entry, made_up).value == 3


def test_a_parameter_named_handler_takes_precedence() -> None:
    entry = ToolEntry("details", return_struc={"score": "integer", "handler": "whose"})
    registry = Registry({"details": lambda handler: handler})
    assert run(registry, entry, {"handler": "mine"}).value == "mine"
    registry = Registry({"details": lambda handler="nobody's": handler})
    assert run(registry, entry, {}).value == "nobody's"


def test_a_function_with_a_missing_argument_is_an_error() -> None:
    with pytest.raises(HandlerError, match="needs 'colour', which the model has not given"):
        value(lambda item_name, limit, colour: (item_name, limit, colour))


@tool
def add_context(item_name: str, limit: int, context: ToolContext) -> Any:
    assert dict(context.metadata) == {"handler": context.metadata["handler"]}
    return item_name, limit, context.metadata["handler"] is APPLICATION


@tool
async def fails(item_name: str, limit: int) -> None:
    raise ToolFailed(f"no {item_name} under {limit}")


def test_a_tool_finds_the_handler_in_its_context() -> None:
    assert value(add_context) == ("Pad Thai", 3, True)


def test_a_tool_that_fails_raises_the_text_of_its_result() -> None:
    with pytest.raises(ToolFailed, match="no Pad Thai under 3"):
        value(fails)


def test_the_limits_of_a_tool_apply_across_runs() -> None:
    runs = 0

    @tool(cache=True)
    def counted(item_name: str, limit: int) -> int:  # noqa: ARG001 - as the structure has them
        nonlocal runs
        runs += 1
        return runs

    async def twice() -> list[Any]:
        registry = Registry({"details": counted})
        return [(await run_handler(registry, DETAILS, ASKED)).value for _ in range(2)]

    assert asyncio.run(twice()) == [1, 1]


def test_one_registry_serves_several_loops_and_is_garbage_collected() -> None:
    registry = Registry({"details": add_context})
    assert [run(registry).value[0] for _ in range(2)] == ["Pad Thai"] * 2
    gone = weakref.ref(registry)
    del registry
    gc.collect()
    assert gone() is None


async def generator(item_name: str) -> AsyncGenerator[str]:
    yield item_name


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (type("Done", (), {"__init__": lambda *_: None}), "the class Done, has no method do()"),
        (17, "must be a class with a method do(), a function or a Tool, got int"),
        (generator, "an async generator; decorate it with @tool"),
    ],
)
def test_an_invalid_handler_is_an_error(handler: object, message: str) -> None:
    with pytest.raises(HandlerError) as raised:
        value(handler)
    assert message in str(raised.value)


# Choice of the handler


def test_a_registered_handler_takes_precedence_over_a_dotted_path() -> None:
    entry = ToolEntry("details", handler="nowhere.at.all.Details")
    assert run(Registry({"details": Details}), entry, {}).value == ({}, APPLICATION)


def test_a_dotted_path_is_imported_if_it_is_allowed() -> None:
    entry = ToolEntry("details", handler="handler_registries.Details")
    done = run(Registry(), entry, {"a": 1}, allowed_handlers=["handler_registries"])
    assert done.value == ({"a": 1}, APPLICATION)
    with pytest.raises(HandlerError, match="no handlers are allowed"):
        run(Registry(), entry, {}, fallback=None)


@pytest.mark.parametrize("method", ["", "builtin", "code", "extension"])
def test_the_error_of_a_tool_without_a_handler_explains_how_to_register_one(method: str) -> None:
    entry = ToolEntry("compare", type="Restaurant", method=method)
    with pytest.raises(HandlerError, match=r"@registry.handler\('compare', type='Restaurant'\)"):
        run(Registry(), entry, {})


# Parameters


def test_parameters_are_repaired_before_the_handler_gets_them() -> None:
    parameters = {"item_name": "Pad Thai", "limit": "3"}
    assert value(Details, parameters) == (ASKED, APPLICATION)
    assert parameters["limit"] == "3"


def test_parameters_that_cannot_be_repaired_are_an_error() -> None:
    started: list[ToolEntry] = []
    with pytest.raises(ValidationError, match=r"do not fit tool 'details'.*limit") as raised:
        run(
            Registry({"details": Details}),
            parameters={"limit": "many"},
            on_start=started.append,
            fallback=None,
        )
    assert started == []
    assert [violation.path for violation in raised.value.violations] == ["/limit"]


def test_the_parameters_of_a_selection_are_the_default() -> None:
    selection = Selected(DETAILS, ASKED)
    assert run(Registry({"details": Details}), selection).value == (ASKED, APPLICATION)
    other = {**ASKED, "limit": 4}
    assert run(Registry({"details": Details}), selection, other).value == (other, APPLICATION)


def test_a_selection_without_a_tool_is_an_error() -> None:
    with pytest.raises(LookupError, match="the selection has no tool"):
        run(Registry(), Selected(None, {}))


# Fallback


class Application:
    """State of an NLWeb handler between retrieval and the answer."""

    def __init__(self) -> None:
        self.retrieved = ["soup", "salad"]

    def forget(self, entry: ToolEntry) -> None:
        if entry.name != "search":
            self.retrieved.clear()


class Broken(Details):
    def __init__(self, *_: Any) -> None:
        raise KeyError("item_url")


UNSTARTABLE: list[tuple[ToolEntry, dict[str, object], type[Exception]]] = [
    (ToolEntry("details", handler="handler_registries.Gone"), {}, HandlerError),
    (ToolEntry("details", handler="elsewhere.Details"), {}, HandlerError),
    (ToolEntry("details"), {}, HandlerError),
    (ToolEntry("details"), {"details": Broken}, KeyError),
    (DETAILS, {"details": Details}, ValidationError),
    (ToolEntry("details", method="url", path="http://127.0.0.1:9/ask"), {}, HandlerError),
]


@pytest.mark.parametrize(("entry", "handlers", "error"), UNSTARTABLE)
def test_a_tool_that_cannot_start_is_replaced_by_the_fallback_before_application_code_runs(
    entry: ToolEntry, handlers: dict[str, object], error: type[Exception]
) -> None:
    application = Application()
    search = lambda params, handler: (params, list(handler.retrieved))  # noqa: E731
    done: HandlerRun = run(
        Registry({"search": search, **handlers}),
        entry,
        {"limit": "many"},
        handler=application,
        allowed_handlers=["handler_registries"],
        fallback_parameters={"query": "soup"},
        on_start=application.forget,
    )
    assert done.value == ({"query": "soup"}, ["soup", "salad"])
    assert done.tool is SEARCH
    assert done.fell_back
    assert type(done.error) is error


def test_on_start_is_called_just_before_the_handler() -> None:
    application = Application()

    class Emptied(Details):
        def __init__(self, params: dict[str, Any], handler: Application) -> None:
            assert handler.retrieved
            super().__init__(params, handler)

        async def do(self) -> Any:
            return application.retrieved

    done = run(Registry({"details": Emptied}), handler=application, on_start=application.forget)
    assert done.value == []


def test_an_exception_of_a_handler_is_raised_without_a_fallback() -> None:
    raised = OSError("no such disk")

    async def handler() -> None:
        raise raised

    def search() -> None:
        pytest.fail("the tool had started")

    with pytest.raises(OSError, match="no such disk") as caught:
        run(Registry({"details": handler, "search": search}))
    assert caught.value is raised


def test_a_fallback_that_cannot_start_either_is_an_error() -> None:
    with pytest.raises(HandlerError, match="tool 'details' of type 'Recipe'") as raised:
        run(Registry())
    assert "tool 'search' of type 'Thing'" in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("structure", "name"),
    [({"search_query": "what to search for"}, "search_query"), ({}, "query"), (None, "query")],
)
def test_the_fallback_of_a_selection_is_that_of_its_type_and_gets_the_query(
    structure: Any, name: str
) -> None:
    search = ToolEntry("search", return_struc=structure)
    registry = Registry({"search": lambda params: params}, [search])
    selection = Selected(DETAILS, ASKED, "a soup", "HowTo", "kitchen")
    assert run(registry, selection).value == {name: "a soup"}
    assert registry.asked_for == [("HowTo", "kitchen")]


def test_a_selected_fallback_is_not_tried_again() -> None:
    tried: list[object] = []

    class Unbuilt(Details):
        def __init__(self, *given: Any) -> None:
            tried.append(given)
            raise KeyError("index")

    with pytest.raises(KeyError):
        run(Registry({"search": Unbuilt}), SEARCH, {})
    assert len(tried) == 1


def test_the_fallback_can_be_another_one_or_none() -> None:
    registry = Registry({"other": lambda: "other"}, [SEARCH, ToolEntry("other")])
    assert run(registry, fallback="other").value == "other"
    assert run(registry, fallback=ToolEntry("other")).value == "other"
    with pytest.raises(HandlerError):
        run(registry, fallback=None)
    with pytest.raises(HandlerError):
        run(registry, fallback="gone")
    with pytest.raises(HandlerError):
        run(Registry(), SEARCH, {})


@pytest.mark.parametrize("option", ["allowed_handlers", "allowed_hosts"])
def test_a_single_string_of_prefixes_or_hosts_is_an_error_without_fallback(option: str) -> None:
    with pytest.raises(TypeError, match="must be a list"):
        run(Registry({"details": Details, "search": Details}), **{option: "handler_registries"})


def test_a_fallback_is_recorded_in_the_result(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolweave.handlers"):
        run(Registry({"search": lambda: None}))
    logged = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert logged == [("WARNING", "a tool cannot start"), ("INFO", "a tool ran")]
    assert vars(caplog.records[1])["fell_back"] is True
    assert "Pad Thai" not in caplog.text


# Timeouts and cancellation


def test_a_handler_that_times_out_is_stopped() -> None:
    stopped: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("slow")

    with pytest.raises(TimeoutError, match=r"'details' did not finish within 0\.01 seconds"):
        run(Registry({"details": slow}), timeout=0.01)
    assert stopped == ["slow"]


def test_a_thread_that_times_out_is_abandoned() -> None:
    released = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            run(Registry({"details": lambda: released.wait(WAIT)}), timeout=0.01)
    finally:
        released.set()


def test_cancelling_reaches_an_async_handler_and_waits_for_it() -> None:
    stages: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def handler() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
                stages.append("cleaned up")
                raise

        registry = Registry({"details": handler})
        task = asyncio.create_task(run_handler(registry, DETAILS, ASKED))
        await asyncio.wait_for(begun.wait(), WAIT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), WAIT)
        stages.append("cancelled")

    asyncio.run(main())
    assert stages == ["cleaned up", "cancelled"]


def test_a_handler_that_cancels_itself_does_not_cancel_its_caller() -> None:
    async def handler() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="'details' cancelled itself"):
        run(Registry({"details": handler}))


def test_a_handler_that_does_not_end_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        end = asyncio.Event()

        async def stubborn() -> None:
            while not end.is_set():
                try:
                    await end.wait()
                except asyncio.CancelledError:
                    continue
            raise OSError("nobody hears this")

        with pytest.raises(TimeoutError):
            await run_with_timeout(0.01, stubborn(), "details", grace=0.01)
        end.set()
        others = asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]
        await asyncio.wait(others, timeout=WAIT)

    asyncio.run(main())
    [record] = [each for each in caplog.records if each.name == "toolweave.handlers"]
    assert record.getMessage() == "a handler does not end though it was cancelled"
