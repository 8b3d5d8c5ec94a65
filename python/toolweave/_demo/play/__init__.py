"""The implementation of `toolweave play`.

`recordings` holds replies of real models, delta by delta; `endpoint` is a client of a live one.
`player` runs an agent on either, with the tools of `tools`. `printer` formats the events as lines,
`held_text` tracks the text that the parser holds back, and `screens` and `colours` show both. The
playground plays the same recordings on a page.

    $ toolweave play --only repairs
    $ toolweave play --model http://127.0.0.1:8080/v1 --prompt "What is the weather in Oslo?"
"""

from __future__ import annotations
