"""The passes that the options of `meshloom-compile` stand for."""

from __future__ import annotations

import argparse
from typing import cast

from .budget import read_memory_options
from .subgraphs import read_subgraph_options

OPTIONS = ("chip", "chips", "subgraphs", "fuse", "sparse", "calibrate", "budget", "save", "compress_to", "launch_bytes")
"""Options of the command line that are options of the pass `meshloom`."""
DEFAULTS: tuple[object, ...] = (None, False, "auto", [])


def pipeline_text(options: argparse.Namespace) -> str:
    """
    A pipeline for `meshloom-opt -p`, from the level of the input down to instructions.

    Raises InputError for what makes no sense.
    """
    read_subgraph_options(options)
    read_memory_options(options)
    given = [(name, getattr(options, name)) for name in OPTIONS]
    texts = [f"{name.replace('_', '-')}={_value(value)}" for name, value in given if value not in DEFAULTS]
    search = f"meshloom{{{' '.join(texts)}}}" if texts else "meshloom"
    return ",".join([*([options.passes] if options.passes else []), search, "memory-to-coreasm"])


def _value(value: object) -> str:
    match value:
        case bool() | int():
            return str(value).lower()
        case list():
            return ",".join(map(_value, cast("list[object]", value)))
        case _:
            return f'"{value}"'
