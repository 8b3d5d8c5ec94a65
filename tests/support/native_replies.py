"""Random native calls, cut into fragments as providers send them."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from parser_replies import objects, split_at
from toolweave import ToolCallUpdate as Update


@st.composite
def native_replies(draw: st.DrawFn) -> tuple[list[Update], list[tuple[str, str, str]]]:
    """Draw fragments as providers send them, with the id, name and argument text of each call."""
    fragments: list[Update] = []
    calls: list[tuple[str, str, str]] = []
    ids_everywhere = draw(st.booleans())
    indexed = draw(st.booleans())
    for index in range(draw(st.integers(1, 4))):
        id_, name = f"call-{index}", draw(st.sampled_from(["Any", "Émoji"]))
        text = json.dumps(draw(objects), ensure_ascii=draw(st.booleans()))
        first, *rest = split_at(text, draw(st.lists(st.integers(0, 99), max_size=5)))
        at = index if indexed else None
        if draw(st.booleans()):
            fragments.append(Update(id_, at, name, ""))
            fragments.append(Update(id_ if ids_everywhere else None, at, None, first))
        else:
            fragments.append(Update(id_, at, name, first))
        fragments += [Update(id_ if ids_everywhere else None, at, None, piece) for piece in rest]
        calls.append((id_, name, text))
    return fragments, calls
