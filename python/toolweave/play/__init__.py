"""What `toolweave play` plays, and how.

`recordings` holds replies of real models, delta by delta; `endpoint` asks a live
one. `player` gives either to an agent with the tools of `tools`. `printer` makes
lines of what happens, with what is `held` back at each moment, and `screens` and
`colours` show them. The playground plays the same recordings on a page.

    $ toolweave play --only repairs
    $ toolweave play --model http://127.0.0.1:8080/v1 --prompt "What is the weather in Oslo?"
"""

from __future__ import annotations
