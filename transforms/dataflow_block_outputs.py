"""Pass `dataflow-block-outputs`: let convolutions with few output channels compute neighbouring outputs as channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..analysis.planning.estimate import op_cycles
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..analysis.tasks.grouping import LOOK_AHEAD, grow, has_one_output
from ..chips import Chip
from ..chips.cycles import RATE_BY_WIDTH, vector_cycles
from ..chips.dram_ports import dram_rate
from ..dialects.dataflow import ConstantOp, ConvOp, ReshapeOp, SliceOp, TransposeOp, WeightOp
from ..dialects.dataflow.base import ints
from ..dialects.dataflow.constants import Array
from ..dialects.dataflow.tiling import Box, TilingInterface
from ..dialects.dataflow.types import element_bytes, element_of, shape_of, tensor
from .shared.chip_option import ChipPass
from .shared.constants import constant_array, constant_source, new_name, source_name, source_of
from .shared.rewrite_once import erase_unread, rewrite_once

ACCEPT_RATIO = 0.8
"""
A convolution is replaced if the estimated cycles of the blocked one are at most this share of its own. The margin is
large because the estimates do not include exchanges between cores.
"""


@dataclass(frozen=True)
class DataflowBlockOutputsPass(ChipPass):
    """
    Let convolutions with few output channels compute G neighbouring outputs along an axis as G times as many channels.

    A matrix unit has a column for each output channel, and most columns are idle if there are few channels, as in
    filters and last layers. The kernel of the new convolution is longer by G - 1 strides along the axis, and contains G
    shifted copies of the weights with zeros around them; its stride is G times as large. Its result is then reordered
    to that of the original convolution. Axis and G are those with the fewest estimated cycles on the chip (`chip`, or
    the module's); a convolution does not change if these are not fewer by a fifth.

    Results are the same for finite values; zero times infinity gives NaN.
    """

    name = "dataflow-block-outputs"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)
    """The matrix unit may add the terms in another order."""

    def run(self, module: ModuleOp, chip: Chip) -> None:
        block_outputs(module, chip)


def block_outputs(module: ModuleOp, chip: Chip) -> None:
    """Apply the pass to a module, for a chip."""
    names = {weight.sym_name.data for weight in module.walk() if isinstance(weight, WeightOp)}
    rewrite_once(module, {ConvOp: (_BlockOutputs(chip, names),)})


@dataclass(frozen=True)
class _Blocked:
    """A convolution whose channels are `outputs` neighbouring outputs along a spatial dimension."""

    op: ConvOp
    dim: int
    outputs: int
    names: set[str]
    """Names of all weights of the module."""

    @property
    def kernel(self) -> tuple[int, ...]:
        return _with(self.op.kernel, self.dim, self.op.kernel[self.dim] + (self.outputs - 1) * self._stride)

    @property
    def _stride(self) -> int:
        return ints(self.op.strides)[self.dim]

    @property
    def blocks(self) -> int:
        """Number of blocks of outputs along the dimension; the last one may have more outputs than needed."""
        return -(-self.op.result_shape[2 + self.dim] // self.outputs)

    @property
    def weight_shape(self) -> tuple[int, ...]:
        outputs, channels = self.op.operand_shape(1)[:2]
        return outputs * self.outputs, channels, *self.kernel

    def weights(self, array: Array) -> Array:
        """The weights of the blocked convolution, from those of the original one, `array`."""
        found = np.zeros(self.weight_shape, array.dtype)
        copies = found.reshape(len(array), self.outputs, *self.weight_shape[1:])
        taps = self.op.kernel[self.dim]
        for number in range(self.outputs):
            first = number * self._stride
            np.moveaxis(copies[:, number], 2 + self.dim, 0)[first : first + taps] = np.moveaxis(array, 2 + self.dim, 0)
        return found

    def conv(self, operand: SSAValue, weights: SSAValue) -> ConvOp:
        """The blocked convolution of these values."""
        op, dim = self.op, self.dim
        stride = self._stride * self.outputs
        low, high = ints(op.pad_low), ints(op.pad_high)
        needed = (self.blocks - 1) * stride + self.kernel[dim]
        return ConvOp(
            operand,
            weights,
            strides=_with(ints(op.strides), dim, stride),
            dilations=ints(op.dilations),
            pad_low=low,
            pad_high=_with(high, dim, max(0, needed - low[dim] - op.operand_shape(0)[2 + dim])),
            groups=op.group_count,
            pad_value=op.padding,
            result_element=element_of(op.result),
            nonzero=None if op.nonzero is None else op.expected,
        )

    def replacement(self, source: ConstantOp | WeightOp, epilogue: Sequence[TilingInterface]) -> Iterator[Operation]:
        """Operations that replace the convolution with weights `source` and its epilogue."""
        array = constant_array(source.result)
        assert array is not None
        weights = source_of(
            self.weights(array), element_of(source.result), new_name(f"{source_name(source)}.blocked", self.names)
        )
        conv = self.conv(self.op.operand, weights.results[0])
        yield from (weights, conv)
        values: dict[SSAValue, SSAValue] = {self.op.result: conv.result}
        for member in epilogue:
            for value in member.operands:
                if value not in values:
                    constant = self._of_channels(value)
                    yield constant
                    values[value] = constant.results[0]
            built = member.build_tile(Box.whole(conv.result_shape), [values[value] for value in member.operands])
            yield from built
            values[member.results[0]] = built[-1].results[0]
        yield from self._in_order(list(values.values())[-1])

    def _of_channels(self, value: SSAValue) -> Operation:
        """A constant with an element for each channel, repeated for the channels of the blocked convolution."""
        array = constant_array(value)
        assert array is not None
        rank = len(self.op.result_shape)
        array = array.reshape((1,) * (rank - array.ndim) + array.shape)
        repeated = array if array.size == 1 else np.repeat(array, self.outputs, 1)
        return source_of(repeated, element_of(value), new_name(f"{value.name_hint or 'constant'}.blocked", self.names))

    def _in_order(self, result: SSAValue) -> list[Operation]:
        """Operations that reorder the blocked convolution's result to that of the original one."""
        op, at = self.op, 2 + self.dim
        batch, outputs, *spatial = op.result_shape
        apart = ReshapeOp(result, (batch, outputs, self.outputs, *_with(spatial, self.dim, self.blocks)))
        axes = [axis for axis in range(len(op.result_shape) + 1) if axis != 2]
        joined = TransposeOp(apart.result, (*axes[: at + 1], 2, *axes[at + 1 :]))
        whole = ReshapeOp(joined.result, _with(op.result_shape, at, self.blocks * self.outputs))
        if whole.result.type == op.result.type:
            return [apart, joined, whole]
        return [apart, joined, whole, SliceOp(whole.result, (0,) * len(op.result_shape), op.result_shape)]


class _BlockOutputs(RewritePattern):
    """Replaces a convolution by the blocked one with the fewest estimated cycles, if they are few enough."""

    def __init__(self, chip: Chip, names: set[str]) -> None:
        self._chip, self._names = chip, names

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter) -> None:
        source = constant_source(op.weights)
        if source is None or element_of(op.weights) != element_of(op.operand) or op.is_depthwise:
            return
        if 0 in op.result_shape or 0 in op.operand_shape(1):
            return
        blocks = [_Blocked(op, dim, number, self._names) for dim, number in _blocks_of(op, self._chip)]
        cycles = [self._cycles(one) for one in blocks]
        if not cycles or (least := min(cycles)) > ACCEPT_RATIO * _conv_cycles(op, self._chip):
            return
        members = _with_epilogue(op)
        constants = dict.fromkeys(value for member in members for value in member.operands if value is not op.operand)
        rewriter.replace(members[-1], [*blocks[cycles.index(least)].replacement(source, members[1:])])
        for member in members[-2::-1]:
            rewriter.erase(member)
        for value in constants:
            erase_unread(value)

    def _cycles(self, blocked: _Blocked) -> float:
        """Estimated cycles of a blocked convolution, and of restoring the order of its results."""
        op = blocked.op
        shapes = op.operand_shape(0), blocked.weight_shape
        arguments = Block(arg_types=[tensor(element_of(op.operand), shape) for shape in shapes]).args
        conv = blocked.conv(*arguments)
        item = element_bytes(element_of(op.result))
        moved = prod(_tile(conv, self._chip).sizes[: len(op.result_shape)])
        return _conv_cycles(conv, self._chip) + vector_cycles(
            self._chip, RATE_BY_WIDTH.get(item, 1), moved, 1, moved * item
        )


def _with_epilogue(op: ConvOp) -> tuple[TilingInterface, ...]:
    """
    A convolution and the elementwise operations over its result whose other operands are constants for each channel.
    """
    following: list[Operation] = []
    after = op.next_op
    while after is not None and len(following) < LOOK_AHEAD:
        following.append(after)
        after = after.next_op
    members = grow(op, following, set())
    inside: set[SSAValue] = {op.result}
    end = best = 1
    for end, member in enumerate(members[1:], 2):
        if not all(value in inside or _is_of_channels(value, len(op.result_shape)) for value in member.operands):
            break
        inside.add(member.results[0])
        if has_one_output(members[:end]):
            best = end
    return members[:best]


def _is_of_channels(value: SSAValue, rank: int) -> bool:
    """Whether a value is a constant with an element for each channel of a tensor of this rank, or with one for all."""
    shape = shape_of(value)
    others = [size for axis, size in enumerate(shape, rank - len(shape)) if axis != 1]
    return constant_source(value) is not None and set(others) <= {1}


def _blocks_of(op: ConvOp, chip: Chip) -> Iterator[tuple[int, int]]:
    """
    (dimension, number of outputs) of the possible blocks: those that have, over all channels of a group, no more
    outputs than a matrix unit has columns.
    """
    most = chip.mpu_cols // (op.operand_shape(1)[0] // op.group_count)
    for dim, (dilation, outputs) in enumerate(zip(ints(op.dilations), op.result_shape[2:], strict=True)):
        if dilation == 1:
            yield from ((dim, number) for number in range(2, min(most, outputs) + 1))


def _tile(op: ConvOp, chip: Chip) -> Box:
    """The tile of a core, if groups are divided over the cores first, then the largest spatial dimensions."""
    sizes = [dim.size for dim in op.iteration_space()]
    left = len(chip.usable_cores)
    spatial = sorted(range(2, 2 + op.spatial), key=lambda dim: -sizes[dim])
    for dim, pieces in [(0, sizes[0]), (1, op.group_count), *((dim, sizes[dim]) for dim in spatial)]:
        parts = min(left, pieces)
        sizes[dim] = -(-sizes[dim] // parts)
        left //= parts
    return Box.whole(tuple(sizes))


def _conv_cycles(op: ConvOp, chip: Chip) -> float:
    """Estimated cycles of a convolution: those of a core's tile, and of loading the weights."""
    item = element_bytes(element_of(op.operand))
    _, cycles = op_cycles(op.cost(_tile(op, chip)), chip, item)
    return cycles + prod(op.operand_shape(1)) * item / dram_rate(chip)


def _with(values: Sequence[int], position: int, value: int) -> tuple[int, ...]:
    return (*values[:position], value, *values[position + 1 :])
