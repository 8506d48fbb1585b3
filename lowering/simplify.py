"""The first passes that compile a network: operators are simplified, encoded weights become what units take."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..chips import Chip
from ..dialects.dataflow import Dataflow
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.memory import Memory
from ..dialects.sparse import Sparse
from ..transforms.canonicalize import CanonicalizePass
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.dataflow_hoist_from_loops import DataflowHoistFromLoopsPass, hoist_from_loops
from ..transforms.dataflow_merge_constants import DataflowMergeConstantsPass
from ..transforms.dataflow_note_loops import DataflowNoteLoopsPass, note_loops
from ..transforms.dataflow_unroll_loops import DataflowUnrollLoopsPass
from ..transforms.sparse_pack import SparsePackPass, pack_module
from .name_chip import name_chip
from .sparse_to_dataflow import SparseToDataflowPass, lower_sparse
from .stages import Progress


def simplifying_passes(chip: str | None = None) -> Iterator[ModulePass]:
    """
    Compute before loops what needs no carried value, note the work of what is left and unroll it, simplify operators,
    and bring encoded weights into the form that matrix units take (`chip`, or the module's).
    """
    yield DataflowHoistFromLoopsPass()
    yield DataflowNoteLoopsPass()
    yield DataflowUnrollLoopsPass()
    yield CanonicalizePass()
    yield DataflowFoldAffinePass()
    yield DataflowMergeConstantsPass()
    yield SparsePackPass(chip)
    yield SparseToDataflowPass()


def simplify(module: ModuleOp, chip: Chip, progress: Progress) -> None:
    """
    Bring a module into the form that is compiled, in place.

    Raises InputError if there is no @main, or if the module is for another chip.
    """
    find_main(module)
    progress("simplify")
    context = Context()
    for dialect in (Dataflow, Sparse, Memory):
        context.load_dialect(dialect)
    hoist_from_loops(module)
    note_loops(module)
    unroll_loops(module)
    CanonicalizePass().apply(context, module)
    DataflowFoldAffinePass().apply(context, module)
    DataflowMergeConstantsPass().apply(context, module)
    pack_module(module, chip)  # which need not have a name, as passes need it
    lower_sparse(module)
    name_chip(module, chip)
