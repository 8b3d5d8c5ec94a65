"""The page in front of the chats, as built files."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from .._checks import (
    check_items,
    check_mapping,
    check_number,
    check_text,
    check_type,
    wrong_value,
)
from .security import PAGE_POLICY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

_BUILT = Path(__file__).parent / "page"


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Something to say that the page offers."""

    label: str
    """What the button says."""
    text: str
    """What is said."""

    def __post_init__(self) -> None:
        check_text("label", self.label)
        check_text("text", self.text)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page, and what it shows of this server.

    Raises:
        ValueError: The directory holds no `index.html`.
    """

    title: str = "toolweave"
    """What stands above it."""
    headline: str = "Ask, and watch the tools at work"
    """The heading of the front page, above what it suggests."""
    suggestions: Sequence[Suggestion] = ()
    """What it offers to say."""
    pending_timeout: float = 60.0
    """After how many seconds without a word a call shows as timed out."""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else the page reads: JSON values."""
    directory: Path = _BUILT
    """Where its files are: `index.html` and `assets/`; the playground of this package if not
    given."""

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            TypeError: One of them is of the wrong type.
            ValueError: The directory holds no `index.html`.
        """
        check_text("title", self.title)
        check_text("headline", self.headline)
        check_items("suggestions", self.suggestions, Suggestion, "a sequence of Suggestions")
        check_number("pending_timeout", self.pending_timeout, above=0)
        check_mapping("more", self.more)
        check_type("directory", self.directory, (str, PathLike), "a path")
        object.__setattr__(self, "directory", Path(self.directory))
        if not (self.directory / "index.html").is_file():
            raise wrong_value("directory", "a folder with an index.html", str(self.directory))

    def routes(self) -> list[BaseRoute]:
        """Where it is served."""
        return [
            Route("/", self._index, methods=["GET"]),
            Route("/playground.json", self._settings, methods=["GET"]),
            Mount("/assets", _Assets(directory=self.directory / "assets", check_dir=False)),
        ]

    async def _index(self, _: Request) -> Response:
        return FileResponse(
            self.directory / "index.html",
            headers={"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"},
        )

    async def _settings(self, _: Request) -> Response:
        return JSONResponse(
            {
                **self.more,
                "title": self.title,
                "headline": self.headline,
                "suggestions": [
                    {"label": each.label, "text": each.text} for each in self.suggestions
                ],
                "pendingTimeout": round(self.pending_timeout * 1000),
            }
        )


class _Assets(StaticFiles):
    """Files whose names change with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code == 200:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
