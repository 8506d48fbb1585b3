"""
Grouping of operations into tasks: a root, the elementwise operations over its result that can be computed tile by tile,
and the slices that only one of these reads, which it reads in place. Slices join in a separate step, so that stages
that are cut between groups pass slices, not the values that the slices are cut from.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.dataflow import ElementwiseOp, ReshapeOp, SliceOp
from ...dialects.dataflow.loop_reads import values_read
from ...dialects.dataflow.tiling import TilingInterface
from ...dialects.dataflow.types import shape_of

MAX_EPILOGUE = 12
"""Largest number of elementwise operations that join a root, since each may need a separate buffer."""
LOOK_AHEAD = 64
"""Number of operations after the root that are examined as members of its group."""


def group_operations(block: Block) -> list[tuple[TilingInterface, ...]]:
    """
    All operations of `block` with a tiling interface, except reshapes, in groups that compute one used value each.

    The order of the groups, each at the position of its last operation, respects dependencies.
    """
    ops = list(block.ops)
    taken: set[Operation] = set()
    groups: list[tuple[int, tuple[TilingInterface, ...]]] = []
    for position, op in enumerate(ops):
        if op in taken or not is_tiled(op):
            continue
        members = grow(op, ops[position + 1 : position + 1 + LOOK_AHEAD], taken)
        taken.update(members)
        groups.append((ops.index(members[-1], position), members))
    groups.sort(key=lambda group: group[0])
    return [members for _, members in groups]


def is_tiled(op: Operation) -> bool:
    """Whether an operation becomes part of a task (a reshape does not: it only changes the view of memory)."""
    return isinstance(op, TilingInterface) and not isinstance(op, ReshapeOp)


def grow(root: Operation, following: Sequence[Operation], taken: set[Operation]) -> tuple[TilingInterface, ...]:
    """
    The group of a root: the operations after it in the block that are in no other group (`taken`) and can join it.
    """
    assert isinstance(root, TilingInterface)
    members: list[TilingInterface] = [root]
    inside: set[SSAValue] = {root.results[0]}
    outside_but_later: set[SSAValue] = set()
    shape = shape_of(root.results[0])
    best = 1
    for op in following:
        reads_inside = any(value in inside for value in values_read(op))
        if any(value in outside_but_later for value in values_read(op)):
            outside_but_later.update(op.results)
        elif (
            reads_inside
            and isinstance(op, ElementwiseOp)
            and op not in taken
            and len(members) <= MAX_EPILOGUE
            and shape_of(op.results[0]) == shape
        ):
            members.append(op)
            inside.add(op.results[0])
            if has_one_output(members):
                best = len(members)
        elif reads_inside:
            outside_but_later.update(op.results)
    return tuple(members[:best])


def with_slices(groups: Sequence[tuple[TilingInterface, ...]]) -> list[tuple[TilingInterface, ...]]:
    """
    The groups, with each slice that is a separate group moved into the group of its only reader, before this reader.
    """
    slices = {group[0]: group for group in groups if len(group) == 1 and isinstance(group[0], SliceOp)}
    joined: set[Operation] = set()
    found: list[tuple[TilingInterface, ...]] = []
    for group in groups:
        members = list(group[:1])
        for op in group[1:]:
            own = [one for one in _slices_of(op) if one in slices]
            if len(group) + len(own) <= MAX_EPILOGUE:
                members += own
                joined.update(own)
            members.append(op)
        found.append(tuple(members))
    return [group for group in found if group[0] not in joined]


def _slices_of(op: Operation) -> list[SliceOp]:
    """The slices that only this operation reads, and that have the shape of its result."""
    slices = dict.fromkeys(value.owner for value in op.operands if isinstance(value.owner, SliceOp))
    shape = shape_of(op.results[0])
    return [
        one for one in slices if shape_of(one.result) == shape and all(use.operation is op for use in one.result.uses)
    ]


def has_one_output(members: Sequence[Operation]) -> bool:
    """Whether only members read the results of all members but the last one."""
    group = set(members)
    return all(all(use.operation in group for use in member.results[0].uses) for member in members[:-1])
