"""The playground: a page that shows calls as they are written, executed and answered.

`toolweave demo` serves it. Without a model it replays the `scenarios`, most of them replies of real
models. `responder` answers with these or with a live model, and with the playground's `tools`.
`headless` runs without a browser: one conversation over HTTP, checked against the store.

    $ toolweave demo
    $ toolweave demo --model http://127.0.0.1:8080/v1 --model-name qwen --tools tools.xml
"""

from __future__ import annotations
