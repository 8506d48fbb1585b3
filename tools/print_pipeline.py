"""The pass pipeline for the options of `meshloom-compile`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass, PassPipeline

    from ..lowering.driver.search_options import SearchOptions

TEXTS = (
    "chip", "chips", "subgraphs", "fuse", "budget", "save", "compress_to", "launch_bytes", "offload", "effort", "order",
    "stop_at", "placement",
)  # fmt: skip
"""Options of the command line that are options of the search."""


def search_options(options: argparse.Namespace) -> SearchOptions:
    """The options of the search as text, unchecked."""
    from ..lowering.driver.search_options import SearchOptions

    return SearchOptions(**{name: getattr(options, name) for name in TEXTS}, calibrate=tuple(options.calibrate))


def pipeline_text(options: argparse.Namespace, given: PassPipeline | None, on_note: Callable[[str], None]) -> str:
    """
    A pipeline for `meshloom-opt -p`, from the level of the input down to instructions; `given` are the passes of `-p`.

    With `--sparse`, weights are encoded before tasks are made: to find the position, the model is read (`on_note` is
    called with assumptions of the import) and the given passes are applied to it, up to the first that makes tasks.
    Raises InputError for invalid options, MeshloomError for a pass that fails.
    """
    from ..lowering.pipelines import compiler_passes, encode_pass
    from ..lowering.simplify import simplifying_passes

    asked = search_options(options)
    passes = list(compiler_passes(asked, options.sparse))
    if given is None:
        return _text(passes)
    if options.sparse:
        from .pass_pipeline import passes_above_tasks

        if (above := passes_above_tasks(given, _module(options, on_note))) < len(given.passes):
            encoding = [encode_pass(asked), *simplifying_passes(asked.chip)]
            return _text([*given.passes[:above], *encoding, *given.passes[above:], *passes[1:]])
    return f"{options.passes},{_text(passes)}"


def _module(options: argparse.Namespace, on_note: Callable[[str], None]) -> ModuleOp:
    """The module that is to be compiled."""
    from .cli import parse_shapes
    from .read_module import read_module
    from .values import parse_values

    return read_module(options.model, parse_shapes(options.shape), on_note, parse_values(options.value))


def _text(passes: Iterable[ModulePass]) -> str:
    return ",".join(str(one.pipeline_pass_spec()) for one in passes)
