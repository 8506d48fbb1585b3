"""
`meshloom-compile --sparse`: remove channels without weights, and encode weights and activations with zeros if that
makes the network faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...analysis.execution.nonzero_activations import nonzero_activations
from ...analysis.search import ACCEPT_RATIO, Search
from ...analysis.sparse.layer_cost import Objective
from ...chips import Chip
from ...chips.cycles import bound_by_weights
from ...dialects.dataflow import Dataflow
from ...dialects.dataflow.entry_function import find_main
from ...dialects.dataflow.types import Shape
from ...dialects.dataflow.unroll_loops import no_loop, unroll_loops
from ...dialects.locations import located
from ...support.errors import BudgetError, InputError
from ...support.warn import held_back, warn
from ...transforms.canonicalize import CanonicalizePass
from ...transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ...transforms.dataflow_hoist_from_loops import hoist_from_loops
from ...transforms.dataflow_merge_products import merge_products
from ...transforms.dataflow_note_loops import note_loops
from ...transforms.dataflow_remove_zero_channels import remove_zero_channels
from ...transforms.dataflow_roll_loops import reroll_loops
from ...transforms.dataflow_transpose_scans import transpose_scans
from ...transforms.shared.contraction_weights import weight_uses, weights_out_of_reach
from ...transforms.shared.kept_loops import FEWEST_STEPS, stays_loop
from ...transforms.shared.sparse_plan import PlannedWeight, plan_encodings
from ...transforms.sparse_balance_lanes import balance_lanes
from ...transforms.sparse_select_encoding import convert
from ...transforms.sparse_split_inputs import split_inputs
from ..ir.below_operators import below_operators

Compiled = TypeVar("Compiled")
"""The result type of the compilation."""


@dataclass(frozen=True)
class SparseNetwork(Generic[Compiled]):
    """A network compiled for sparse execution, and the decision for each layer."""

    compilation: Compiled
    module: ModuleOp
    """The network that was compiled: with encoded weights, or dense."""
    plans: tuple[PlannedWeight, ...]
    """The best encoding for each layer separately."""
    taken: bool
    """Whether the encoded network was chosen. False: the dense one, because nothing can be encoded or by `timed`."""
    objective: Objective
    """The criterion by which panels were chosen."""
    stays_dense: tuple[tuple[str, str], ...] = ()
    """(name and shape, reason) of weights of contractions that no plan encodes."""
    timed: tuple[int, int] | None = None
    """Cycles (encoded, dense) of the whole network, if both were compiled."""
    removed: Mapping[str, tuple[Shape, Shape]] = field(default_factory=dict[str, tuple[Shape, Shape]])
    """The weights of contractions that lost channels, by name, with their shapes before and after."""
    refused: str = ""
    """The reason why the network cannot be compiled with encoded weights, if only the dense one fits the budget."""
    notes: tuple[str, ...] = ()
    """The log of its compilation."""


def encode_weights(
    module: ModuleOp,
    chip: Chip,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    objective: Objective = "cycles",
) -> list[PlannedWeight]:
    """
    Encode the weights of a `dataflow` module for a chip, by estimated cycles, with the lanes of its matrix units
    balanced, and activations that are often zero for the inputs in `calibration`; `objective` is the criterion for
    panels. Returns the decisions.

    The same as the passes canonicalize, dataflow-fold-affine, and with this objective sparse-balance-lanes,
    sparse-split-inputs and sparse-select-encoding.
    """
    _simplify(module, unroll=calibration is not None)
    # Scales cannot be folded into encoded weights.
    balance_lanes(module, chip, objective)
    split_inputs(module, chip, objective)
    neurons = None if calibration is None else nonzero_activations(module, calibration)
    plans = plan_encodings(module, chip=chip, neurons=neurons, objective=objective)
    convert(plans)
    return plans


def _simplify(module: ModuleOp, unroll: bool = False) -> None:
    """`unroll`: all loops, not only those that cannot be executed as loops."""
    context = Context()
    context.load_dialect(Dataflow)
    unroll_loops(module, no_loop if unroll else stays_loop)
    CanonicalizePass().apply(context, module)
    DataflowFoldAffinePass().apply(context, module)


def without_zero_channels(module: ModuleOp) -> tuple[ModuleOp, dict[str, tuple[Shape, Shape]]]:
    """
    A copy of the module without channels whose weights are all zero, and the weights that shrank; the module itself if
    there are none.

    The same as the passes canonicalize, dataflow-fold-affine and dataflow-remove-zero-channels.
    """
    variant = module.clone()
    _simplify(variant)
    removed = remove_zero_channels(variant)
    return (variant, removed) if removed else (module, {})


def compile_encoded(
    module: ModuleOp,
    chip: Chip,
    compile: Callable[[ModuleOp], Compiled],
    cycles: Callable[[Compiled], int],
    calibration: Mapping[str, NDArray[Any]] | None = None,
) -> SparseNetwork[Compiled]:
    """
    The network without channels that are zero, and with encoded weights and activations, if that is faster than the
    dense one. `compile` may change its module; `cycles` gives the cycles of its result. The module is changed.

    All variants are compiled and timed, with expected times for sparse work: the gain of one layer may be lost if
    others are cut differently. Networks with layers that are bound by their weights have two encoded variants: with few
    loads of weights, and with few cycles of each layer; the latter is taken if it is faster. Where channels can be
    removed, these networks are compiled without them first; those with all channels are taken only if they are faster.
    A network that needs more device memory than is available is dropped.

    Raises InputError for a module that has operations of `manycore`, see `check_operators`; and BudgetError if all of
    the networks need more device memory than is available, with a budget that is sufficient for one of them.
    """
    check_operators(module)
    if calibration is None:
        reroll_loops(find_main(module), FEWEST_STEPS)
    note_loops(module)
    merge_products(module)
    hoist_from_loops(module)
    transpose_scans(module)
    unroll_loops(module, no_loop if calibration is not None else stays_loop)
    smaller, removed = without_zero_channels(module)
    bound = any(bound_by_weights(chip, use.rows) for use in weight_uses(smaller))
    objectives: list[Objective] = ["loads", "cycles"] if bound else ["cycles"]
    variants = _Variants(compile, cycles, removed)
    for base, objective in product([smaller, module] if removed else [module], objectives):
        encoded = base.clone()
        plans = tuple(encode_weights(encoded, chip, calibration, objective))
        variants.plans, variants.stays_dense = plans, _stay_dense(encoded, plans)
        if any(plan.is_sparse for plan in plans):
            make = partial(variants.compiled, encoded, objective, True, base is module)
            variants.search.try_variant(f"weights encoded for few {objective}", make, share=ACCEPT_RATIO)
    return variants.with_dense(smaller, module)


class _Variants(Generic[Compiled]):
    """Encoded and dense variants of a network, which are compiled and timed."""

    def __init__(
        self,
        compile: Callable[[ModuleOp], Compiled],
        cycles: Callable[[Compiled], int],
        removed: Mapping[str, tuple[Shape, Shape]],
    ) -> None:
        self._compile, self._cycles, self._removed = compile, cycles, removed
        self._timings: dict[tuple[bool, bool], int] = {}
        """(encoded, without zero channels) -> cycles of the variant that was timed last."""
        self.plans: tuple[PlannedWeight, ...] = ()
        """The encodings that were planned last."""
        self.stays_dense: tuple[tuple[str, str], ...] = ()
        self.search: Search[SparseNetwork[Compiled]] = Search(self._timed, "emulated")

    def compiled(self, variant: ModuleOp, objective: Objective, encoded: bool, whole: bool) -> SparseNetwork[Compiled]:
        """A variant, compiled; `whole`: with all channels."""
        removed: Mapping[str, tuple[Shape, Shape]] = {} if whole else self._removed
        with held_back() as notes:
            compilation = self._compile(variant.clone())
        return SparseNetwork(
            compilation, variant, self.plans, encoded, objective, self.stays_dense, removed=removed,
            notes=tuple(dict.fromkeys(notes)),
        )  # fmt: skip

    def with_dense(self, smaller: ModuleOp, whole: ModuleOp) -> SparseNetwork[Compiled]:
        """
        The best of the encoded variants so far and of the dense network, without zero channels and with all. Raises
        errors as `compile_encoded`.
        """
        search = self.search
        encoded = search.best() if search.is_any else None
        # Dense weights are the default: encoded weights are chosen only if they take less than a share of the cycles.
        fewest = None if encoded is None else search.least()
        share = 1.0 if encoded is None else 1 / ACCEPT_RATIO
        refused = str(search.failures[0]) if encoded is None and search.failures else ""
        search.try_variant("dense weights", partial(self.compiled, smaller, "cycles", False, False), share=share)
        if self._removed:
            search.try_variant("dense weights, all channels", partial(self.compiled, whole, "cycles", False, True))
        _check_failures(search)
        best = search.best()
        for note in best.notes:
            warn(note)
        dense_cycles = [found for (is_encoded, _), found in self._timings.items() if not is_encoded]
        if encoded is None or fewest is None or not dense_cycles:
            return replace(best, refused=refused)
        found = replace(encoded, timed=(fewest, min(dense_cycles)))
        if best.taken:
            return found
        return replace(found, compilation=best.compilation, module=best.module, taken=False, removed=best.removed)

    def _timed(self, network: SparseNetwork[Compiled]) -> int:
        cycles = self._timings[network.taken, bool(network.removed)] = self._cycles(network.compilation)
        return cycles


def _check_failures(search: Search[Any]) -> None:
    """
    Raises the error of a variant; if no variant fits the budget, the error that names the smallest sufficient one.
    """
    for error in search.failures:
        if not isinstance(error, BudgetError):
            raise error
    refusals = [error for error in search.failures if isinstance(error, BudgetError)]
    if refusals and not search.is_any:
        raise min(refusals, key=lambda one: one.enough)


def _stay_dense(module: ModuleOp, plans: Sequence[PlannedWeight]) -> tuple[tuple[str, str], ...]:
    """(name and shape, reason) of each weight tensor that stays dense."""
    planned = {(plan.use.source, plan.reason): plan.use.label for plan in plans if plan.reason}
    return (*((label, reason) for (_, reason), label in planned.items()), *weights_out_of_reach(module))


def check_operators(module: ModuleOp) -> None:
    """Raises InputError, located, if the module has tasks, subgraphs or instructions already."""
    if (op := below_operators(module)) is not None:
        level = op.name.partition(".")[0]
        error = InputError(
            f"--sparse encodes weights of operators, but the module is at level '{level}' ('{op.name}'): give the "
            f"module at level 'dataflow', with its passes in -p; in meshloom-opt, run sparse-encode-if-faster before "
            f"these passes"
        )
        raise located(error, op)
