from typing import Any, Final, final

__all__ = [
    "Repair",
    "__version__",
]

__version__: Final[str]

@final
class Repair:
    """One change that made a call acceptable.

    Attributes:
        path: Where, as a JSON Pointer into the arguments; empty for the call as a whole.
        kind: What kind of change, such as ``trailing_comma`` or ``type``.
        before: What stood there.
        after: What stands there now.
    """

    __match_args__ = ("path", "kind", "before", "after")

    def __new__(cls, path: str, kind: str, before: Any, after: Any) -> Repair: ...
    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
