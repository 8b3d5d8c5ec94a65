"""Models whose replies are recorded once for each test, and replayed afterwards."""

from __future__ import annotations

import hashlib
import inspect
import re
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

from .._checks import check_callable, check_text
from .._core import FinishUpdate
from ..exceptions import ModelError
from ..models import as_model, closing
from ..models._identity import ModelIdentity, identify
from ..models.recording import RecordedReply
from ._recording_file import RecordedExchange, load, save
from ._requests import RecordedRequest
from ._values import shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import ChatModel, Model, ModelOptions
    from ._requests import Normalize

Mode: TypeAlias = Literal["none", "once", "rewrite"]


class RecordedModelFixture(Protocol):
    """The type of the pytest fixture `recorded_model`."""

    def __call__(
        self,
        model: Model | Callable[[], Model],
        *,
        name: str | None = None,
        normalize: Normalize | None = None,
    ) -> ChatModel:
        """Wrap a model so that its replies are recorded once and replayed.

        Args:
            model: The model, or a function without arguments that creates it; it is only called to
                record, so replaying needs neither a key nor a client library.
            name: Label of the model in the recordings, for tests with several models of one name;
                defaults to the name of the model.
            normalize: Function that is applied to each text of a request before it is recorded and
                compared, to replace what differs from run to run, such as a date.

        Returns:
            The model to use in the test, with the name, the provider and the native tools of the
            recorded one.
        """
        ...


class RecordingSession:
    """The recordings of one attempt at a test.

    Args:
        path: File of the recordings.
        test: Id of the test.
        mode: ``none`` to replay, ``once`` to record if there is no file, ``rewrite`` to record.
    """

    def __init__(self, path: Path, test: str, mode: Mode) -> None:
        self._path = path
        self._test = test
        self._is_recording = mode == "rewrite" or (mode == "once" and not path.exists())
        self._lock = threading.Lock()
        self._recorded: list[RecordedExchange | None] = []
        self._replayed: set[int] = set()
        self._by_key: dict[str, deque[int]] = {}
        self.failures: list[str] = []
        """Requests without a recording, as messages."""
        if not self._is_recording and path.exists():
            self._load()

    @classmethod
    def of_test(cls, module: Path, test: str, mode: Mode) -> RecordingSession:
        """Open the recordings of a test.

        Args:
            module: Path of the module of the test.
            test: Id of the test, as pytest shows it.
            mode: The mode.
        """
        name = f"{_file_name(test.partition('::')[2])}.jsonl"
        return cls(module.parent / "recordings" / module.stem / name, test, mode)

    def _load(self) -> None:
        try:
            self._recorded = list(load(self._path))
        except ValueError as err:
            raise AssertionError(f"{err}\n{self._advice('rewrite')}") from err
        for at, recording in enumerate(self._recorded):
            if recording is not None:
                self._by_key.setdefault(recording.request.key, deque()).append(at)

    def record(
        self,
        model: Model | Callable[[], Model],
        *,
        name: str | None = None,
        normalize: Normalize | None = None,
    ) -> ChatModel:
        """Return a model that records or replays the replies of another; see the protocol."""
        check_text("name", name, none=True, empty=False)
        check_callable("normalize", normalize, "a function of a text", "text", none=True)
        real: ChatModel | None = None
        if not _is_factory(model):
            real = as_model(cast("Model", model))
        elif self._is_recording:
            real = as_model(cast("Callable[[], Model]", model)())
        identity = self._identity(name) if real is None else identify(real)
        return _RecordedModel(self, real, identity, name or identity.name, normalize)

    def _identity(self, label: str | None) -> ModelIdentity:
        """Return the identity of a recorded model that is not created to be replayed."""
        known = {each.request.model: each.identity for each in self._recorded if each is not None}
        if label is None and len(known) > 1:
            labels = ", ".join(map(shown, known))
            raise ValueError(
                f"name must be given for a model that is created by a function in a test with "
                f"several models ({labels})"
            )
        if label is None and known:
            return next(iter(known.values()))
        return known.get(label or "", ModelIdentity(label or "unknown"))

    @property
    def is_recording(self) -> bool:
        """True if requests are sent to the model."""
        return self._is_recording

    def reserve(self) -> int:
        """Return the position of the next request, so that the file has the order of requests."""
        with self._lock:
            self._recorded.append(None)
            return len(self._recorded) - 1

    def add(self, at: int, recording: RecordedExchange) -> None:
        """Record a reply at the position of its request."""
        self._recorded[at] = recording

    def take(self, request: RecordedRequest) -> RecordedExchange:
        """Return the first recording of a request that has not been replayed.

        Requests are found by content, so that concurrent ones may come in any order.

        Raises:
            AssertionError: There is none.
        """
        with self._lock:
            waiting = self._by_key.get(request.key)
            if waiting:
                at = waiting.popleft()
                self._replayed.add(at)
                return cast("RecordedExchange", self._recorded[at])
            text = self._no_recording(request, seen=waiting is not None)
            self.failures.append(text)
        raise AssertionError(text)

    def fail(self, text: str) -> AssertionError:
        """Return the error of a replay that differs from its recording, and remember it."""
        text = f"{text}\n{self._advice('rewrite')}"
        self.failures.append(text)
        return AssertionError(text)

    def _unused(self) -> list[RecordedExchange]:
        return [
            each
            for at, each in enumerate(self._recorded)
            if each is not None and at not in self._replayed
        ]

    def _no_recording(self, request: RecordedRequest, *, seen: bool) -> str:
        if not self._recorded:
            return f"{self._path} has no recording of this test.\n{self._advice('once')}"
        if seen:
            return (
                "the test sends a request more often than when it was recorded; the last message "
                f"is {shown(request.messages[-1:])}.\n{self._advice('rewrite')}"
            )
        models = sorted({each.request.model for each in self._recorded if each is not None})
        if request.model not in models:
            return (
                f"{self._path} has no recordings of the model {request.model!r}, only of "
                f"{', '.join(map(repr, models))}.\n{self._advice('rewrite')}"
            )
        left = [each.request for each in self._unused() if each.request.model == request.model]
        if not left:
            return (
                f"the test sends more requests than the {len(self._replayed)} that were recorded; "
                f"the last message is {shown(request.messages[-1:])}.\n{self._advice('rewrite')}"
            )
        nearest = max(left, key=request.similarity)
        return (
            f"a request differs from the recorded ones in {self._path}. Compared with the nearest "
            f"that was not replayed:\n{request.diff(nearest)}\n{self._advice('rewrite')}"
        )

    def finish(self) -> None:
        """Save what was recorded, or check that all recordings were replayed.

        Raises:
            AssertionError: A request had no recording, even if the test has caught that error; or
                a recording was not replayed.
        """
        if self._is_recording:
            try:
                save(self._path, self._test, [each for each in self._recorded if each is not None])
            except ValueError as err:
                raise AssertionError(str(err)) from err
            return
        if self.failures:
            raise AssertionError("\n\n".join(self.failures))
        if unused := self._unused():
            lines = [
                f"  {each.request.model}: {shown(each.request.messages[-1:])}" for each in unused
            ]
            if len(lines) > 5:
                lines[5:] = [f"  ... and {len(lines) - 5} more"]
            raise AssertionError(
                f"{len(unused)} of {len(self._recorded)} recorded replies in {self._path} were not "
                "replayed; their requests end with:\n"
                + "\n".join([*lines, self._advice("rewrite")])
            )

    def _advice(self, mode: Mode) -> str:
        return (
            "If the change is intended, record the test again, which sends requests to the model:\n"
            if mode == "rewrite"
            else "Record it, which sends requests to the model:\n"
        ) + f"  pytest {_quoted(self._test)} --toolweave-record={mode}"


class _RecordedModel:
    """A model that records the replies of another model, or replays them."""

    def __init__(
        self,
        session: RecordingSession,
        model: ChatModel | None,
        identity: ModelIdentity,
        label: str,
        normalize: Normalize | None,
    ) -> None:
        self._session = session
        self._model = model
        self._identity = identity
        self._label = label
        self._normalize = normalize
        self.name = identity.name
        self.provider = identity.provider
        self.native_tools = identity.native_tools

    def __repr__(self) -> str:
        return f"recorded_model({self.name})"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        request = RecordedRequest.of(self._label, messages, tools, options, self._normalize)
        if self._session.is_recording and self._model is not None:
            updates = self._record(request, self._model, messages, tools, options)
        else:
            updates = self._replay(self._session.take(request))
        async with closing(updates):
            async for update in updates:
                yield update

    async def _record(
        self,
        request: RecordedRequest,
        model: ChatModel,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
    ) -> AsyncIterator[Update]:
        at = self._session.reserve()
        updates: list[Update] = []
        error: ModelError | None = None
        try:
            answer = model.stream(messages, tools=tools, options=options)
            async with closing(answer):
                async for update in answer:
                    updates.append(update)
                    yield update
        except ModelError as err:
            error = err
            raise
        finally:
            ended = error is not None or any(isinstance(each, FinishUpdate) for each in updates)
            reply = RecordedReply((), tuple(updates), (), self.name, error)
            self._session.add(at, RecordedExchange(request, reply, self._identity, ended))

    async def _replay(self, recording: RecordedExchange) -> AsyncIterator[Update]:
        reply = recording.reply
        for update in reply.updates:
            if isinstance(update, FinishUpdate) and not recording.read_to_end:
                raise self._session.fail(
                    "the test reads a reply to its end that was recorded only as far as it was read"
                )
            yield update
        if reply.error is not None:
            error = reply.error
            raise ModelError(
                str(error), error.provider, error.status, error.retry_after, error.transient
            )


def _is_factory(model: object) -> bool:
    """Return True for a function that can be called without arguments, which no model is."""
    if not callable(model) or callable(getattr(model, "stream", None)):
        return False
    try:
        inspect.signature(model).bind()
    except (TypeError, ValueError):
        return False
    return True


def _file_name(test: str) -> str:
    """Return a file name for a test that no other test of its module has, on any file system."""
    name, bracket, parameters = test.partition("[")
    written = f"{name.replace('::', '.')}{bracket}{parameters}"
    readable = re.sub(r"[^\w.,=\[\]-]", "-", written)
    if readable == written and parameters == parameters.lower() and len(written) <= 100:
        return written
    digest = hashlib.sha256(test.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{readable[:90]}-{digest}"


def _quoted(test: str) -> str:
    return test if re.fullmatch(r"[\w./:-]+", test) else "'" + test.replace("'", "'\\''") + "'"
