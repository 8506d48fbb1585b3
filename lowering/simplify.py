"""The first passes that compile a network: operators are simplified, encoded weights become what units take."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..chips import Chip
from ..dialects.dataflow import Dataflow, LoopOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.unroll_loops import no_loop, unroll_loops
from ..dialects.memory import Memory
from ..dialects.sparse import Sparse
from ..transforms.canonicalize import CanonicalizePass
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.dataflow_merge_constants import DataflowMergeConstantsPass
from ..transforms.dataflow_unroll_loops import DataflowUnrollLoopsPass
from ..transforms.kept_loops import stays_loop
from ..transforms.sparse_pack import SparsePackPass, pack_module
from .name_chip import name_chip
from .sparse_to_dataflow import SparseToDataflowPass, lower_sparse
from .stages import Progress


def simplifying_passes(chip: str | None = None, keep_loops: bool = False) -> Iterator[ModulePass]:
    """
    Unroll loops (`keep_loops`: but those that need not be), simplify operators, and bring encoded weights into the form
    that matrix units take (`chip`, or the module's).
    """
    yield DataflowUnrollLoopsPass(keep_loops)
    yield CanonicalizePass()
    yield DataflowFoldAffinePass()
    yield DataflowMergeConstantsPass()
    yield SparsePackPass(chip)
    yield SparseToDataflowPass()


def simplify(module: ModuleOp, chip: Chip, progress: Progress, keep_loops: bool = False) -> None:
    """
    Bring a module into the form that is compiled, in place. `keep_loops`: see `simplifying_passes`.

    Raises InputError if there is no @main, or if the module is for another chip.
    """
    find_main(module)
    progress("simplify")
    _simplify_operators(module, stays_loop if keep_loops else no_loop)
    pack_module(module, chip)  # which need not have a name, as passes need it
    lower_sparse(module)
    name_chip(module, chip)


def unroll_kept_loops(module: ModuleOp) -> None:
    """Unroll the loops that were kept, and simplify what they become."""
    _simplify_operators(module, no_loop)


def _simplify_operators(module: ModuleOp, stays: Callable[[LoopOp], bool]) -> None:
    context = Context()
    for dialect in (Dataflow, Sparse, Memory):
        context.load_dialect(dialect)
    unroll_loops(module, stays)
    CanonicalizePass().apply(context, module)
    DataflowFoldAffinePass().apply(context, module)
    DataflowMergeConstantsPass().apply(context, module)
