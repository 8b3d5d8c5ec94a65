"""The playground: a page on which calls can be watched as they are written, run and answered.

`toolweave demo` serves it. Without a model it knows the prompts of `scenarios` by heart, most of
them with `recorded` replies of real models; `responder` plays these, or asks a live model, with the
`tools` of the playground. `headless` is the same without a browser: one conversation over HTTP,
checked against what was stored.

    $ toolweave demo
    $ toolweave demo --model http://127.0.0.1:8080/v1 --model-name qwen --tools tools.xml
"""

from __future__ import annotations
