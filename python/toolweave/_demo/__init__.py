"""The demo: recorded replies played in the terminal, and the playground in the browser.

Both need no model: `recordings` are replies of real models, delta by delta, and `scenarios` are
prompts with such replies, or with hand-written ones.

- `toolweave play` runs an agent with the tools of `toolbox` on the recordings. `player` runs it,
  `printer` formats its events as lines, `screens` and `colours` show these.
- `toolweave demo` serves the playground (`server`, `responder`, `tools`, `recipes`) or, without a
  browser, holds one conversation over HTTP and checks it against the store (`headless`).

`endpoint` has the live model that both can ask instead, and `record` records replies of one.
"""

from __future__ import annotations
