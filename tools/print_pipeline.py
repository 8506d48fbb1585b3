"""The passes that the options of `meshloom-compile` stand for."""

from __future__ import annotations

import argparse

from ..support.errors import InputError
from .budget import read_memory_options
from .subgraphs import read_subgraph_options

OPTIONS = ("chip", "subgraphs", "fuse", "sparse", "budget", "save", "compress_to", "launch_bytes")
"""Options of the command line that are options of the pass `meshloom`."""
DEFAULTS = (None, False, "auto")


def pipeline_text(options: argparse.Namespace) -> str:
    """
    A pipeline for `meshloom-opt -p`, from the level of the input down to instructions.

    Raises InputError for options that no pass has yet, and for what makes no sense.
    """
    if options.chips is not None or options.calibrate:
        what = "--chips makes several programs" if options.chips is not None else "--calibrate reads files of inputs"
        raise InputError(f"{what}, which no list of passes says: leave it out of --print-pipeline")
    read_subgraph_options(options)
    read_memory_options(options)
    given = [(name, getattr(options, name)) for name in OPTIONS]
    texts = [f"{name.replace('_', '-')}={_value(value)}" for name, value in given if value not in DEFAULTS]
    search = f"meshloom{{{' '.join(texts)}}}" if texts else "meshloom"
    return ",".join([*([options.passes] if options.passes else []), search, "memory-to-coreasm"])


def _value(value: object) -> str:
    return "true" if value is True else f'"{value}"'
