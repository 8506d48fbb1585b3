"""Pass `sparse-balance-lanes`: output channels in an order in which the lanes of a matrix unit have like work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.nature import Nature, reassociating
from ..analysis.sparse.balance import balance_panels, panel_work
from ..analysis.sparse.bits import Ints
from ..chips import load_chip
from ..dialects.dataflow import ConstantOp, ConvOp, MatmulOp, WeightOp
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_of, shape_of
from ..dialects.manycore import chip_of
from ..support.errors import InputError
from .channel_places import Channels, Edit, Place
from .contraction_weights import WeightUse, numeric_values, weight_uses
from .known_values import Array, source_of

WORTHWHILE = 0.99
"""Channels are moved only if lanes then take less than this share of the time."""


@dataclass(frozen=True)
class Balanced:
    """What moving the channels of some contractions brings."""

    names: tuple[str, ...]
    """Of their weights."""
    before: float
    """Useful over all cycles of the lanes, with neurons in the order of the network."""
    after: float


@dataclass(frozen=True)
class SparseBalanceLanesPass(ModulePass):
    """
    Sort the output channels of contractions with known weights by their numbers of weights that are not zero, so that
    channels that go through the columns of a matrix unit together (`chip`'s, or the module's) have like work.

    The same order is given to what is known about the channels further on: biases and scales, and the input channels of
    the contractions that read them. Nothing moves where the order would show, such as in results of the network.
    """

    name = "sparse-balance-lanes"
    nature: ClassVar[Nature] = reassociating(1e-5)

    chip: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = load_chip(self.chip) if self.chip is not None else chip_of(op)
        if chip is None:
            raise InputError("no chip is given: use sparse-balance-lanes{chip=NAME}")
        balance_lanes(op, chip.mpu_cols)


def balance_lanes(module: ModuleOp, columns: int) -> list[Balanced]:
    """Move channels where that helps a matrix unit of so many columns; what it brought."""
    uses = {use.op: use for use in weight_uses(module) if use.position == 1}
    seen: set[SSAValue] = set()
    reports: list[Balanced] = []
    edits: dict[tuple[Operation, int], list[tuple[Place, Ints]]] = {}
    for use in uses.values():
        if use.op.results[0] in seen:
            continue
        channels = Channels()
        result = use.op.results[0]
        axis = 1 if isinstance(use.op, ConvOp) else len(shape_of(result)) - 1
        channels.follow(result, Place(axis, shape_of(result)[axis]))
        seen.update(channels.places)
        if channels.fixed or (found := _order(channels, uses, columns)) is None:
            continue
        permutation, report = found
        reports.append(report)
        for edit in channels.edits:
            edits.setdefault((edit.op, edit.operand), []).append((edit.place, permutation))
    for (op, operand), orders in edits.items():
        _reorder(op, operand, orders)
    return reports


def _order(channels: Channels, uses: dict[MatmulOp | ConvOp, WeightUse], columns: int) -> tuple[Ints, Balanced] | None:
    """The best order of the channels; None where the one that they have is as good."""
    producers = [edit for edit in channels.edits if edit.produces]
    counts = [_weights_per_channel(edit, uses) for edit in producers]
    if not counts or any(count is None for count in counts):
        return None
    work = [count for count in counts if count is not None]
    rows = [uses[edit.op].rows for edit in producers if isinstance(edit.op, MatmulOp | ConvOp)]
    total = np.sum([own * times for own, times in zip(work, rows, strict=True)], axis=0)
    width = -(-len(total) // -(-len(total) // columns))
    permutation = balance_panels(total, width)
    before = sum(panel_work(own, width) * times for own, times in zip(work, rows, strict=True))
    after = sum(panel_work(own[permutation], width) * times for own, times in zip(work, rows, strict=True))
    if not before or after >= before * WORTHWHILE:
        return None
    useful = float(total.sum())
    names = tuple(uses[edit.op].name for edit in producers if isinstance(edit.op, MatmulOp | ConvOp))
    return permutation, Balanced(names, useful / (before * width), useful / (after * width))


def _weights_per_channel(edit: Edit, uses: dict[MatmulOp | ConvOp, WeightUse]) -> Ints | None:
    """Weights that are not zero, by channel; None where the contraction is no matrix product of known weights."""
    if not isinstance(edit.op, MatmulOp | ConvOp) or (use := uses.get(edit.op)) is None:
        return None
    place = edit.place
    if use.position != edit.operand or (place.outer, place.inner, place.offset) != (1, 1, 0):
        return None
    return np.count_nonzero(use.strings.matrix(numeric_values(use.source)), axis=1).astype(np.int64)


def _reorder(op: Operation, operand: int, orders: list[tuple[Place, Ints]]) -> None:
    """Give an operation a known operand in another order."""
    value = op.operands[operand]
    array, name = _known(value)
    for place, permutation in orders:
        array = np.take(array, place.order(array.shape[place.axis], permutation), axis=place.axis)
    source = source_of(np.ascontiguousarray(array), element_of(value), f"{name}_balanced")
    source.results[0].name_hint = value.name_hint
    Rewriter.insert_op(source, InsertPoint.before(op))
    op.operands[operand] = source.results[0]
    _erase_unused(value)


def _known(value: SSAValue) -> tuple[Array, str]:
    """The elements of a known value at its own shape, in storage form, and a name."""
    owner = value.owner
    if isinstance(owner, ConstantOp | WeightOp):
        name = owner.sym_name.data if isinstance(owner, WeightOp) else value.name_hint or "constant"
        return evaluate(owner, ()), name
    assert isinstance(owner, Operation)
    inner, name = _known(owner.operands[0])
    shape = shape_of(value)
    if math.prod(inner.shape) == math.prod(shape):
        return inner.reshape(shape), name
    return np.broadcast_to(inner, shape), name


def _erase_unused(value: SSAValue) -> None:
    while isinstance(value.owner, Operation) and value.first_use is None:
        owner = value.owner
        operands = list(owner.operands)
        Rewriter.erase_op(owner)
        if not operands:
            return
        value = operands[0]
