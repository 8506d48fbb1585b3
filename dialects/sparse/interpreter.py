"""
The interpreter of `sparse` programs: an encoded tensor is represented by its index and values, as in memory.

Contractions decode their operands and use the semantics of `dataflow`; so the results are those of dense computation
with the same zeros, in the same order of accumulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Block, SSAValue

from ...formats.sparse.connection import combine, compact, connections
from ...formats.sparse.prune import apply, contiguous_groups, group_pruning
from ..dataflow.constants import Array, widen_bf16
from ..dataflow.evaluate import evaluate
from ..dataflow.types import element_of, tensor_of
from .block_ops import PanelCombineOp, PanelCompactOp, PanelConnectionsOp, PanelDecodeOp, PanelEncodeOp
from .compute import ConvOp, MatmulOp, SparseOp
from .encoded_matmul import EncodedMatmulOp
from .fill_panels import FillPanelsOp
from .ops import CombineOp, CompactOp, ConnectionsOp, DecodeOp, EncodeOp
from .panel_ops import PanelConvOp, PanelMatmulOp
from .prune import PruneGroupsOp
from .types import decoded, index_of
from .values import as_array, as_encoded, connect_array, encode_array


@register_impls
class SparseFunctions(InterpreterFunctions):
    """The reference semantics, for xDSL's interpreter."""

    @impl(EncodeOp)
    def run_encode(self, interpreter: Interpreter, op: EncodeOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Encode a tensor to index and values."""
        index = index_of(op.result.type)
        assert index is not None
        return (encode_array(args[0], tensor_of(op.operand), index),)

    @impl(DecodeOp)
    def run_decode(self, interpreter: Interpreter, op: DecodeOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Decode a tensor. Raises InputError for a damaged index."""
        return (as_array(as_encoded(args[0], tensor_of(op.operand))),)

    @impl(ConnectionsOp)
    def run_connections(self, interpreter: Interpreter, op: ConnectionsOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the index with values of one bit."""
        return (connections(as_encoded(args[0], tensor_of(op.operand))),)

    @impl(CombineOp)
    def run_combine(self, interpreter: Interpreter, op: CombineOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Combine connections, in the arrangement of the result."""
        lhs, rhs = (as_encoded(value, tensor_of(one)) for value, one in zip(args, op.operands, strict=True))
        index = index_of(op.result.type)
        assert index is not None
        connected = as_array(combine(lhs, rhs, index.format))
        return (connect_array(connected, tensor_of(op.result), index),)

    @impl(CompactOp)
    def run_compact(self, interpreter: Interpreter, op: CompactOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the connected elements."""
        return (compact(_dense(args[0], op.operand), as_encoded(args[1], tensor_of(op.connections))),)

    @impl(PruneGroupsOp)
    def run_prune_groups(self, interpreter: Interpreter, op: PruneGroupsOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Prune groups of neighbours in row-major order."""
        (array,) = args
        values = widen_bf16(array) if str(element_of(op.operand)) == "bf16" else array
        groups = contiguous_groups(array.size, op.group_count).reshape(array.shape)
        mask = group_pruning(values, groups, op.threshold.value.data, op.limit.value.data)
        return (apply(array, mask),)

    @impl(MatmulOp)
    def run_matmul(self, interpreter: Interpreter, op: MatmulOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Compute the dense product."""
        return _contract(op, args)

    @impl(PanelMatmulOp)
    def run_panel_matmul(self, interpreter: Interpreter, op: PanelMatmulOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Raises InputError for damaged panels."""
        return (op.compute(args),)

    @impl(PanelConvOp)
    def run_panel_conv(self, interpreter: Interpreter, op: PanelConvOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Raises InputError for damaged panels."""
        return (op.compute(args),)

    @impl(FillPanelsOp)
    def run_fill_panels(self, interpreter: Interpreter, op: FillPanelsOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Write index and values to panels."""
        return (op.compute(args),)

    @impl(PanelEncodeOp)
    def run_panel_encode(self, interpreter: Interpreter, op: PanelEncodeOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the bytes of panels."""
        return (op.compute(args),)

    @impl(PanelDecodeOp)
    def run_panel_decode(self, interpreter: Interpreter, op: PanelDecodeOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Raises InputError for damaged panels."""
        return (op.compute(args),)

    @impl(PanelConnectionsOp)
    def run_panel_connections(
        self, interpreter: Interpreter, op: PanelConnectionsOp, args: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Raises InputError for damaged panels."""
        return (op.compute(args),)

    @impl(PanelCombineOp)
    def run_panel_combine(self, interpreter: Interpreter, op: PanelCombineOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Raises InputError for damaged panels."""
        return (op.compute(args),)

    @impl(PanelCompactOp)
    def run_panel_compact(self, interpreter: Interpreter, op: PanelCompactOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Raises InputError for damaged panels."""
        return (op.compute(args),)

    @impl(EncodedMatmulOp)
    def run_encoded_matmul(
        self, interpreter: Interpreter, op: EncodedMatmulOp, args: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Raises InputError for damaged panels."""
        return (op.compute(args),)

    @impl(ConvOp)
    def run_conv(self, interpreter: Interpreter, op: ConvOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Compute the dense convolution."""
        return _contract(op, args)


def _contract(op: SparseOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dense operation on decoded operands."""
    types = [decoded(tensor_of(value)) for value in op.operands]
    # Its operands only need types.
    first, second = Block(arg_types=types).args
    arrays = [np.ascontiguousarray(_dense(value, operand)) for value, operand in zip(args, op.operands, strict=True)]
    return (evaluate(op.dense(first, second), arrays),)


def _dense(value: Any, operand: SSAValue) -> Array:
    """
    The elements of an operand's value; for an encoded type, only those that are stored, even if the value is an array.
    """
    type = tensor_of(operand)
    return value if index_of(type) is None else as_array(as_encoded(value, type))
