"""Merge neighbouring subgraphs that have no operation of `memory` between them into one launch."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow.types import shape_of
from ...dialects.locations import at
from ...dialects.manycore import SubgraphOp, YieldOp
from ...dialects.memory.stash_check import memory_of
from ...transforms.offload.script import is_free
from ..launch.dram_segments import bytes_of, padded


def share_launches(function: FuncOp, most: int) -> int:
    """
    Merge neighbouring subgraphs without an operation of `memory` between them, in place, as long as the values that
    enter and leave take at most `most` bytes of DRAM. Returns the number of subgraphs that were merged into others.
    """
    joined = 0
    before: SubgraphOp | None = None
    for op in list(function.body.block.ops):
        if isinstance(op, SubgraphOp):
            if before is not None and _crossing_bytes(before, op) <= most:
                op, joined = _join(before, op), joined + 1
            before = op
        elif not (isinstance(op, ReshapeOp) or is_free(op)):
            before = None
    return joined


def _crossing_bytes(first: SubgraphOp, second: SubgraphOp) -> int:
    """Bytes of the values that enter and leave two subgraphs together."""
    entering = {*first.inputs, *(value for value in second.inputs if memory_of(value) not in first.outputs)}
    leaving = [value for value in (*first.outputs, *second.outputs) if _is_read(value, second)]
    return sum(padded(bytes_of(value)) for value in (*entering, *leaving))


def _join(first: SubgraphOp, second: SubgraphOp) -> SubgraphOp:
    """Merge two subgraphs, at the position of the second."""
    body, inside = Block(), dict[SSAValue, SSAValue]()
    entering: dict[SSAValue, SSAValue] = {}

    def enter(value: SSAValue) -> SSAValue:
        if value not in entering:
            entering[value] = body.insert_arg(value.type, len(body.args))
            entering[value].name_hint = value.name_hint
        return entering[value]

    for argument, value in zip(first.body.block.args, first.inputs, strict=True):
        inside[argument] = enter(value)
    _copy_into(body, first, inside)
    made: dict[SSAValue, SSAValue] = {
        output: inside[value] for output, value in zip(first.outputs, first.yielded, strict=True)
    }
    for argument, value in zip(second.body.block.args, second.inputs, strict=True):
        here = made.get(memory_of(value))
        if here is None:
            here = enter(value)
        elif shape_of(here) != shape_of(value):
            with at(second):
                view = ReshapeOp(here, tuple(shape_of(value)))
            body.add_op(view)
            here = view.results[0]
        inside[argument] = here
    _copy_into(body, second, inside)
    made |= {output: inside[value] for output, value in zip(second.outputs, second.yielded, strict=True)}
    leaving = [value for value in made if _is_read(value, second)]
    with at(first):
        body.add_op(YieldOp(*(made[value] for value in leaving)))
        outputs = [value.type for value in leaving]
        joint = SubgraphOp(first.sym_name.data, list(entering), outputs, Region(body))
    views = _views_between(first, second)
    Rewriter.insert_op(joint, InsertPoint.after(second))
    for value, result in zip(leaving, joint.outputs, strict=True):
        result.name_hint = value.name_hint
        value.replace_all_uses_with(result)
    point: Operation = joint
    for view in views:
        view.detach()
        Rewriter.insert_op(view, InsertPoint.after(point))
        point = view
    Rewriter.erase_op(second)
    for view in reversed(views):
        if view.result.first_use is None:
            Rewriter.erase_op(view)
    Rewriter.erase_op(first)
    return joint


def _copy_into(body: Block, subgraph: SubgraphOp, inside: dict[SSAValue, SSAValue]) -> None:
    """Copy a subgraph's operations to the end of a block; `inside` maps its values."""
    for op in list(subgraph.body.block.ops)[:-1]:
        body.add_op(op.clone(inside))


def _is_read(value: SSAValue, second: SubgraphOp) -> bool:
    """Whether an operation other than the second subgraph reads a value or a view of it."""
    for use in value.uses:
        if isinstance(use.operation, ReshapeOp):
            if _is_read(use.operation.results[0], second):
                return True
        elif use.operation is not second:
            return True
    return False


def _views_between(first: SubgraphOp, second: SubgraphOp) -> list[ReshapeOp]:
    """The views between two subgraphs of the results of the first."""
    found: list[ReshapeOp] = []
    op = first.next_op
    while op is not None and op is not second:
        if isinstance(op, ReshapeOp) and memory_of(op.results[0]) in first.outputs:
            found.append(op)
        op = op.next_op
    return found
