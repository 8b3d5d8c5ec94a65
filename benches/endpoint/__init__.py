"""Streams of OpenAI-style replies over loopback: one server for all clients, each in a process.

    python benches/run.py --only endpoint   # what a token costs, and how long the loop stands still
    python benches/run.py --only scoring    # a selection that asks a model about each tool
    python benches/run.py --only path       # from a call's closing brace to its function

`provider` is the server, `wire` what it sends, `readers` the contestants, `client` the process that
each of them runs in; `streams`, `scoring` and `path` run them and make the tables.
"""
