"""Reference semantics of `dataflow.scatter`, in numpy."""

from __future__ import annotations

import numpy as np

from ...support.errors import MeshloomError
from .constants import Array
from .scatter import ScatterMode, ScatterOp


def evaluate_scatter(op: ScatterOp, data: Array, indices: Array, updates: Array) -> Array:
    """The data with updates applied in the order of the indices; raises MeshloomError for an index outside the rows."""
    rows = data.shape[op.batch_dims]
    outside = (indices < -rows) | (indices >= rows)
    if outside.any():
        raise MeshloomError(
            f"dataflow.scatter: index {int(indices[outside].reshape(-1)[0])} is outside [-{rows}, {rows}), "
            f"the range of dimension {op.batch_dims} of data of shape {list(data.shape)}"
        )
    result = data.copy()
    batch = data.shape[: op.batch_dims]
    # The index along each batch dimension, repeated for each index of the batch position.
    position: tuple[Array, ...] = (*(np.indices((*batch, 1))[: len(batch)]), indices)
    match op.mode.data:
        case ScatterMode.ADD:
            np.add.at(result, position, updates)
        case ScatterMode.MAX:
            np.maximum.at(result, position, updates)
        case _:
            result[position] = updates
    return result
