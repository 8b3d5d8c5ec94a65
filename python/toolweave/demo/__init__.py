"""What `toolweave demo` plays, and how.

`recordings` holds replies of real models, delta by delta; `endpoint` asks a live
one. `player` takes either through parser, tools and consolidation, and tells
`narrator`, line by line, what `screens` then show.
"""

from __future__ import annotations
