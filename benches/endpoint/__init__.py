"""Streams of OpenAI-style replies over loopback: one server, and a process for each client.

    python benches/run.py --only endpoint   # cost of a token, and stalls of the event loop
    python benches/run.py --only scoring    # a selection that asks a model about each tool
    python benches/run.py --only path       # from a call's closing brace to its function

`provider` is the server, `wire` its data, `readers` the contestants, and `client` the process that
each of them runs in. `streams`, `scoring` and `path` run them and build the tables.
"""
