"""What `meshloom-compile --sparse` does: encode weights with zeros where that makes layers and network faster."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from ..chips import Chip
from ..dialects.dataflow import Dataflow
from ..emulator.timing import run_timing
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.sparse_balance_lanes import balance_lanes
from ..transforms.sparse_plan import plan_encodings
from ..transforms.sparse_select_encoding import convert
from .pipeline import Compilation

Compile = Callable[[ModuleOp], Compilation]
"""Compiles a module, which it changes."""


def encode_weights(module: ModuleOp, chip: Chip) -> int:
    """
    Encode the weights of a `dataflow` module for a chip, by estimated cycles, with the lanes of its matrix units
    balanced. Returns how many weights were encoded.

    As passes: canonicalize, dataflow-fold-affine, sparse-balance-lanes, sparse-select-encoding{objective=cycles}.
    """
    context = Context()
    context.load_dialect(Dataflow)
    CanonicalizePass().apply(context, module)
    # Afterwards, scales cannot move into weights any more.
    DataflowFoldAffinePass().apply(context, module)
    balance_lanes(module, chip)
    plans = plan_encodings(module, chip=chip)
    convert(plans)
    return sum(plan.choice.format is not None for plan in plans)


def compile_encoded(module: ModuleOp, chip: Chip, compile: Compile) -> tuple[Compilation, bool]:
    """
    The network with encoded weights, if that is faster than with dense ones, and whether it is.

    Both are compiled and timed, sparse work as the compiler expects it: what a layer gains may be lost where others are
    cut otherwise for it. The module is changed to the one that was taken.
    """
    dense = module.clone()
    if not encode_weights(module, chip):
        return compile(dense), False
    encoded, plain = compile(module), compile(dense)
    if run_timing(encoded.executable).cycles <= run_timing(plain.executable).cycles:
        return encoded, True
    return plain, False
