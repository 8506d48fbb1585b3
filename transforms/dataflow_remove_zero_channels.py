"""Pass `dataflow-remove-zero-channels`: remove channels whose weights are all zero from tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..dialects.dataflow import (
    AddOp,
    BroadcastOp,
    ConcatOp,
    Contraction,
    ConvOp,
    GatherOp,
    PadOp,
    ReduceOp,
    Reduction,
    SliceOp,
    WeightOp,
)
from ..dialects.dataflow.base import DataflowOp, int_attr, int_list, ints
from ..dialects.dataflow.types import Shape, element_bytes, element_of, shape_of, tensor, tensor_bytes, tensor_of
from ..dialects.locations import at
from .shared.channel_links import RESULT, Axis, ChannelLinks, Ints, Spot, all_spots, axis_of, is_linked, known_indices
from .shared.constant_channels import ConstantChannels, Mask, as_stored
from .shared.constants import Array, constant_array, constant_source, is_constant, source_name, source_of
from .shared.contraction_weights import weight_name
from .shared.offloaded_values import is_offloaded
from .shared.rewrite_once import after_value, erase_unread


@dataclass(frozen=True)
class DataflowRemoveZeroChannelsPass(ModulePass):
    """
    Remove channels without effect, from the operations that compute them to those that read them.

    A channel is removed if all of its readers multiply it by zeros, or if it is constant, as an output channel without
    weights is: the contribution of the constant is added to the reader's result. Channels that are added, concatenated
    or reshaped together are removed together. Inputs and results of the program keep their shapes: if more weights are
    removed than elements move, the remaining channels of an input are gathered, and constant ones of a result inserted.

    Floats may differ by the order of sums. As with encoded weights, the sign of a zero may change, and the product of a
    zero weight with an infinite activation or NaN counts as zero.
    """

    name = "dataflow-remove-zero-channels"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remove_zero_channels(op)


def remove_zero_channels(module: ModuleOp) -> dict[str, tuple[Shape, Shape]]:
    """Remove channels as the pass does. Returns the weights of contractions that shrank, by name, with both shapes."""
    names = {op.sym_name.data for op in module.walk() if isinstance(op, WeightOp)}
    before = _known_weights(module)
    blocks = {op.parent: None for op in module.walk() if isinstance(op, Contraction) and op.parent is not None}
    for block in blocks:
        # After channels have been removed, others may be found to be zero.
        while _replace_constants(block, names) or _remove_once(block, names):
            pass
    after = _known_weights(module)
    shapes = {name: (shape, after[op][1]) for op, (name, shape) in before.items() if op in after}
    return {name: pair for name, pair in shapes.items() if pair[0] != pair[1]}


def _known_weights(module: ModuleOp) -> dict[Operation, tuple[str, Shape]]:
    """Names and shapes of the weights of contractions."""
    found: dict[Operation, tuple[str, Shape]] = {}
    for op in module.walk():
        if isinstance(op, Contraction) and (position := _known_operand(op)) is not None:
            source = constant_source(op.operands[position])
            assert source is not None
            found[op] = weight_name(source, op), shape_of(op.operands[position])
    return found


def _replace_constants(block: Block, names: set[str]) -> bool:
    """Replace values whose channels are all constant by constants. Returns whether there were any."""
    ops = list(block.ops)
    found, changed = ConstantChannels.of(ops).found, False
    for op in reversed(ops):
        if op.parent is None or not op.results or (known := found.get(value := op.results[0])) is None:
            continue
        axis = next((axis for axis, one in known.items() if one.mask.all()), None)
        if axis is None or not value.uses or is_offloaded(value):
            continue
        shape = [1] * len(shape_of(value))
        shape[axis] = -1
        with at(op):
            source = _source(known[axis].numbers.reshape(shape), value, "constant", names)
            whole = BroadcastOp(source, shape_of(value))
        Rewriter.insert_op([source, whole], InsertPoint.after(op))
        whole.result.name_hint = value.name_hint
        value.replace_all_uses_with(whole.result)
        erase_unread(value)
        changed = True
    return changed


def _remove_once(block: Block, names: set[str]) -> bool:
    """Remove the channels that are found to have no effect. Returns whether there were any."""
    ops = list(block.ops)
    constants = ConstantChannels.of(ops)
    contractions = [op for op in ops if isinstance(op, Contraction) and _known_operand(op) is not None]
    if not constants.found and not any(_has_zeros(op, constants) for op in contractions):
        return False
    plan = _Plan.of(ops, contractions, constants)
    return bool(plan.kept) and _Rewrite(ops, constants, plan, names).apply()


def _known_operand(op: Contraction) -> int | None:
    """Number of the constant operand, the weights."""
    if isinstance(op, ConvOp):
        return 1 if is_constant(op.weights) else None
    return next((position for position in (1, 0) if is_constant(op.operands[position])), None)


def _has_zeros(op: Contraction, constants: ConstantChannels) -> bool:
    """Whether a contraction has an input channel without weights."""
    position = _known_operand(op)
    assert position is not None
    if op.group_count > 1:
        return False
    return bool(_zero_slices(op, position, constants).any())


def _zero_slices(op: Contraction, position: int, constants: ConstantChannels) -> Mask:
    """Mask of the input channels of a contraction without weights."""
    weights = constants.weights(op.operands[position])
    assert weights is not None
    axis = op.inner_axis(position)
    stored: Mask = (weights != 0).any(axis=tuple(other for other in range(weights.ndim) if other != axis))
    return ~stored


def _inner_spot(spot: Spot) -> bool:
    """Whether a contraction sums over the axis with separate indices."""
    op = spot.op
    if not isinstance(op, Contraction) or spot.position == RESULT or op.group_count > 1:
        return False
    return spot.axis == op.inner_axis(spot.position) and not (isinstance(op, ConvOp) and spot.position == 1)


def _may_drop(spot: Spot, constants: ConstantChannels) -> Mask:
    """Mask of the indices of an axis that an operation does not need."""
    op = spot.op
    every = np.ones(spot.size, bool)
    if isinstance(op, ReduceOp) and spot.axis in ints(op.axes):
        mask, numbers = constants.numbers(spot.value, spot.axis)
        return mask & (numbers == 0) if op.kind.data is Reduction.SUM else ~every
    if not _inner_spot(spot):
        return every
    assert isinstance(op, Contraction)
    other = 1 - spot.position
    mask, numbers = constants.numbers(spot.value, spot.axis)
    weights = constants.weights(op.operands[other])
    if weights is None:
        theirs, of_them = constants.numbers(op.operands[other], op.inner_axis(other))
        return (mask & (numbers == 0)) | (theirs & (of_them == 0))
    if op.is_padded:
        mask = mask & (numbers == 0)  # the padding is zero
    lines = np.moveaxis(weights, op.inner_axis(other), 0).reshape(spot.size, -1)
    finite = np.asarray(np.isfinite(lines).all(axis=1))
    return _zero_slices(op, other, constants) | (mask & finite)


def _within(value: SSAValue, block: Block | None) -> bool:
    """Whether a value is computed and read by operations of this block only."""
    made = value.owner if isinstance(value.owner, Block) else value.owner.parent
    return made is block and all(use.operation.parent is block for use in value.uses)


@dataclass(frozen=True)
class _Border:
    """
    A border between full and reduced channels: a gather of the kept channels from a full value (no `op`), or the
    expansion for a reader.
    """

    axis: Axis
    op: Operation | None = None
    position: int = RESULT

    @property
    def nbytes(self) -> int:
        """Bytes of the full tensor."""
        value = self.axis[0] if self.op is None else self.op.operands[self.position]
        assert isinstance(value, SSAValue)
        return tensor_bytes(tensor_of(value))


@dataclass
class _Plan:
    """The channels that are kept."""

    links: ChannelLinks
    kept: dict[Axis, Mask] = field(default_factory=dict[Axis, Mask])
    """Axis -> mask of the kept indices, for the axes that lose some."""
    borders: list[_Border] = field(default_factory=list[_Border])

    @staticmethod
    def of(ops: Sequence[Operation], contractions: Sequence[Contraction], constants: ConstantChannels) -> _Plan:
        """The plan that removes all channels for which that pays."""
        links = ChannelLinks()
        for op in contractions:
            position = _known_operand(op)
            assert position is not None
            links.follow(op.result, op.result_axis(position))
            if not is_constant(inputs := op.operands[1 - position]):
                links.follow(inputs, op.inner_axis(1 - position))
        channel, spots = links.channels(), list(all_spots(ops, links))
        stays = np.zeros(links.count, bool)
        sources = {key for key in links.first if isinstance(key[0], SSAValue) and not is_linked(key[0])}
        sources |= {axis_of(spot) for spot in spots if spot.position == RESULT and spot not in links.spots}
        borders: dict[_Border, Ints] = {}
        for spot in spots:
            nodes, key = links.nodes(spot), axis_of(spot)
            if spot.position == RESULT:
                if isinstance(spot.op, PadOp) and spot in links.spots:
                    around = np.ones(spot.size, bool)
                    low = ints(spot.op.low)[spot.axis]
                    around[low : low + shape_of(spot.op.operand)[spot.axis]] = False
                    stays[nodes[around]] = True
                continue
            if key in sources and spot in links.spots:
                borders[_Border(key)] = nodes
            if spot in links.spots:
                if key[1] == RESULT:
                    stays[nodes[~_may_drop(spot, constants)]] = True
            elif key not in sources:
                stays[nodes[~constants.along(spot.value, spot.axis).mask]] = True
                borders[_Border(key, spot.op, spot.position)] = nodes
        for key, start in links.first.items():
            if isinstance(key[0], SSAValue) and (is_offloaded(key[0]) or not _within(key[0], ops[0].parent)):
                stays[start : start + shape_of(key[0])[key[2]]] = True
        keeps = np.zeros(links.count, bool)  # by channel
        keeps[channel[stays]] = True
        plan = _Plan(links)
        crossed = _worthwhile(spots, links, channel, keeps, borders)
        plan._take(channel, keeps)
        plan.borders = [border for border in crossed if border.axis in plan.kept]
        return plan

    def _take(self, channel: Ints, keeps: Mask) -> None:
        """The kept indices of each axis, at least one."""
        sizes: dict[Axis, int] = {}
        for key in self.links.first:
            value = key[0] if isinstance(key[0], SSAValue) else key[0].operands[key[1]]
            sizes[key] = shape_of(value)[key[2]]
        empty = True
        while empty:
            empty = False
            for key, start in self.links.first.items():
                own = channel[start : start + sizes[key]]
                if len(own) and not keeps[own].any():
                    keeps[own[0]] = empty = True
        for key, start in self.links.first.items():
            mask = keeps[channel[start : start + sizes[key]]]
            if not mask.all():
                self.kept[key] = mask


def _worthwhile(
    spots: Sequence[Spot], links: ChannelLinks, channel: Ints, keeps: Mask, borders: dict[_Border, Ints]
) -> list[_Border]:
    """
    The borders that pay: more bytes of weights are removed than are moved there. Channels that would need other borders
    are kept.
    """
    crossed: dict[int, list[_Border]] = {}
    for border, nodes in borders.items():
        for one in np.unique(channel[nodes]):
            if not keeps[one]:
                crossed.setdefault(int(one), []).append(border)
    if not crossed:
        return []
    saved = np.zeros(links.count)
    for spot in spots:
        if spot.position != RESULT and axis_of(spot)[1] != RESULT and isinstance(spot.op, Contraction):
            each = math.prod(shape_of(spot.value)) // spot.size * element_bytes(element_of(spot.value))
            np.add.at(saved, channel[links.nodes(spot)], each)
    groups: dict[tuple[_Border, ...], list[int]] = {}
    for one, needed in crossed.items():
        groups.setdefault(tuple(dict.fromkeys(needed)), []).append(one)
    taken: dict[_Border, None] = {}
    for needed, members in groups.items():
        if saved[members].sum() > sum(border.nbytes for border in needed):
            taken.update(dict.fromkeys(needed))
        else:
            keeps[members] = True
    return list(taken)


@dataclass
class _Rewrite:
    """Rewrites all operations to the kept channels."""

    ops: Sequence[Operation]
    constants: ConstantChannels
    plan: _Plan
    names: set[str]

    def apply(self) -> bool:
        """Rewrite everything. Returns True."""
        biases = {op: bias for op in self.ops if (bias := self._bias(op)) is not None}
        expansions = [
            (border, self.constants.along(border.op.operands[border.position], border.axis[2]).numbers)
            for border in self.plan.borders
            if border.op is not None
        ]
        gathers = self._gathers()
        replaced: dict[tuple[Operation, int], list[Operation]] = {}
        for op in self.ops:
            with at(op):
                self._attributes(op)
                for position in range(len(op.operands)):
                    if (new := self._known(op, position)) is not None:
                        replaced[op, position] = new
        self._types()
        for (op, position), new in replaced.items():
            old = op.operands[position]
            new[-1].results[0].name_hint = old.name_hint
            Rewriter.insert_op(new, InsertPoint.before(op))
            op.operands[position] = new[-1].results[0]
            erase_unread(old)
        for (op, position), masks in gathers.items():
            with at(op):
                op.operands[position] = self._gathered(op.operands[position], masks)
        for op, bias in biases.items():
            with at(op):
                self._add(op.results[0], bias)
        for border, numbers in expansions:
            assert border.op is not None
            with at(border.op):
                self._expand(border, numbers)
        return True

    def _mask(self, spot: Spot) -> Mask | None:
        """Mask of the kept indices of an axis; None: all."""
        return self.plan.kept.get(axis_of(spot))

    def _bias(self, op: Operation) -> Array | None:
        """
        Contribution of removed channels to the result of a contraction: the result's shape, or 1 where it is the same.
        """
        if not isinstance(op, Contraction) or (position := _known_operand(op)) is None:
            return None
        spot = Spot(op, 1 - position, op.inner_axis(1 - position))
        if not _inner_spot(spot) or (kept := self._mask(spot)) is None:
            return None
        mask, numbers = self.constants.numbers(spot.value, spot.axis)
        numbers = np.where(mask & ~kept, numbers, 0)
        weights = self.constants.weights(op.operands[position])
        if weights is None or not numbers.any():
            return None
        rows = np.where(numbers != 0)[0]
        axis = op.inner_axis(position)
        weights = np.moveaxis(np.take(weights, rows, axis=axis), axis, -1)
        sums = weights @ numbers[rows]
        if isinstance(op, ConvOp):
            sums = sums.sum(axis=tuple(range(1, sums.ndim))).reshape(1, -1, *[1] * op.spatial)
        else:
            sums = np.expand_dims(sums, -2 if position == 1 else -1)
        out = op.result_axis(position)
        stay = self._mask(Spot(op, RESULT, out))
        if stay is not None:
            sums = np.compress(stay, sums, axis=out - len(shape_of(op.result)))
        return as_stored(sums, element_of(op.result)) if sums.any() else None

    def _attributes(self, op: Operation) -> None:
        """Attributes that count channels."""
        match op:
            case ConvOp() if op.group_count > 1 and (kept := self._mask(Spot(op, 0, 1))) is not None:
                op.groups = int_attr(int(kept.sum()) // shape_of(op.weights)[1])
            case SliceOp():
                starts, sizes = list(ints(op.starts)), list(ints(op.sizes))
                for axis in range(len(starts)):
                    spot = Spot(op, 0, axis)
                    if spot in self.plan.links.spots and (kept := self._mask(spot)) is not None:
                        start, end = starts[axis], starts[axis] + sizes[axis]
                        starts[axis], sizes[axis] = int(kept[:start].sum()), int(kept[start:end].sum())
                op.starts, op.sizes = int_list(starts), int_list(sizes)
            case _:
                return

    def _known(self, op: Operation, position: int) -> list[Operation] | None:
        """The kept part of a constant operand; None: all of it."""
        value = op.operands[position]
        if not is_constant(value):
            return None
        if isinstance(op, GatherOp) and position == 1:
            return self._indices(op)
        masks = {
            axis: mask
            for axis in range(len(shape_of(value)))
            if (mask := self.plan.kept.get((op, position, axis))) is not None
        }
        if not masks:
            return None
        array = constant_array(value)
        assert array is not None
        shape = list(shape_of(value))
        for axis, mask in masks.items():
            shape[axis] = int(mask.sum())
            if array.shape[axis] == len(mask):
                array = np.compress(mask, array, axis=axis)
        source = constant_source(value)
        assert source is not None
        new = _source(array, value, f"{source_name(source)}_kept", self.names, named=True)
        return [new] if array.shape == tuple(shape) else [new, BroadcastOp(new.results[0], shape)]

    def _indices(self, op: GatherOp) -> list[Operation] | None:
        """The indices of the kept rows, in the new numbering."""
        kept = self._mask(Spot(op, 0, op.axis_index))
        mine = self._mask(Spot(op, RESULT, op.axis_index))
        if (kept is None and mine is None) or (indices := known_indices(op)) is None:
            return None
        if Spot(op, 0, op.axis_index) not in self.plan.links.spots:
            return None
        if mine is not None:
            indices = indices[mine]
        positions = indices if kept is None else (np.cumsum(kept) - 1)[indices]
        return [source_of(positions.astype(np.int64), i64, "rows")]

    def _types(self) -> None:
        """Set the types of values to their kept shapes."""
        sources = {border.axis for border in self.plan.borders if border.op is None}
        for op in self.ops:
            if not isinstance(op, DataflowOp):
                continue
            value = op.results[0]
            shape = list(shape_of(value))
            for axis in range(len(shape)):
                kept = self.plan.kept.get((value, RESULT, axis))
                if kept is not None and (value, RESULT, axis) not in sources:
                    shape[axis] = int(kept.sum())
            if tuple(shape) != shape_of(value):
                Rewriter.replace_value_with_new_type(value, tensor(element_of(value), shape))

    def _gathers(self) -> dict[tuple[Operation, int], dict[int, Mask]]:
        """Operands whose channels are gathered: axis -> mask."""
        sources = {border.axis for border in self.plan.borders if border.op is None}
        found: dict[tuple[Operation, int], dict[int, Mask]] = {}
        for spot in self.plan.links.spots:
            key = axis_of(spot)
            if spot.position != RESULT and key in sources:
                found.setdefault((spot.op, spot.position), {})[spot.axis] = self.plan.kept[key]
        return found

    def _gathered(self, value: SSAValue, masks: dict[int, Mask]) -> SSAValue:
        """A gather of some channels of a value, right after it; an existing one is reused."""
        for axis, mask in sorted(masks.items()):
            rows = np.where(mask)[0]
            same = (
                use.operation
                for use in value.uses
                if isinstance(use.operation, GatherOp) and use.index == 0 and use.operation.axis_index == axis
                if (indices := known_indices(use.operation)) is not None and np.array_equal(indices, rows)
            )
            gather = next(same, None)
            if gather is None:
                source = source_of(rows, i64, "rows")
                gather = GatherOp(value, source.results[0], axis)
                Rewriter.insert_op([source, gather], after_value(value))
            value = gather.results[0]
        return value

    def _add(self, value: SSAValue, bias: Array) -> None:
        """Add the contribution of the removed channels."""
        source = _source(bias, value, "bias", self.names)
        total = AddOp(value, source.results[0])
        Rewriter.insert_op([source, total], after_value(value))
        total.result.name_hint, value.name_hint = value.name_hint, None
        value.replace_uses_with_if(total.result, lambda use: use.operation is not total)

    def _expand(self, border: _Border, numbers: Array) -> None:
        """Insert the constant channels for an operation that reads all channels."""
        assert border.op is not None
        value, axis = border.op.operands[border.position], border.axis[2]
        kept = self.plan.kept[border.axis]
        added, which = np.unique(numbers[~kept], return_inverse=True)
        shape = list(shape_of(value))
        shape[axis] = len(added)
        along = [1] * len(shape)
        along[axis] = -1
        source = _source(added.reshape(along), value, "constant", self.names)
        whole = BroadcastOp(source, shape)
        rows = np.where(kept, np.cumsum(kept) - 1, 0)
        rows[~kept] = int(kept.sum()) + which.reshape(-1)
        together = ConcatOp([value, whole.result], axis)
        positions = source_of(rows.astype(np.int64), i64, "rows")
        gather = GatherOp(together, positions.results[0], axis)
        gather.result.name_hint = value.name_hint
        Rewriter.insert_op([source, whole, together, positions, gather], InsertPoint.before(border.op))
        border.op.operands[border.position] = gather.result


def _source(array: Array, value: SSAValue, what: str, names: set[str], named: bool = False) -> Operation:
    """A constant or weight of a value's element type, under a name that no weight has."""
    name = base = what if named else f"{value.name_hint or 'channels'}_{what}"
    number = 1
    while name in names:
        name, number = f"{base}_{number}", number + 1
    source = source_of(np.ascontiguousarray(array), element_of(value), name)
    if isinstance(source, WeightOp):
        names.add(name)
    return source
