"""Pass `dataflow-prune`: set weights of small magnitude to zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.semantic_effect import SemanticEffect, lossy
from ..dialects.dataflow import ConstantOp, WeightOp
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..formats.sparse.encode import Mask
from ..formats.sparse.prune import balanced_pruning, magnitude_pruning, n_m_pruning
from ..support.errors import InputError
from .shared.contraction_weights import PruneWeights, WeightUse, numeric_values
from .shared.options import Number, number
from .shared.rewrite_once import rewrite_once


@dataclass(frozen=True)
class DataflowPrunePass(ModulePass):
    """
    Prune the constant weights of matrix products and convolutions (except depthwise ones), each tensor separately.

    `magnitude` keeps the share `density` of greatest magnitude; `balanced` keeps as large a share, the same number of
    weights for each output neuron (or one more); `n_m` keeps, of each `m` neighbours among the inputs of an output
    neuron, the `n` of greatest magnitude. Tensors of fewer than `smallest` elements are not pruned. Results may change
    by `bound`, relative to the largest (for `--check-semantics`).
    """

    name = "dataflow-prune"
    method: Literal["magnitude", "balanced", "n_m"] = "magnitude"
    density: Number = 0.1
    n: int = 2
    m: int = 4
    smallest: int = 0
    bound: Number = 1.0

    @property
    def semantic_effect(self) -> SemanticEffect:
        """The loss of accuracy that is acceptable depends on the network, so the user sets it."""
        return lossy(number("bound", self.bound, 0))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        density = number("density", self.density, 0, 1)
        if not 0 <= self.n <= self.m or self.m < 1:
            raise InputError(f"n={self.n} m={self.m}: expected 0 <= n <= m and m of at least 1")
        unroll_loops(op)
        prune = (PruneWeights(partial(self.mask, density)),)
        rewrite_once(op, {ConstantOp: prune, WeightOp: prune})

    def mask(self, density: float, use: WeightUse) -> Mask | None:
        """Mask of the weights that are kept; None: all."""
        if math.prod(use.fibers.shape) < self.smallest:
            return None
        values = numeric_values(use.source)
        if self.method == "magnitude":
            # Of equal weights, the first in the order of the tensor are kept.
            return magnitude_pruning(values, density)
        fibers = use.fibers.matrix(values)
        if self.method == "balanced":
            return use.fibers.tensor(balanced_pruning(fibers, density))
        return use.fibers.tensor(n_m_pruning(fibers, self.n, self.m))
