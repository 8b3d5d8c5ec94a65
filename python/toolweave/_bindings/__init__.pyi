"""Stubs of the bindings, a file for each file of `src/python`. `_core.pyi` exports their names."""
