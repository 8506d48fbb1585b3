"""What `meshloom-compile --sparse` does: encode weights and neurons with zeros where that makes the network faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.nonzero_neurons import nonzero_neurons
from ..analysis.sparse.layer_cost import Objective
from ..chips import Chip
from ..chips.cycles import bound_by_weights
from ..dialects.dataflow import Dataflow
from ..dialects.locations import located
from ..support.errors import BudgetError, InputError
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
FASTER = 0.995
"""Dense weights, then few loads, only give way to what should take at most this share of the cycles: estimates err."""


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
    given = 0
    refusals: list[BudgetError] = []
    bound = any(bound_by_weights(chip, use.rows) for use in weight_uses(module))
    objectives: list[Objective] = ["loads", "cycles"] if bound else ["cycles"]
    found: list[tuple[int, SparseNetwork[Compiled]]] = []
    plans: tuple[PlannedWeight, ...] = ()
    dense: tuple[tuple[str, str], ...] = ()
    for objective in objectives:
        encoded = module.clone()
        plans = tuple(encode_weights(encoded, chip, calibration, objective))
        dense = _stay_dense(encoded, plans)
        if any(plan.is_sparse for plan in plans):
            variant = encoded.clone()
            try:
                compilation = compile(encoded)
            except BudgetError as refusal:
                refusals.append(refusal)
                continue
            given = max(given, budget_bytes(compilation))
            found.append((cycles(compilation), SparseNetwork(compilation, variant, plans, True, objective, dense)))
    dense_variant = module.clone()
    try:
        plain = compile(module)
    except BudgetError as refusal:
        raise _refusal([*refusals, refusal], given) from None
    if refusals:
        raise _refusal(refusals, max(given, budget_bytes(plain)))
    if not found:
        return SparseNetwork(plain, dense_variant, plans, False, "cycles", dense)
    (taken, network), *others = found
    for other in others:
        if other[0] < FASTER * taken:
            taken, network = other
    without = cycles(plain)
    network = replace(network, timed=(taken, without))
    return (
        network if taken <= FASTER * without else replace(network, compilation=plain, module=dense_variant, taken=False)
    )


def _refusal(refusals: Sequence[BudgetError], given: int) -> BudgetError:
    """One for all networks: those that were compiled had at most `given` bytes."""
    worst = max(refusals, key=lambda one: one.enough)
    return BudgetError(worst.capacity, worst.reason, max(worst.enough, given))


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
