"""The passes that compile a network, in their order, from operators to instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from xdsl.passes import ModulePass

from ..transforms.canonicalize import CanonicalizePass
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.dataflow_merge_constants import DataflowMergeConstantsPass
from ..transforms.sparse_pack import SparsePackPass
from .manycore_autotune import ManycoreAutotunePass
from .manycore_cut_stages import ManycoreCutStagesPass
from .manycore_fuse_subgraphs import ManycoreFuseSubgraphsPass
from .manycore_outline_to_fit import ManycoreOutlineToFitPass
from .manycore_to_memory import ManycoreToMemoryPass
from .memory_insert_offload import MemoryInsertOffloadPass
from .memory_to_coreasm import MemoryToCoreasmPass
from .offload.budget_options import parse_thresholds
from .search_options import SearchOptions
from .sparse_encode_if_faster import SparseEncodeIfFasterPass
from .sparse_to_dataflow import SparseToDataflowPass


def compiler_passes(options: SearchOptions, sparse: bool) -> Iterator[ModulePass]:
    """
    The list, with weights encoded where that is faster (`sparse`) or as they are.

    Raises InputError for options that make no sense.
    """
    options.checked(sparse)
    chip, subgraphs, fuse, effort = options.chip, options.subgraphs, options.fuse, options.effort
    if sparse:
        yield encode_pass(options)
    yield from simplifying_passes(chip)
    if options.saves_memory:
        yield offload_pass(options)
    if options.chips is not None:
        yield ManycoreCutStagesPass(options.chips, chip, subgraphs, fuse, effort)
        # The rule has cut what is cut.
        yield ManycoreOutlineToFitPass(chip, "whole" if subgraphs == "whole" else "auto", effort=effort)
    else:
        yield ManycoreOutlineToFitPass(chip, subgraphs, effort=effort)
    yield ManycoreFuseSubgraphsPass(chip, fuse, effort=effort)
    yield ManycoreAutotunePass(chip, effort=effort)
    yield ManycoreToMemoryPass()
    yield MemoryToCoreasmPass(chip)


def offload_pass(options: SearchOptions) -> MemoryInsertOffloadPass:
    """The pass that saves memory as the options say."""
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
        effort=options.effort,
    )


def encode_pass(options: SearchOptions) -> SparseEncodeIfFasterPass:
    """The pass that encodes weights where the network, compiled as the options say, is faster for it."""
    return SparseEncodeIfFasterPass(**{one.name: getattr(options, one.name) for one in fields(options)})


def simplifying_passes(chip: str | None) -> Iterator[ModulePass]:
    """Simplify operators, and bring encoded weights into the form that matrix units take (`chip`, or the module's)."""
    yield CanonicalizePass()
    yield DataflowFoldAffinePass()
    yield DataflowMergeConstantsPass()
    yield SparsePackPass(chip)
    yield SparseToDataflowPass()
