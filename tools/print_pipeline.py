"""The passes that the options of `meshloom-compile` stand for."""

from __future__ import annotations

import argparse

TEXTS = ("chip", "chips", "subgraphs", "fuse", "budget", "save", "compress_to", "launch_bytes", "effort")
"""Options of the command line that are options of the search."""


def pipeline_text(options: argparse.Namespace) -> str:
    """
    A pipeline for `meshloom-opt -p`, from the level of the input down to instructions.

    Raises InputError for what makes no sense.
    """
    from ..lowering.pipelines import compiler_passes
    from ..lowering.search_options import SearchOptions

    texts = {name: getattr(options, name) for name in TEXTS}
    asked = SearchOptions(**texts, calibrate=tuple(options.calibrate))
    passes = [str(one.pipeline_pass_spec()) for one in compiler_passes(asked, options.sparse)]
    return ",".join([*([options.passes] if options.passes.strip() else []), *passes])
