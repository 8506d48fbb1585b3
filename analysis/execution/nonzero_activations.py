"""Nonzero activations of contractions, measured by running the network on inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import Operation

from ...dialects.dataflow import Contraction, MatmulOp
from ...dialects.dataflow.base import ints
from ...dialects.dataflow.constants import widen_bf16
from ...dialects.dataflow.types import element_of
from ...formats.sparse.encode import Mask


def nonzero_activations(module: ModuleOp, inputs: Mapping[str, NDArray[Any]]) -> dict[Operation, Mask]:
    """
    Contraction -> the nonzero elements of its first operand when `@main` is run on these inputs. Raises as
    `interpret.run_main` does.
    """
    from .interpret import run_main  # compilations without such inputs need no interpreter

    found: dict[Operation, Mask] = {}

    def watch(op: Operation, operands: Sequence[Any]) -> None:
        if isinstance(op, Contraction):
            values = operands[0]
            found[op] = (widen_bf16(values) if element_of(op.operands[0]) == bf16 else values) != 0

    run_main(module, inputs, watch)
    return found


def by_input(op: Contraction, counts: Mask) -> Mask:
    """Counts as [inputs, lines, places]: the window of each place of a convolution, padding included, or K by rows."""
    if isinstance(op, MatmulOp):
        axis = counts.ndim - (2 if op.transpose_a is not None else 1)
        rows = np.moveaxis(counts, axis, 0)
        return rows.reshape(len(rows), -1, rows.shape[-1])
    spatial = op.spatial
    pads = zip(ints(op.pad_low), ints(op.pad_high), strict=True)
    padded = np.pad(counts, ((0, 0), (0, 0), *pads))
    dilations = ints(op.dilations)
    reach = tuple((size - 1) * step + 1 for size, step in zip(op.kernel, dilations, strict=True))
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, tuple(range(2, 2 + spatial)))
    every = [slice(None, None, step) for step in (*ints(op.strides), *dilations)]
    seen = windows[(slice(None), slice(None), *every)]  # [N, C, places..., kernel...]
    kernel_first = (1, *range(2 + spatial, 2 + 2 * spatial), 0, *range(2, 2 + spatial))
    positions = seen.shape[1 + spatial]
    return seen.transpose(kernel_first).reshape(counts.shape[1] * math.prod(op.kernel), -1, positions)
