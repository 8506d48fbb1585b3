"""
The first passes of the compiler: they simplify operators, and convert encoded weights to the form that units read.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..chips import Chip
from ..dialects import added
from ..dialects.dataflow import Dataflow
from ..dialects.dataflow.entry_function import find_main
from ..dialects.memory import Memory
from ..dialects.sparse import Sparse
from ..transforms.canonicalize import CanonicalizePass
from ..transforms.dataflow_block_outputs import DataflowBlockOutputsPass
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.dataflow_hoist_from_loops import DataflowHoistFromLoopsPass
from ..transforms.dataflow_interleave_gates import DataflowInterleaveGatesPass
from ..transforms.dataflow_merge_constants import DataflowMergeConstantsPass
from ..transforms.dataflow_merge_products import DataflowMergeProductsPass
from ..transforms.dataflow_note_loops import DataflowNoteLoopsPass
from ..transforms.dataflow_pack_weights import DataflowPackWeightsPass
from ..transforms.dataflow_roll_loops import DataflowRollLoopsPass
from ..transforms.dataflow_split_loop_weights import DataflowSplitLoopWeightsPass
from ..transforms.dataflow_split_widened import DataflowSplitWidenedPass
from ..transforms.dataflow_transpose_scans import DataflowTransposeScansPass
from ..transforms.dataflow_transpose_weights import DataflowTransposeWeightsPass
from ..transforms.dataflow_unroll_loops import DataflowUnrollLoopsPass
from ..transforms.shared.chip_option import ChipPass
from ..transforms.shared.kept_loops import FEWEST_STEPS
from ..transforms.sparse_pack import SparsePackPass
from .ir.name_chip import name_chip
from .options.progress import Progress
from .sparse_to_dataflow import SparseToDataflowPass

LAST = "tasks"
PLACES = (
    DataflowRollLoopsPass.name,
    DataflowMergeProductsPass.name,
    DataflowHoistFromLoopsPass.name,
    DataflowTransposeScansPass.name,
    DataflowNoteLoopsPass.name,
    DataflowUnrollLoopsPass.name,
    CanonicalizePass.name,
    DataflowInterleaveGatesPass.name,
    DataflowFoldAffinePass.name,
    DataflowBlockOutputsPass.name,
    DataflowSplitWidenedPass.name,
    DataflowMergeConstantsPass.name,
    DataflowSplitLoopWeightsPass.name,
    DataflowTransposeWeightsPass.name,
    DataflowPackWeightsPass.name,
    SparsePackPass.name,
    SparseToDataflowPass.name,
    LAST,
)
"""Positions for passes of plug-ins: before one of these, or after all, before operators become tasks."""
ADDED_PASSES: dict[str, list[type[ModulePass]]] = {}
"""Passes of plug-ins by position."""


def simplifying_passes(chip: str | None = None) -> Iterator[ModulePass]:
    """
    Reroll loops that were unrolled, hoist computations that need no carried value out of loops, record the work of
    loops and unroll those that cannot stay, simplify operators, interleave the gates of recurrent cells, and bring
    encoded weights into the form that matrix units take (`chip`, or the module's).
    """
    own = (
        DataflowRollLoopsPass(FEWEST_STEPS),
        DataflowMergeProductsPass(),
        DataflowHoistFromLoopsPass(),
        DataflowTransposeScansPass(),
        DataflowNoteLoopsPass(),
        DataflowUnrollLoopsPass(keep=True),
        CanonicalizePass(),
        DataflowInterleaveGatesPass(),
        DataflowFoldAffinePass(),
        DataflowBlockOutputsPass(chip),
        DataflowSplitWidenedPass(chip),
        DataflowMergeConstantsPass(),
        DataflowSplitLoopWeightsPass(chip),
        DataflowTransposeWeightsPass(chip),
        DataflowPackWeightsPass(),
        SparsePackPass(chip),
        SparseToDataflowPass(),
    )
    for one in own:
        yield from _added(one.name, chip)
        yield one
    yield from _added(LAST, chip)


def _added(place: str, chip: str | None) -> Iterator[ModulePass]:
    for one in ADDED_PASSES.get(place, ()):
        yield one(chip=chip) if issubclass(one, ChipPass) else one()


def simplify(module: ModuleOp, chip: Chip, progress: Progress) -> None:
    """
    Convert a module to the form that is compiled, in place.

    Raises InputError if there is no @main, or if the module is for another chip.
    """
    find_main(module)
    progress("simplify")
    context = _context()
    for one in simplifying_passes():
        if isinstance(one, ChipPass):
            one.run(module, chip)  # `chip` may have no name
        else:
            one.apply(context, module)
    name_chip(module, chip)


def unroll_kept_loops(module: ModuleOp) -> None:
    """Unroll the loops that were kept, and simplify the result."""
    context = _context()
    for one in (DataflowUnrollLoopsPass(), CanonicalizePass(), DataflowFoldAffinePass(), DataflowMergeConstantsPass()):
        one.apply(context, module)


def _context() -> Context:
    context = Context()
    for dialect in (Dataflow, Sparse, Memory, *added.DIALECTS.values()):
        context.load_dialect(dialect)
    return context
