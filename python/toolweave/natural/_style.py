"""Form of requests with tools in the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._checks import check_choice, check_flag, check_text
from .._core import Dialect, render_contracts
from ._dialects import NATURAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import FunctionContract
    from ..profiles import Profile

REMINDER = (
    "(If a function above can do this, call it now, once for each thing that is asked. If none "
    "fits, just answer.)"
)
"""Reminder after the text of the user, for models that have forgotten the tools by then."""

Tag: TypeAlias = Literal["name", "tool_call"]
"""Form of calls: ``<Name>`` or ``<tool_call name="Name">``."""

PromptStyle: TypeAlias = Literal["compact", "full"]
"""Layout of the tools in a prompt; see `render_contracts`."""

HistoryForm: TypeAlias = Literal["turn", "single", "split"]
"""Position of results in a history; see `consolidate`."""


@dataclass(frozen=True)
class Style:
    """Form of requests with tools in the prompt."""

    dialect: Dialect = NATURAL
    """Dialect of tools, calls and results."""
    layout: PromptStyle = "compact"
    """Layout of the tools in the dialect ``natural``."""
    tag: Tag = "name"
    """Form of calls in the dialect ``natural``."""
    fenced: bool = False
    """True if arguments in the dialect ``natural`` are in a Markdown fence."""
    form: HistoryForm = "turn"
    """Position of results in the history; see `consolidate`."""
    stop: bool = True
    """True if a stop sequence prevents fabricated results."""
    reminder: str | None = None
    """Line after the text of the user, in requests that answer it."""

    @property
    def stop_sequence(self) -> str | None:
        """Sequence that prevents fabricated results, if the dialect has one."""
        return self.dialect.stop_sequence if self.stop else None

    def describe(self, contracts: Sequence[FunctionContract]) -> str:
        """Describe tools as in the system prompt."""
        return render_contracts(
            contracts,
            style=self.layout,
            tag=self.tag,
            fenced=self.fenced,
            dialect=self.dialect,
        )


def resolve_style(
    profile: Profile | None,
    *,
    layout: PromptStyle | None,
    tag: Tag | None,
    fenced: bool | None,
    form: HistoryForm,
    stop: bool | None,
    reminder: bool | str | None,
) -> Style:
    """Return the form of requests: the given options, those of the profile, or the default.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: An option has an invalid value.
    """
    if profile is not None:
        layout = profile.style if layout is None else layout
        tag = profile.tag if tag is None else tag
        fenced = profile.fenced if fenced is None else fenced
        stop = profile.stop if stop is None else stop
        reminder = profile.reminder if reminder is None else reminder
    default = Style()
    style = Style(
        layout=default.layout if layout is None else layout,
        tag=default.tag if tag is None else tag,
        fenced=default.fenced if fenced is None else fenced,
        form=form,
        stop=default.stop if stop is None else stop,
        reminder=reminder_text(reminder),
    )
    check_choice("style", style.layout, ("compact", "full"))
    check_choice("tag", style.tag, ("name", "tool_call"))
    check_choice("form", form, ("turn", "single", "split"))
    check_flag("fenced", style.fenced)
    check_flag("stop", style.stop)
    return style


def reminder_text(reminder: bool | str | None) -> str | None:
    """Return the text of the option `reminder`.

    Raises:
        TypeError: The option has the wrong type.
    """
    if reminder is None or isinstance(reminder, bool):
        return REMINDER if reminder else None
    check_text("reminder", reminder)
    return reminder or None
