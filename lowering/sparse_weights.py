"""What `meshloom-compile --sparse` does: encode weights and neurons with zeros where that makes the network faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.nonzero_neurons import nonzero_neurons
from ..analysis.search import WORTHWHILE, Search
from ..analysis.sparse.layer_cost import Objective
from ..chips import Chip
from ..chips.cycles import bound_by_weights
from ..dialects.dataflow import Dataflow
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.locations import located
from ..support.errors import BudgetError, InputError, MeshloomError
from ..transforms.canonicalize import CanonicalizePass
from ..transforms.contraction_weights import weight_uses, weights_out_of_reach
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.sparse_balance_lanes import balance_lanes
from ..transforms.sparse_plan import PlannedWeight, plan_encodings
from ..transforms.sparse_select_encoding import convert
from ..transforms.sparse_split_inputs import split_inputs
from .below_operators import below_operators

Compiled = TypeVar("Compiled")
"""What compilation makes."""


@dataclass(frozen=True)
class SparseNetwork(Generic[Compiled]):
    """A network compiled for sparse execution, and what was decided about its layers."""

    compilation: Compiled
    module: ModuleOp
    """The network as it was compiled: with encoded weights, or dense."""
    plans: tuple[PlannedWeight, ...]
    """What is best for each layer by itself."""
    taken: bool
    """Whether the network is compiled so; False: all is dense, as nothing is to be encoded or as `timed` says."""
    objective: Objective
    """How panels were chosen."""
    stays_dense: tuple[tuple[str, str], ...] = ()
    """(name and shape, why) of weights of contractions that no plan encodes."""
    timed: tuple[int, int] | None = None
    """Cycles (encoded, dense) of the whole network, where both were compiled; None: nothing was to be encoded."""


def encode_weights(
    module: ModuleOp,
    chip: Chip,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    objective: Objective = "cycles",
) -> list[PlannedWeight]:
    """
    Encode the weights of a `dataflow` module for a chip, by estimated cycles, with the lanes of its matrix units
    balanced, and neurons of which many are zero for the inputs in `calibration`; `objective` says how panels are
    chosen. Returns what was decided.

    As passes: canonicalize, dataflow-fold-affine, and with this objective sparse-balance-lanes, sparse-split-inputs and
    sparse-select-encoding.
    """
    context = Context()
    context.load_dialect(Dataflow)
    unroll_loops(module)
    CanonicalizePass().apply(context, module)
    # Afterwards, scales cannot move into weights any more.
    DataflowFoldAffinePass().apply(context, module)
    balance_lanes(module, chip, objective)
    split_inputs(module, chip, objective)
    neurons = None if calibration is None else nonzero_neurons(module, calibration)
    plans = plan_encodings(module, chip=chip, neurons=neurons, objective=objective)
    convert(plans)
    return plans


def compile_encoded(
    module: ModuleOp,
    chip: Chip,
    compile: Callable[[ModuleOp], Compiled],
    cycles: Callable[[Compiled], int],
    calibration: Mapping[str, NDArray[Any]] | None = None,
    budget_bytes: Callable[[Compiled], int] = lambda compiled: 0,
) -> SparseNetwork[Compiled]:
    """
    The network with encoded weights and neurons, if that is faster than the dense one. `compile` may change the module
    that it is given, `cycles` times what it makes. The module is changed.

    All are compiled and timed, sparse work as the compiler expects it: what a layer gains may be lost where others are
    cut otherwise for it. Of networks with layers that are bound by their weights there are two encoded ones: with few
    loads of these, and with few cycles of each layer; the latter is taken where it is faster.

    Raises InputError for a module that has operations of `manycore`, see `check_operators`; and BudgetError where one
    of the networks needs more device memory than there is, with what is enough for all of them. `budget_bytes` says
    how much there was for a network that was compiled: a budget that is a share of what a network needs is another
    number of bytes for each.
    """
    check_operators(module)
    unroll_loops(module)
    given = 0
    bound = any(bound_by_weights(chip, use.rows) for use in weight_uses(module))
    objectives: list[Objective] = ["loads", "cycles"] if bound else ["cycles"]
    plans: tuple[PlannedWeight, ...] = ()
    dense: tuple[tuple[str, str], ...] = ()
    taken: dict[bool, int] = {}
    """Cycles of the last network that was timed: encoded, or dense."""

    def timed(network: SparseNetwork[Compiled]) -> int:
        taken[network.taken] = cycles(network.compilation)
        return taken[network.taken]

    search = Search(timed, "emulated")

    def compiled(variant: ModuleOp, objective: Objective, encoded: bool) -> SparseNetwork[Compiled]:
        nonlocal given
        compilation = compile(variant.clone())
        given = max(given, budget_bytes(compilation))
        return SparseNetwork(compilation, variant, plans, encoded, objective, dense)

    for objective in objectives:
        variant = module.clone()
        plans = tuple(encode_weights(variant, chip, calibration, objective))
        dense = _stay_dense(variant, plans)
        if any(plan.is_sparse for plan in plans):
            make = partial(compiled, variant, objective, True)
            search.try_variant(f"weights encoded for few {objective}", make, share=WORTHWHILE)
    encoded = search.best() if search.is_any else None
    without = partial(compiled, module, "cycles", False)
    if encoded is None:
        search.try_variant("dense weights", without)
        _check_budget(search.failures, given)
        return search.best()
    fewest = search.least()
    # Dense weights are the program's: others are taken if they take less than a share of the cycles.
    search.try_variant("dense weights", without, share=1 / WORTHWHILE)
    _check_budget(search.failures, given)
    best = search.best()
    found = replace(encoded, timed=(fewest, taken[False]))
    return found if best.taken else replace(found, compilation=best.compilation, module=best.module, taken=False)


def _check_budget(failures: Sequence[MeshloomError], given: int) -> None:
    """
    Raises what went wrong with one of the networks. Of budgets that were too small, one error for all of them: those
    that were compiled had at most `given` bytes.
    """
    refusals: list[BudgetError] = []
    for error in failures:
        if not isinstance(error, BudgetError):
            raise error
        refusals.append(error)
    if refusals:
        worst = max(refusals, key=lambda one: one.enough)
        raise BudgetError(worst.capacity, worst.reason, max(worst.enough, given))


def _stay_dense(module: ModuleOp, plans: Sequence[PlannedWeight]) -> tuple[tuple[str, str], ...]:
    """(name and shape, why) of each weight tensor that is left dense."""
    planned = {(plan.use.source, plan.reason): plan.use.label for plan in plans if plan.reason}
    return (*((label, reason) for (_, reason), label in planned.items()), *weights_out_of_reach(module))


def check_operators(module: ModuleOp) -> None:
    """Raises InputError, located, if tasks, subgraphs or instructions were made already: then it is too late."""
    if (op := below_operators(module)) is not None:
        level = op.name.partition(".")[0]
        error = InputError(
            f"--sparse encodes the weights of whole operators, but the module is at level '{level}' already "
            f"('{op.name}'): give the module of operators, and in -p the passes that made this one, before which "
            f"--sparse then encodes (in a list for meshloom-opt, sparse-encode-if-faster stands before them)"
        )
        raise located(error, op)
