"""Pass `sparse-to-dataflow`: what no unit does on encoded operands becomes dense computation with the same zeros."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.nature import Nature, reassociating
from ..analysis.sparse.encode import decode
from ..dialects.dataflow import CastOp, CompareOp, ConstantOp, ReduceOp, ReshapeOp, SelectOp, WeightOp
from ..dialects.dataflow.elementwise import Predicate
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_of, is_float, shape_of, tensor, tensor_of
from ..dialects.locations import at, located
from ..dialects.sparse import (
    CombineOp,
    CompactOp,
    ConnectionsOp,
    ConvOp,
    DecodeOp,
    EncodeOp,
    MatmulOp,
    PanelOp,
    PruneGroupsOp,
)
from ..dialects.sparse.types import decoded, index_of
from ..dialects.sparse.values import encode_array
from ..support.errors import InputError
from ..transforms.known_values import source_of


@dataclass(frozen=True)
class SparseToDataflowPass(ModulePass):
    """
    Lower the operations of `sparse` to dense ones: an encoded tensor becomes the dense tensor that it decodes to, what
    connects becomes a mask. Contractions on panels stay: matrix units do them.

    -0 may become +0 and the other way round where a threshold leaves it out.
    """

    name = "sparse-to-dataflow"
    nature: ClassVar[Nature] = reassociating(0.0)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_sparse(op)


def lower_sparse(module: ModuleOp) -> None:
    """Replace them all. Raises InputError for encoded arguments, and for what has no dense form."""
    for function in module.walk():
        if isinstance(function, FuncOp):
            types = (*function.function_type.inputs, *function.function_type.outputs)
            if any(index_of(type) is not None for type in types):
                error = InputError(
                    f"function @{function.sym_name.data} has encoded arguments or results: to be compiled, it needs "
                    f"dense ones, which sparse.encode and sparse.decode connect to the rest"
                )
                raise located(error, function)
    for op in list(module.walk()):
        if op.name.startswith("sparse.") and not isinstance(op, PanelOp):
            with at(op):
                value = _Dense(op).lower()
            value.name_hint = value.name_hint or op.results[0].name_hint
            # Those who read an encoded tensor are replaced as well, one after the other.
            op.results[0].replace_all_uses_with(value)
            Rewriter.erase_op(op)


@dataclass
class _Dense:
    """The dense form of one operation, whose operands have been replaced already."""

    op: Operation

    def lower(self) -> SSAValue:
        """The value that stands for its result."""
        match self.op:
            case EncodeOp():
                return self._encode(self.op)
            case DecodeOp():
                return self.op.operand
            case ConnectionsOp():
                zero = self._number(0, self.op.operand)
                return self._add(CompareOp(self.op.operand, zero, Predicate.NE))
            case CombineOp():
                return self._add(SelectOp(self.op.lhs, self.op.rhs, self._number(0, self.op.lhs)))
            case CompactOp():
                return self._add(SelectOp(self.op.connections, self.op.operand, self._number(0, self.op.operand)))
            case MatmulOp() | ConvOp():
                first, second = self.op.operands
                return self._add(self.op.dense(first, second))
            case PruneGroupsOp():
                return self._prune(self.op)
            case _:
                raise InputError(f"'{self.op.name}' cannot be compiled: it has no dense form")

    def _add(self, op: Operation) -> SSAValue:
        Rewriter.insert_op(op, InsertPoint.before(self.op))
        return op.results[0]

    def _number(self, value: float, like: SSAValue) -> SSAValue:
        return self._add(ConstantOp.splat(value, tensor(element_of(like), ())))

    def _encode(self, op: EncodeOp) -> SSAValue:
        index = index_of(op.result.type)
        assert index is not None
        source = op.operand.owner
        if isinstance(source, ConstantOp | WeightOp):
            type = tensor_of(op.operand)
            kept = decode(encode_array(evaluate(source, ()), type, index))
            name = source.sym_name.data if isinstance(source, WeightOp) else "weights"
            return self._add(source_of(kept, type.element_type, f"{name}_kept"))
        if index.threshold == 0:
            return op.operand
        if index.format.group > 1:
            raise InputError(
                f"{decoded(tensor_of(op.result))} is encoded in groups of {index.format.group} above a threshold while "
                f"the network runs: no chip does that; use group = 1"
            )
        return self._above(op.operand, index.threshold)

    def _above(self, x: SSAValue, threshold: float) -> SSAValue:
        """x where |x| > threshold (and where it is no number), else 0."""
        limit = threshold if is_float(element_of(x)) else math.floor(threshold)
        zero = self._number(0, x)
        high = self._add(CompareOp(x, self._number(limit, x), Predicate.LE))
        low = self._add(CompareOp(x, self._number(-limit, x), Predicate.GE))
        return self._add(SelectOp(high, self._add(SelectOp(low, zero, x)), x))

    def _prune(self, op: PruneGroupsOp) -> SSAValue:
        shape = shape_of(op.operand)
        size, rest = divmod(math.prod(shape), op.group_count)
        if rest:
            raise InputError(
                f"sparse.prune_groups cuts {math.prod(shape)} elements into {op.group_count} groups while the network "
                f"runs: a chip takes groups of equal size"
            )
        groups = self._add(ReshapeOp(op.operand, (op.group_count, size)))
        large = self._add(
            CompareOp(self._above(groups, op.threshold.value.data), self._number(0, groups), Predicate.NE)
        )
        counted = self._add(ReduceOp(self._add(CastOp(large, f32)), "sum", [1]))
        # More than `limit` small ones: fewer than size - limit large ones.
        enough = self._add(CompareOp(counted, self._number(size - op.limit.value.data, counted), Predicate.GE))
        kept = self._add(SelectOp(enough, groups, self._number(0, groups)))
        return self._add(ReshapeOp(kept, shape))
