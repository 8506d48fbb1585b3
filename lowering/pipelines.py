"""The passes that compile a network, in their order, from operators to instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from xdsl.passes import ModulePass

from .driver.manycore_cut_stages import ManycoreCutStagesPass
from .driver.search_options import SearchOptions
from .driver.sparse_encode_if_faster import SparseEncodeIfFasterPass
from .manycore_autotune import ManycoreAutotunePass
from .manycore_fuse_subgraphs import ManycoreFuseSubgraphsPass
from .manycore_outline_to_fit import ManycoreOutlineToFitPass
from .manycore_to_memory import ManycoreToMemoryPass
from .memory_insert_offload import MemoryInsertOffloadPass
from .memory_to_coreasm import MemoryToCoreasmPass
from .offload.budget_options import parse_thresholds
from .options.subgraph_options import parse_fusion
from .simplify import simplifying_passes


def compiler_passes(options: SearchOptions, sparse: bool) -> Iterator[ModulePass]:
    """
    The list of passes, with weights encoded if that is faster (`sparse`) or unchanged.

    Raises InputError for options that are not valid.
    """
    asked = options.checked(sparse).subgraphs
    chip, subgraphs, fuse, how = options.chip, options.subgraphs, options.fuse, options.how()
    if sparse:
        yield encode_pass(options)
    yield from simplifying_passes(chip)
    saving = options.budget, options.save, options.compress_to, options.launch_bytes, options.offload
    if options.chips is not None:
        yield ManycoreCutStagesPass(options.chips, chip, subgraphs, fuse, *saving, **how)
        subgraphs = "whole" if subgraphs == "whole" else "auto"  # the rule has already cut the network
        asked = replace(asked, rule=None)
    if options.saves_memory and not asked.cuts_before_saving:
        yield offload_pass(options)
    yield ManycoreOutlineToFitPass(chip, subgraphs, **how)
    fusion = parse_fusion(fuse)
    yield ManycoreFuseSubgraphsPass(chip, fusion.strategy, **fusion.bounds.given(), **how)
    if options.saves_memory and asked.cuts_before_saving:
        yield offload_pass(options)
    yield ManycoreAutotunePass(chip, **how)
    yield ManycoreToMemoryPass(**how)
    yield MemoryToCoreasmPass(chip)


def offload_pass(options: SearchOptions) -> MemoryInsertOffloadPass:
    """The pass that saves memory by the options."""
    kinds = () if options.save is None else tuple(options.save.split(","))
    given = None if options.offload is None else parse_thresholds(options.offload)
    thresholds = (None, None, None) if given is None else (given.slack, given.size, given.most)
    return MemoryInsertOffloadPass(
        options.chip,
        options.budget,
        kinds,
        options.compress_to,
        options.launch_bytes,
        *thresholds,
        **options.how(),
    )


def encode_pass(options: SearchOptions) -> SparseEncodeIfFasterPass:
    """The pass that encodes weights if the network, compiled with the options, is then faster."""
    return SparseEncodeIfFasterPass(**{one.name: getattr(options, one.name) for one in fields(options)})
