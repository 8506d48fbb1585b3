"""Compile a `dataflow` module to an executable: the steps in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...support.errors import InputError
from ..cache.compile_cache import CompileCache
from ..offload.saved_module import saves_memory
from ..options.compilation_log import CompilationLog
from ..options.progress import Level, Progress
from ..options.subgraph_options import SubgraphOptions
from ..simplify import simplify
from .compile_function import Compilation, compile_function

if TYPE_CHECKING:
    from ..offload.compile_launches import Budget


def compile_module(
    module: ModuleOp,
    chip: Chip,
    progress: Progress = lambda stage: None,
    options: SubgraphOptions | None = None,
    on_note: Callable[[str], None] = lambda line: None,
    budget: Budget | None = None,
    cache: CompileCache | None = None,
) -> Compilation:
    """
    Compile @main of a `dataflow` (or `sparse`, or tiled `manycore`) module for a chip. The module is changed.

    The network is compiled whole; if that fails it is split into subgraphs that run one after another (see `options`).
    A module with subgraphs is compiled in these. With a `budget`, or if the module has operations of `memory` that save
    memory, it becomes launches with concurrent copies (`lowering.offload`); its subgraphs, if any, are the launches.
    `on_note` gets the lines of the log as they are written. `cache`: results of compiling subgraphs; by default that of
    the folder in `options`, or an empty one.

    Raises InputError if there is no @main, and for `options` that cannot be combined with memory saving; ResourceError
    if the network does not fit the chip.
    """
    options = SubgraphOptions() if options is None else options
    if budget is not None:
        check_cut(options)
    simplify(module, chip, progress)
    simplified = module.clone()
    log = CompilationLog(on_note)
    cache = CompileCache(chip, options.cache, options.effort) if cache is None else cache
    if budget is not None or saves_memory(module):
        if saves_memory(module):
            _check_launches(options)
        from ..offload.compile_launches import Budget

        budget = budget or Budget()
    found = compile_function(module, chip, options, log, progress, cache, budget)

    def levels() -> list[Level]:
        return [("simplify", simplified), *found.levels()]

    return replace(found, levels=levels)


def check_cut(options: SubgraphOptions) -> None:
    """Raises InputError for memory saving in a network that must stay whole."""
    if not options.split_failures:
        raise InputError("memory saving needs several launches, --subgraphs whole makes one: leave out --subgraphs")


def _check_launches(options: SubgraphOptions) -> None:
    """Raises InputError for options that have no effect on a module that is already divided into launches."""
    if options.rule is not None or not options.split_failures:
        raise InputError("a module with memory saving is already divided into launches: leave out --subgraphs")
    if options.fuse != "auto":
        raise InputError("the launches of a module with memory saving are not fused: leave out --fuse")
