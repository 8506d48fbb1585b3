"""What `meshloom-compile --sparse` does: encode weights and neurons with zeros where that makes the network faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from ..analysis.nonzero_neurons import nonzero_neurons
from ..chips import Chip
from ..dialects.dataflow import Dataflow
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.sparse_balance_lanes import balance_lanes
from ..transforms.sparse_plan import PlannedWeight, plan_encodings
from ..transforms.sparse_select_encoding import convert
from ..transforms.sparse_split_inputs import split_inputs

Compiled = TypeVar("Compiled")
"""What compilation makes."""
FASTER = 0.995
"""A network is compiled sparse only if it should take at most this share of the cycles: the estimate may be off."""


@dataclass(frozen=True)
class SparseNetwork(Generic[Compiled]):
    """A network compiled for sparse execution, and what was decided about its layers."""

    compilation: Compiled
    plans: tuple[PlannedWeight, ...]
    """What is best for each layer by itself."""
    taken: bool
    """Whether the network is compiled so; False: it is not faster as a whole, and all is dense."""


def encode_weights(
    module: ModuleOp, chip: Chip, calibration: Mapping[str, NDArray[Any]] | None = None
) -> list[PlannedWeight]:
    """
    Encode the weights of a `dataflow` module for a chip, by estimated cycles, with the lanes of its matrix units
    balanced, and neurons of which many are zero for the inputs in `calibration`. Returns what was decided.

    As passes: canonicalize, dataflow-fold-affine, sparse-balance-lanes, sparse-split-inputs,
    sparse-select-encoding{objective=cycles}.
    """
    context = Context()
    context.load_dialect(Dataflow)
    CanonicalizePass().apply(context, module)
    # Afterwards, scales cannot move into weights any more.
    DataflowFoldAffinePass().apply(context, module)
    balance_lanes(module, chip)
    split_inputs(module, chip)
    neurons = None if calibration is None else nonzero_neurons(module, calibration)
    plans = plan_encodings(module, chip=chip, neurons=neurons)
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
    that it is given, `cycles` times what it makes.

    Both are compiled and timed, sparse work as the compiler expects it: what a layer gains may be lost where others are
    cut otherwise for it. The module is changed to the one that was taken.
    """
    dense = module.clone()
    plans = tuple(encode_weights(module, chip, calibration))
    if not any(plan.is_sparse for plan in plans):
        return SparseNetwork(compile(dense), plans, False)
    encoded, plain = compile(module), compile(dense)
    if cycles(encoded) <= FASTER * cycles(plain):
        return SparseNetwork(encoded, plans, True)
    return SparseNetwork(plain, plans, False)
