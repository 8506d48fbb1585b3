"""Access planning: operands of any rank as instructions with at most five dimensions an operand.

The iteration of an instruction is a list of dimensions, each in one group (kept, reduced, batch, m, ...) and with one
byte stride per operand (0: the operand does not move along it). Planning drops dimensions of size 1, orders and merges
the rest where all operands allow it, and moves dimensions beyond the fifth, and those with strides beyond 32 bits, into
a loop around the instruction. Plans depend on sizes and strides only, not on addresses, so they are computed once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...dialects.coreasm.encoding import MAX_DIMS
from ...support.errors import MeshloomError

_I32 = 1 << 31


class Dim(NamedTuple):
    """One dimension of an instruction's iteration."""

    size: int
    group: int
    strides: tuple[int, ...]
    """Byte stride in each operand."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The role of each descriptor of an instruction."""

    operands: tuple[tuple[int, ...], ...]
    """Per operand the groups of dimensions that it has, outermost first."""
    ordered: frozenset[int] = field(default_factory=frozenset[int])
    """Groups whose dimensions keep order and number (not merged, dropped or looped over)."""
    reduced: frozenset[int] = field(default_factory=frozenset[int])
    """Groups over which a loop must accumulate."""
    required: frozenset[int] = field(default_factory=frozenset[int])
    """Groups that need at least one dimension, if only of size 1."""


class Access(NamedTuple):
    """
    The access to one operand: a descriptor, and the range of bytes relative to the operand's address (without the width
    of the last element).
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    low: int
    high: int


class Step(NamedTuple):
    """One instruction of the loop around a plan."""

    offsets: tuple[int, ...]
    """Bytes to add to the address of each operand."""
    accumulate: bool
    """Whether an earlier step has written a partial result."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The instructions to emit for one operation."""

    accesses: tuple[Access, ...]
    steps: tuple[Step, ...]
    counts: tuple[int, ...]
    """Dimensions in each group."""
    extents: tuple[int, ...]
    """Product of the sizes of each group, of one step."""
    dims: tuple[Dim, ...]
    """Dimensions of one step."""
    cost: int
    """The cost that was minimised: cycles for a contraction, otherwise the number of instructions."""


def plan_access(dims: Sequence[Dim], layout: Layout, cost: Callable[[Sequence[int]], int] | None = None) -> Plan:
    """The cheapest plan found (greedily) for an iteration.

    `cost` maps the products of the groups' sizes of one step to the cost of a step; 1 if absent. Raises MeshloomError
    where an ordered group has too many dimensions.
    """
    groups = 1 + max(group for operand in layout.operands for group in operand)
    looped = [dim for dim in dims if any(not -_I32 <= stride < _I32 for stride in dim.strides) and dim.size > 1]
    inner = _merged([dim for dim in dims if dim not in looped], groups, layout.ordered)
    present = {dim.group for dim in inner}
    inner += [Dim(1, group, (0,) * len(layout.operands)) for group in sorted(layout.required - present)]
    while any(sum(dim.group in operand for dim in inner) > MAX_DIMS for operand in layout.operands):
        candidates = [dim for dim in inner if dim.group not in layout.ordered and dim.size > 1]
        if not candidates:
            raise MeshloomError(
                f"an access of {len(inner)} ordered dimensions needs more than {MAX_DIMS} descriptor dimensions: "
                "split it"
            )
        outer = min(candidates, key=lambda dim: _rank(dim, inner, groups, layout, cost))
        inner.remove(outer)
        looped.append(outer)
    extents = _extents(inner, groups)
    steps = _steps(looped, len(layout.operands), layout.reduced)
    return Plan(
        accesses=tuple(_access(inner, number, order) for number, order in enumerate(layout.operands)),
        steps=steps,
        counts=tuple(sum(dim.group == group for dim in inner) for group in range(groups)),
        extents=extents,
        dims=tuple(inner),
        cost=len(steps) * (cost(extents) if cost else 1),
    )


def _merged(dims: Sequence[Dim], groups: int, ordered: frozenset[int]) -> list[Dim]:
    result: list[Dim] = []
    for group in range(groups):
        members = [dim for dim in dims if dim.group == group]
        if group in ordered:
            result += members
            continue
        members = sorted((dim for dim in members if dim.size != 1), key=_span, reverse=True)
        merged: list[Dim] = []
        for dim in members:
            if merged and all(
                outer == inner * dim.size for outer, inner in zip(merged[-1].strides, dim.strides, strict=True)
            ):
                dim = Dim(merged.pop().size * dim.size, group, dim.strides)
            merged.append(dim)
        result += merged
    return result


def _span(dim: Dim) -> tuple[int, ...]:
    return tuple(abs(stride) for stride in dim.strides)


def _rank(
    dim: Dim, inner: Sequence[Dim], groups: int, layout: Layout, cost: Callable[[Sequence[int]], int] | None
) -> tuple[int, int, int]:
    """Order of preference for looping over `dim`: cost, then no accumulation, then few instructions."""
    price = dim.size
    if cost:
        price *= cost(_extents([other for other in inner if other is not dim], groups))
    helps = any(
        dim.group in operand and sum(other.group in operand for other in inner) > MAX_DIMS
        for operand in layout.operands
    )
    return (price if helps else 1 << 62, int(dim.group in layout.reduced), dim.size)


def _extents(dims: Sequence[Dim], groups: int) -> tuple[int, ...]:
    extents = [1] * groups
    for dim in dims:
        extents[dim.group] *= dim.size
    return tuple(extents)


def _access(dims: Sequence[Dim], number: int, order: tuple[int, ...]) -> Access:
    own = [(dim.size, dim.strides[number]) for group in order for dim in dims if dim.group == group]
    low = sum((size - 1) * stride for size, stride in own if stride < 0)
    high = sum((size - 1) * stride for size, stride in own if stride > 0)
    return Access(tuple(size for size, _ in own), tuple(stride for _, stride in own), low, high)


def _steps(looped: Sequence[Dim], operands: int, reduced: frozenset[int]) -> tuple[Step, ...]:
    """The loop around an instruction, reduced dimensions innermost."""
    loops = sorted(looped, key=lambda dim: dim.group in reduced)
    steps: list[Step] = []
    for index in itertools.product(*(range(dim.size) for dim in loops)):
        offsets = [0] * operands
        accumulate = False
        for position, dim in zip(index, loops, strict=True):
            accumulate |= position > 0 and dim.group in reduced
            for operand, stride in enumerate(dim.strides):
                offsets[operand] += position * stride
        steps.append(Step(tuple(offsets), accumulate))
    return tuple(steps)
