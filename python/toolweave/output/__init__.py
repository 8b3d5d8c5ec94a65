"""Typed results: the schema of an output type, and the reading of replies as its values.

Agents and scenes use this package for their `output_type`. On its own it reads any text:

    >>> from typing import Literal
    >>> schema = OutputSchema(Literal["positive", "negative"])
    >>> schema.instructions()
    'Answer with exactly one of these and nothing else: positive, negative'
    >>> schema.read("**Positive.**").output
    'positive'
"""

from __future__ import annotations

from .._public import claim_exports
from ._reading import InvalidOutput, ReadOutput
from ._schema import OutputSchema, OutputType

__all__ = ["InvalidOutput", "OutputSchema", "OutputType", "ReadOutput"]

claim_exports(globals())
