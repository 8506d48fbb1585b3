"""Pass `sparse-select-encoding`: encode weights with many zeros, and make their contractions sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.execution.nonzero_activations import nonzero_activations
from ..analysis.semantic_effect import SemanticEffect, lossy, reassociating
from ..chips import Chip
from ..dialects.dataflow import MatmulOp
from ..dialects.dataflow.types import shape_of
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.locations import at
from ..dialects.sparse import ConvOp as SparseConvOp
from ..dialects.sparse import EncodeOp, IndexAttr
from ..dialects.sparse import MatmulOp as SparseMatmulOp
from ..formats.sparse.index_formats import Kind
from ..formats.sparse.nonzero import Nonzero
from .shared.chip_option import chip_for
from .shared.options import Number, number
from .shared.rewrite_once import after_value
from .shared.sparse_plan import PlannedWeight, plan_encodings


@dataclass(frozen=True)
class SparseSelectEncodingPass(ModulePass):
    """
    Encode the constant weights of matrix products and convolutions, if that is smaller or faster than dense weights:
    the smallest of a direct index and strides of 2 to 8 bits, over single elements or `groups` of neighbours.

    With `objective=cycles` the choice is the fastest on `chip` (or the module's); weights that its matrix units do not
    accept encoded stay dense, and so do those that would be about as fast. With `calibrate=SEED`, it takes into account
    how many activations are zero when the network runs on random inputs, and encodes these, too, if that pays: matrix
    units then skip their zeros, whatever the inputs.

    `objective=loads` is the same, but layers bound by their weights are optimised for the fewest loads.

    Weights of magnitude up to `threshold` are not stored; with the default, 0, these are the zeros of either sign, and
    nothing changes but the sign of results that are zero; otherwise results may change by `bound`, relative to the
    largest (for `--check-semantics`).
    """

    name = "sparse-select-encoding"

    objective: Literal["bytes", "cycles", "loads"] = "bytes"
    groups: tuple[int, ...] = (1,)
    threshold: Number = 0.0
    chip: str | None = None
    calibrate: int | None = None
    bound: Number = 1.0

    @property
    def semantic_effect(self) -> SemanticEffect:
        """If only zeros are not stored, a weight of -0 is decoded as +0: the sign of a zero result may change."""
        return reassociating(0.0) if self._threshold() == 0 else lossy(number("bound", self.bound, 0))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_loops(op)
        threshold, chip = self._threshold(), self._chip(op)
        neurons = None
        if self.calibrate is not None:
            from ..analysis.execution.interpret import make_inputs  # compilations without inputs need no interpreter

            neurons = nonzero_activations(op, make_inputs(op, self.calibrate))
        objective = "loads" if self.objective == "loads" else "cycles"
        convert(plan_encodings(op, self.groups, threshold, chip, neurons, objective), threshold)

    def _threshold(self) -> float:
        return number("threshold", self.threshold, 0)

    def _chip(self, module: ModuleOp) -> Chip | None:
        """The chip, if the objective needs it."""
        if self.objective == "bytes":
            return None
        return chip_for(module, self.chip, f"{self.name}{{objective=cycles chip=NAME}}")


def convert(plans: list[PlannedWeight], threshold: float = 0.0) -> None:
    """Encode the weights and the activations as planned, and make their contractions sparse."""
    encoded: dict[tuple[SSAValue, IndexAttr, Nonzero | None, int | None], SSAValue] = {}

    def once(value: SSAValue, index: IndexAttr, nonzero: Nonzero | None = None, width: int | None = None) -> SSAValue:
        key = (value, index, nonzero, width)
        if key not in encoded:
            with at(value):
                encode = EncodeOp(value, index, nonzero, width)
            Rewriter.insert_op(encode, after_value(value))
            encoded[key] = encode.result
        return encoded[key]

    for plan in plans:
        use, operands = plan.use, list(plan.use.op.operands)
        if (format := plan.choice.format) is not None:
            index = IndexAttr(format.kind, format.bits, axis=use.axis, threshold=threshold, group=format.group)
            # Cycles, and the expected shares of nonzero activations, are those for these panels.
            panels = None if plan.chosen is None else plan.chosen.panels
            width = None if panels is None else panels.width
            operands[use.position] = once(use.source.result, index, width=width)
        if plan.encode_neurons:
            axis = len(shape_of(operands[0])) - 2 if isinstance(use.op, MatmulOp) else 0
            operands[0] = once(operands[0], IndexAttr(Kind.DIRECT, axis=axis), plan.neurons)
        if operands == list(use.op.operands):
            continue
        first, second = operands
        with at(use.op):
            if isinstance(use.op, MatmulOp):
                new = SparseMatmulOp.of(use.op, first, second)
            else:
                new = SparseConvOp.of(use.op, first, second)
        new.results[0].name_hint = use.op.result.name_hint
        Rewriter.replace_op(use.op, new)
