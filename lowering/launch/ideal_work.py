"""The minimal work of a network, for rooflines."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...dialects.dataflow.loop import LoopOp
from ...dialects.dataflow.tiling import Box, TilingInterface
from ...dialects.manycore import TaskOp
from .dram_segments import bytes_of


def ideal_work(function: FuncOp) -> dict[str, int]:
    """Work of the network itself, for rooflines: multiply-accumulates, element operations and bytes of DRAM traffic."""
    macs = vpu_ops = 0
    dram_bytes = sum(bytes_of(value) for value in function.body.block.args)
    last = function.body.block.last_op
    dram_bytes += sum(bytes_of(value) for value in (last.operands if last is not None else ()))
    for op in function.walk():
        if isinstance(op, TilingInterface):
            cost = op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))
            runs = runs_of(op)
            macs += runs * cost.macs if cost.matmul is not None else 0
            vpu_ops += runs * cost.vpu_ops if cost.matmul is None else 0
        elif len(op.results) == 1 and not op.operands and not isinstance(op, TaskOp):
            dram_bytes += _bytes_read(op.results[0])
    return {"macs": macs, "vpu_ops": vpu_ops, "dram_bytes": dram_bytes}


def runs_of(op: Operation) -> int:
    """The number of runs of an operation: the steps of the loops around it."""
    runs, around = 1, op.parent_op()
    while around is not None:
        runs *= around.step_count if isinstance(around, LoopOp) else 1
        around = around.parent_op()
    return runs


def _bytes_read(value: SSAValue) -> int:
    """Bytes of a constant that must be read; for one that is only gathered from, at most the gathered bytes."""
    needed = 0
    for use in value.uses:
        user = use.operation
        if isinstance(user, TaskOp):
            needed += _bytes_read(user.body.block.args[use.index])
            continue
        if not isinstance(user, TilingInterface):
            return bytes_of(value)
        whole = Box.whole(tuple(dim.size for dim in user.iteration_space()))
        indexed = user.operand_slice(use.index, whole).indexed
        needed += bytes_of(user.results[0]) if indexed else bytes_of(value)
    return min(needed, bytes_of(value))
