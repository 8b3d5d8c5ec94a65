"""Cost of a proxy between clients and an upstream: `toolweave-serve` beside LiteLLM's.

    python benches/run.py --only serve

`endpoint.provider` replays the upstream's replies. Each proxy is a process of its own with one
worker (`servers`); this process reads the streams (`streams`) and takes the measurements (`costs`).
"""
