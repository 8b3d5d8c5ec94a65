"""The page in front of the chats, served from built files."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from .._checks import check_items, check_mapping, check_number, check_text, check_type, wrong_value
from ._security import PAGE_POLICY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

_BUILT = Path(__file__).parent / "page"


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A message that the page suggests to the user."""

    label: str
    """Label of the button."""
    text: str
    """Text of the message."""

    def __post_init__(self) -> None:
        check_text("label", self.label)
        check_text("text", self.text)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page with its settings.

    Raises:
        ValueError: The directory has no `index.html`.
    """

    title: str = "toolweave"
    """Title above the page."""
    headline: str = "Ask, and watch the tools at work"
    """Heading of the front page, above the suggestions."""
    suggestions: Sequence[Suggestion] = ()
    """Messages that the front page suggests."""
    pending_timeout: float = 60.0
    """Time without events after which a call is shown as timed out, in seconds."""
    extra_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Additional settings that the page reads: JSON values."""
    directory: Path = _BUILT
    """Directory of the built files, with `index.html` and `assets/`; by default the playground of
    this package."""

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            TypeError: One of them is of the wrong type.
            ValueError: The directory has no `index.html`.
        """
        check_text("title", self.title)
        check_text("headline", self.headline)
        check_items("suggestions", self.suggestions, Suggestion, "a sequence of Suggestions")
        check_number("pending_timeout", self.pending_timeout, above=0)
        check_mapping("extra_settings", self.extra_settings)
        check_type("directory", self.directory, (str, PathLike), "a path")
        object.__setattr__(self, "directory", Path(self.directory))
        if not (self.directory / "index.html").is_file():
            raise wrong_value("directory", "a folder with an index.html", str(self.directory))

    def routes(self) -> list[BaseRoute]:
        """Return the routes that serve the page."""
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
                **self.extra_settings,
                "title": self.title,
                "headline": self.headline,
                "suggestions": [
                    {"label": each.label, "text": each.text} for each in self.suggestions
                ],
                "pendingTimeout": round(self.pending_timeout * 1000),
            }
        )


class _Assets(StaticFiles):
    """Static files whose names change with their content, so that clients can cache them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code == 200:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
