"""What `meshloom-compile --sparse` adds: weights with zeros are encoded where that makes a layer faster."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from ..chips import Chip
from ..dialects.dataflow import Dataflow
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.sparse_balance_lanes import balance_lanes
from ..transforms.sparse_plan import plan_encodings
from ..transforms.sparse_select_encoding import convert


def encode_weights(module: ModuleOp, chip: Chip) -> None:
    """
    Encode the weights of a `dataflow` module for a chip, by estimated cycles, with the lanes of its matrix units
    balanced.

    As passes: canonicalize, dataflow-fold-affine, sparse-balance-lanes, sparse-select-encoding{objective=cycles}.
    """
    context = Context()
    context.load_dialect(Dataflow)
    CanonicalizePass().apply(context, module)
    # Afterwards, scales cannot move into weights any more.
    DataflowFoldAffinePass().apply(context, module)
    balance_lanes(module, chip)
    convert(plan_encodings(module, chip=chip))
