"""Compile a `dataflow` module to an executable: the steps in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...support.errors import InputError
from ..offload.saved_module import saves_memory
from ..options.progress import Level
from ..options.subgraph_options import SubgraphOptions
from ..session import Session
from ..simplify import simplify
from .compile_function import Compilation, compile_function

if TYPE_CHECKING:
    from ..offload.compile_launches import Budget


def compile_module(module: ModuleOp, chip: Chip, options: SubgraphOptions | None = None) -> Compilation:
    """Compile a module for a chip as `compile_in_session` does."""
    return compile_in_session(module, Session.begin(chip, options))


def compile_in_session(module: ModuleOp, session: Session, budget: Budget | None = None) -> Compilation:
    """
    Compile @main of a `dataflow` (or `sparse`, or tiled `manycore`) module. The module is changed.

    The network is compiled whole; if that fails, it is split into subgraphs that run one after another. A module with
    subgraphs is compiled in these. With a `budget`, or if the module has operations of `memory` that save memory, it
    becomes launches with concurrent copies (`lowering.offload`); its subgraphs, if any, are the launches.

    Raises InputError if there is no @main, and for options that cannot be combined with memory saving; ResourceError
    if the network does not fit the chip.
    """
    if budget is not None:
        check_cut(session.options)
    simplify(module, session.chip, session.progress)
    simplified = module.clone()
    if budget is not None or saves_memory(module):
        if saves_memory(module):
            _check_launches(session.options)
        from ..offload.compile_launches import Budget

        budget = budget or Budget()
    found = compile_function(module, session, budget)

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
