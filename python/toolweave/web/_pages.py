"""The page in front of the chats, served from built files.

Example:
    >>> page = Page(title="Tea desk", headline="Ask about tea", suggestions=["What is Assam?"])
    >>> page.suggestions
    (Suggestion(label='What is Assam?', text='What is Assam?'),)
"""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, HTMLResponse, JSONResponse
from starlette.staticfiles import StaticFiles

from .._checks import check_items, check_mapping, check_number, check_text, check_type, wrong_value
from ._errors import HttpError
from ._security import PAGE_POLICY

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ._openapi import Handler

_BUILT = Path(__file__).parent / "page"
# What the built page says before its script has run, and what link previews show.
_BUILT_TITLE = "<title>toolweave</title>"
_BUILT_DESCRIPTION = 'content="Watch tool calls being written, run and answered."'

MAX_LINE_LENGTH = 200
"""Maximum length of a title, a headline, a label or a placeholder, in characters."""
MAX_TEXT_LENGTH = 4000
"""Maximum length of an introduction or of a suggested message, in characters."""
MAX_SUGGESTIONS = 24
"""Maximum number of suggestions."""
MAX_LINKS = 12
"""Maximum number of links."""
_LOGO_TYPES = (".svg", ".png", ".webp", ".jpg", ".jpeg", ".gif", ".avif")
_LINK = re.compile(r"(?:https?://|mailto:|/(?!/)|#)[^\s\\]*", re.IGNORECASE)


def _check_line(name: str, value: object, most: int, *, empty: bool = False) -> None:
    """Raise unless a value is a text of limited length that can be sent."""
    check_text(name, value, empty=empty)
    text = str(value)
    if len(text) > most:
        raise ValueError(f"{name} must have at most {most} characters, got {len(text)}")
    if not empty and not text.strip():
        raise wrong_value(name, "a string that is not empty", text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} must not contain a lone surrogate, got one at {error.start}"
        ) from None


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A message that the page suggests to the user.

    Raises:
        ValueError: A text is empty or too long.
    """

    label: str
    """Label of the button, with at most 200 characters."""
    text: str
    """Text of the message, with at most 4000 characters."""

    def __post_init__(self) -> None:
        _check_line("label", self.label, MAX_LINE_LENGTH)
        _check_line("text", self.text, MAX_TEXT_LENGTH)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page with its settings. All texts are shown as they are, never as markup.

    Raises:
        TypeError: A setting has the wrong type.
        ValueError: A text is empty or too long, a link is no URL, or a file is missing.
    """

    title: str = "toolweave"
    """Title above the page and in the window, with at most 200 characters."""
    headline: str | None = None
    """Heading of the front page, with at most 200 characters. None for the page's own, in the
    user's language."""
    intro: str | None = None
    """Text below the headline, with at most 4000 characters; empty for none. Empty lines separate
    paragraphs. None for the page's own, in the user's language."""
    suggestions: Sequence[Suggestion | str] = ()
    """Messages that the front page suggests, at most 24. A string is label and message in one."""
    placeholder: str | None = None
    """Text in the empty message box, with at most 200 characters. None for the page's own, in the
    user's language."""
    logo: Path | None = None
    """Image in front of the title, and icon of the window: an SVG, PNG, WebP, JPEG, GIF or AVIF
    file. None for the logo of toolweave."""
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    """Links below the front page, such as those to help and to a privacy policy: at most 12 URLs
    with ``https:``, ``http:`` or ``mailto:``, or paths of this server, by label."""
    pending_timeout: float = 60.0
    """Time without events after which a call is shown as timed out, in seconds."""
    extra_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Additional settings for a page of your own: JSON values."""
    directory: Path = _BUILT
    """Directory of the built files, with `index.html` and `assets/`; by default the page of this
    package."""

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            TypeError: A setting has the wrong type.
            ValueError: A setting is invalid.
        """
        _check_line("title", self.title, MAX_LINE_LENGTH)
        if self.headline is not None:
            _check_line("headline", self.headline, MAX_LINE_LENGTH)
        if self.intro is not None:
            _check_line("intro", self.intro, MAX_TEXT_LENGTH, empty=True)
        if self.placeholder is not None:
            _check_line("placeholder", self.placeholder, MAX_LINE_LENGTH, empty=True)
        object.__setattr__(self, "suggestions", _suggestions(self.suggestions))
        _check_links(self.links)
        if self.logo is not None:
            object.__setattr__(self, "logo", _logo(self.logo))
        check_number("pending_timeout", self.pending_timeout, above=0)
        check_mapping("extra_settings", self.extra_settings)
        check_type("directory", self.directory, (str, PathLike), "a path")
        object.__setattr__(self, "directory", Path(self.directory))
        if not (self.directory / "index.html").is_file():
            raise wrong_value("directory", "a folder with an index.html", str(self.directory))

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the operations of the page, by id."""
        assets = StaticFiles(directory=self.directory / "assets", check_dir=False)
        # The names of the built files change with their content. Others are only downloaded again
        # if their ETag has changed.
        is_built = self.directory == _BUILT
        caching = "public, max-age=31536000, immutable" if is_built else "no-cache"

        async def file(request: Request) -> Response:
            response = await assets.get_response(request.path_params["path"], request.scope)
            if response.status_code == 200:
                response.headers["Cache-Control"] = caching
            return response

        return {
            "page": self._index,
            "pageSettings": self._settings,
            "pageLogo": self._logo,
            "pageFile": file,
        }

    async def _index(self, _: Request) -> Response:
        # Read again each time: the page of an application may be built while the server is up.
        text = await asyncio.to_thread((self.directory / "index.html").read_text, "utf-8")
        text = text.replace(_BUILT_TITLE, f"<title>{html.escape(self.title)}</title>", 1)
        if self.headline is not None:
            description = f'content="{html.escape(self.headline)}"'
            text = text.replace(_BUILT_DESCRIPTION, description, 1)
        return HTMLResponse(
            text,
            headers={"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"},
        )

    async def _settings(self, _: Request) -> Response:
        texts = {
            "headline": self.headline,
            "intro": self.intro,
            "placeholder": self.placeholder,
        }
        return JSONResponse(
            {
                **self.extra_settings,
                "title": self.title,
                **{name: text for name, text in texts.items() if text is not None},
                "suggestions": [
                    {"label": each.label, "text": each.text}
                    for each in _suggestions(self.suggestions)
                ],
                "links": [{"label": label, "url": url} for label, url in self.links.items()],
                "hasLogo": self.logo is not None,
                "pendingTimeout": round(self.pending_timeout * 1000),
            }
        )

    async def _logo(self, _: Request) -> Response:
        if self.logo is None:
            raise HttpError(404, "not_found", "The page has no logo of its own.")
        return FileResponse(self.logo, headers={"Cache-Control": "no-cache"})


def _suggestions(given: Sequence[Suggestion | str]) -> tuple[Suggestion, ...]:
    wanted = "a sequence of Suggestions or strings"
    found: list[Suggestion] = []
    for index, each in enumerate(check_items("suggestions", given, (Suggestion, str), wanted)):
        if isinstance(each, str):
            _check_line(f"suggestions[{index}]", each, MAX_LINE_LENGTH)
            each = Suggestion(label=each, text=each)
        found.append(each)
    if len(found) > MAX_SUGGESTIONS:
        raise ValueError(f"suggestions must be at most {MAX_SUGGESTIONS}, got {len(found)}")
    return tuple(found)


def _check_links(links: Mapping[str, str]) -> None:
    check_mapping("links", links)
    if len(links) > MAX_LINKS:
        raise ValueError(f"links must be at most {MAX_LINKS}, got {len(links)}")
    for label, url in links.items():
        _check_line("a label of links", label, MAX_LINE_LENGTH)
        _check_line(f"links[{label!r}]", url, MAX_TEXT_LENGTH)
        if not _LINK.fullmatch(url):
            wanted = "a URL with https:, http: or mailto:, or a path of this server"
            raise wrong_value(f"links[{label!r}]", wanted, url)


def _logo(given: object) -> Path:
    check_type("logo", given, (str, PathLike), "a path", none=True)
    path = Path(str(given))
    if path.suffix.lower() not in _LOGO_TYPES or not path.is_file():
        raise wrong_value("logo", f"a file with the ending {', '.join(_LOGO_TYPES)}", str(path))
    return path
