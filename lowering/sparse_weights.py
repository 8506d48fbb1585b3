"""What `meshloom-compile --sparse` does: encode weights and neurons with zeros where that makes the network faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from ..transforms.canonicalize import CanonicalizePass
from ..transforms.contraction_weights import weight_uses
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.sparse_balance_lanes import balance_lanes
from ..transforms.sparse_plan import PlannedWeight, plan_encodings
from ..transforms.sparse_select_encoding import convert
from ..transforms.sparse_split_inputs import split_inputs

Compiled = TypeVar("Compiled")
"""What compilation makes."""
FASTER = 0.995
"""Dense weights, then few loads, only give way to what should take at most this share of the cycles: estimates err."""


@dataclass(frozen=True)
class SparseNetwork(Generic[Compiled]):
    """A network compiled for sparse execution, and what was decided about its layers."""

    compilation: Compiled
    plans: tuple[PlannedWeight, ...]
    """What is best for each layer by itself."""
    taken: bool
    """Whether the network is compiled so; False: it is not faster as a whole, and all is dense."""
    objective: Objective
    """How panels were chosen."""


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
) -> SparseNetwork[Compiled]:
    """
    The network with encoded weights and neurons, if that is faster than the dense one. `compile` may change the module
    that it is given, `cycles` times what it makes. The module is changed.

    All are compiled and timed, sparse work as the compiler expects it: what a layer gains may be lost where others are
    cut otherwise for it. Of networks with layers that are bound by their weights there are two encoded ones: with few
    loads of these, and with few cycles of each layer; the latter is taken where it is faster.
    """
    bound = any(bound_by_weights(chip, use.rows) for use in weight_uses(module))
    objectives: list[Objective] = ["loads", "cycles"] if bound else ["cycles"]
    found: list[tuple[int, SparseNetwork[Compiled]]] = []
    plans: tuple[PlannedWeight, ...] = ()
    for objective in objectives:
        encoded = module.clone()
        plans = tuple(encode_weights(encoded, chip, calibration, objective))
        if any(plan.is_sparse for plan in plans):
            compilation = compile(encoded)
            found.append((cycles(compilation), SparseNetwork(compilation, plans, True, objective)))
    plain = compile(module)
    if not found:
        return SparseNetwork(plain, plans, False, "cycles")
    (taken, network), *others = found
    for other in others:
        if other[0] < FASTER * taken:
            taken, network = other
    return network if taken <= FASTER * cycles(plain) else replace(network, compilation=plain, taken=False)
