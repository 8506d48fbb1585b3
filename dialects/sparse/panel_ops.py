"""
`sparse.panel_matmul` and `sparse.panel_conv`: contractions with weights in panels, to which `sparse.matmul` and
`sparse.conv` are lowered.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, UnitAttr, bf16, f64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.nonzero import Nonzero
from ...formats.sparse.panels import Panels, unpack_panels
from ..dataflow import contraction
from ..dataflow.base import ComputedOp, TiledOp, Value, int_attr, int_list, ints, nonzero_of, shares_attr, verify_shares
from ..dataflow.constants import Array, numpy_type
from ..dataflow.contraction import channels_of, widened
from ..dataflow.evaluate import evaluate
from ..dataflow.movement import ConcatOp
from ..dataflow.sliding import SlidingOp
from ..dataflow.tiling import Box, Combine, DimKind, EncodedWork, IterDim, OpCost, OperandSlice
from ..dataflow.types import Tensor, element_bytes, element_of, shape_of, tensor, tensor_of, ui8
from .compute import ConvOp
from .panel_attribute import PanelsAttr


class PanelOp(TiledOp, ComputedOp, abc.ABC):
    """
    Base of contractions of a dense first operand, the neurons, with weights in panels: bytes [panels, parts, bytes].

    The iteration space is that of the dense operation, except for two dimensions: output neurons are counted in panels,
    and the reduced dimension is counted in parts. `dense` is the dense operation, from which the slices and the result
    of a tile are derived.
    """

    neurons = operand_def(Tensor)
    weights = operand_def(Tensor)
    layout = prop_def(PanelsAttr)
    nonzero = opt_prop_def(DenseArrayBase.constr(f64))
    """
    If present, the mapping unit searches for zero neurons and skips their pairs where that is faster. It is the
    expected share of nonzero neurons; 1 if unknown.
    """
    result = result_def(Tensor)

    @abc.abstractmethod
    def make_dense(self, neurons: SSAValue, weights: SSAValue) -> contraction.MatmulOp | contraction.ConvOp:
        """The dense operation on these operands."""

    @abc.abstractmethod
    def dense_weights(self) -> Tensor:
        """The type of the decoded weights."""

    @abc.abstractmethod
    def resized(self, operands: Sequence[SSAValue], panels: PanelsAttr) -> PanelOp:
        """The same operation on a tile's operands, which include the padding."""

    @property
    @abc.abstractmethod
    def taps(self) -> int:
        """
        Number of inputs for each position of the dimension that is divided into parts: positions of a kernel, or 1.
        """

    @property
    @abc.abstractmethod
    def output_dim(self) -> int:
        """The dimension of the result, and of the iteration space, that counts output neurons."""

    @property
    def dense(self) -> contraction.MatmulOp | contraction.ConvOp:
        """The equivalent dense operation, on placeholder operands."""
        if (found := _DENSE.get(self)) is None:
            found = self.make_dense(*Block(arg_types=[self.operands[0].type, self.dense_weights()]).args)
            _DENSE[self] = found
        return found

    @property
    def panels(self) -> Panels:
        """The panels of the weights, with the bytes of one."""
        return self.layout.panels(self.operand_shape(1)[-1])

    @property
    def item_bytes(self) -> int:
        """Bytes of a weight."""
        return element_bytes(element_of(self.operands[0]))

    def dense_box(self, tile: Box) -> Box:
        """The tile of the dense operation that corresponds to a tile of panels and parts."""
        panels, dim = self.panels, self.output_dim
        offsets, sizes = list(tile.offsets[:-1]), list(tile.sizes[:-1])
        offsets[dim], sizes[dim] = _clipped(tile.offsets[dim], tile.sizes[dim], panels.width, panels.outputs)
        start, size = _clipped(tile.offsets[-1], tile.sizes[-1], panels.depth, panels.inputs)
        whole = [one.size for one in self.dense.iteration_space()[len(offsets) + 1 :]]
        return Box((*offsets, start // self.taps, *[0] * len(whole)), (*sizes, size // self.taps, *whole))

    def verify_(self) -> None:
        verify_shares("nonzero", self.nonzero)
        super().verify_()

    def expected_type(self) -> Tensor:
        panels, weights = self.layout.panels(), tensor_of(self.operands[1])
        if (
            weights.element_type != ui8
            or shape_of(self.operands[1])[:2] != panels.counts
            or weights.get_num_dims() != 3
        ):
            rows, columns = panels.counts
            raise VerifyException(f"operand 1 has type {weights}: expected tensor<{rows}x{columns}x...xui8>")
        if max(panels.sizes, default=0) > shape_of(self.operands[1])[2]:
            raise VerifyException(
                f"sizes of panels are up to {max(panels.sizes)}: operand 1 has room for {shape_of(self.operands[1])[2]}"
            )
        if panels.inputs % self.taps or panels.depth % self.taps:
            raise VerifyException(
                f"inputs = {panels.inputs} by {panels.depth} should be whole kernels, of {self.taps} places"
            )
        return widened(tensor_of(self.dense.results[0]), self.result_type)

    def iteration_space(self) -> tuple[IterDim, ...]:
        space = self.dense.iteration_space()
        kept = list(space[: len(self.result_shape)])
        rows, columns = self.panels.counts
        kept[self.output_dim] = IterDim(rows, DimKind.PARALLEL)
        return (*kept, IterDim(columns, DimKind.REDUCTION))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        if index == 0:
            return self.dense.operand_slice(0, self.dense_box(tile))
        dim = self.output_dim
        nbytes = self.panels.own_bytes(tile.offsets[dim], tile.sizes[dim])
        offsets, sizes = (tile.offsets[dim], tile.offsets[-1], 0), (tile.sizes[dim], tile.sizes[-1], nbytes)
        return OperandSlice.of(Box(offsets, sizes))

    def result_box(self, tile: Box) -> Box:
        return self.dense.result_box(self.dense_box(tile))

    def largest_result(self, tile: Box) -> tuple[int, ...]:
        sizes = list(tile.sizes[:-1])
        panels = self.panels
        sizes[self.output_dim] = min(panels.outputs, sizes[self.output_dim] * panels.width)
        return tuple(sizes)

    def largest_slice(self, index: int, tile: Box) -> tuple[int, ...]:
        # The last part may have fewer inputs than others.
        start = Box((*tile.offsets[:-1], 0), tile.sizes)
        if index == 0:
            return self.dense.largest_slice(0, self.dense_box(start))
        *counts, _ = self.operand_slice(index, start).shape
        return (*counts, self.operand_shape(1)[-1])

    def filled(self, index: int) -> float:
        return self.panels.filled if index == 1 else 1.0

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        box, dim = self.dense_box(tile), self.output_dim
        inputs = box.sizes[len(tile.sizes) - 1] * self.taps
        return (self.resized(operands, self.layout.resized(tile.offsets[dim], box.sizes[dim], inputs)),)

    @property
    def combine(self) -> Combine | None:
        return "add"

    def preferred_dims(self) -> tuple[int, ...]:
        return tuple(dim for dim, one in enumerate(self.iteration_space()) if one.size > 1)

    def cost(self, tile: Box) -> OpCost:
        box, layout, panels = self.dense_box(tile), self.layout, self.panels
        dense = self.dense.cost(box)
        products = tile.sizes[self.output_dim] * tile.sizes[-1]
        if not products or dense.matmul is None:
            return dense
        groups, m, _, _ = dense.matmul
        count, work = math.prod(panels.counts), layout.work
        fibers, inputs = min(panels.width, panels.outputs), min(panels.depth, panels.inputs)
        definition, positions = panels.format.definition, panels.format.positions(inputs)
        slices = self.operand_slice(0, tile).box.volume // max(1, groups * tile.sizes[-1])
        neuron_bytes = max(slices * self.item_bytes, m * fibers * element_bytes(self.result_type.element_type))
        encoded = EncodedWork(
            products,
            m,
            fibers,
            work.fullest / count,
            work.loads / count,
            definition.elements(fibers, positions, work.entries / count),
            panels.format.direct,
            round(panels.nbytes * panels.filled),
            neuron_bytes,
            inputs,
            work.entries * panels.format.group / count,
            nonzero_of(self.nonzero),
            self._lines(box),
        )
        macs = m * work.entries * panels.format.group * products // count
        return replace(dense, macs=macs, encoded=encoded, nonzero=encoded.nonzero)

    def panel_work(self, tile: Box, panel: int) -> EncodedWork | None:
        """
        The work of a tile's products with one panel, whose number is counted from the tile's first panel; an average if
        the panels have no separate numbers.
        """
        work, number = self.cost(tile).encoded, tile.offsets[self.output_dim] + panel
        if work is None or not self.panels.sizes:
            return work
        own, nbytes = self.layout.work.share(number), self.panels.own_bytes(number, 1)
        return replace(work, fullest=own * work.fullest, loads=own * work.loads, weight_bytes=nbytes)

    def _lines(self, box: Box) -> int:
        """Number of lines of positions in a tile; the last dimension runs along a line."""
        kept = [size for dim, size in enumerate(box.sizes[: len(self.result_shape)]) if dim != self.output_dim]
        return math.prod(kept[:-1])

    def compute(self, operands: Sequence[Array]) -> Array:
        """Compute the dense operation on the decoded weights. Raises InputError for damaged weights."""
        element = element_of(self.operands[0])
        # bf16 is stored as its bits; those of +0 are 0.
        matrix = unpack_panels(
            operands[1], self.panels, np.dtype(np.uint16) if element == bf16 else numpy_type(element)
        )
        weights = np.ascontiguousarray(self.arranged(matrix))
        return evaluate(self.dense, [operands[0], weights])

    @abc.abstractmethod
    def arranged(self, matrix: Array) -> Array:
        """Weights [outputs, inputs] in the layout of the dense operation's weights."""


_DENSE: WeakKeyDictionary[PanelOp, contraction.MatmulOp | contraction.ConvOp] = WeakKeyDictionary()
"""A cache of the dense operations, which tilings use very often."""


def _clipped(offset: int, size: int, unit: int, limit: int) -> tuple[int, int]:
    """A range of units of `unit` elements as a range of elements, of which there are `limit`."""
    low, high = min(offset * unit, limit), min((offset + size) * unit, limit)
    return low, high - low


@irdl_op_definition
class PanelMatmulOp(PanelOp):
    """
    Matrix product [..., M, K] x weights in panels -> [..., M, N]; with `transpose_a` the first operand is [..., K, M].
    The weights are bytes [panels, parts, bytes of a panel], as `by` describes them. `nonzero` is as in `sparse.encode`.

    Iteration space: (batch..., M, panels, parts).

    ```mlir
    %2 = sparse.panel_matmul %x, %w
      by <direct, outputs = 8 by 4, inputs = 64 by 64, values_at = 36, entries = 50, fullest = 17, loads = 6>
      : (tensor<1x64xf32>, tensor<2x1x140xui8>) -> tensor<1x8xf32>
    ```
    """

    name = "sparse.panel_matmul"
    transpose_a = opt_prop_def(UnitAttr)
    assembly_format = (
        "$neurons `,` $weights (`nonzero` $nonzero^)? (`transpose_a` $transpose_a^)? `by` $layout attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(
        self,
        neurons: Value,
        weights: Value,
        layout: PanelsAttr,
        result: Tensor,
        *,
        transpose_a: bool = False,
        nonzero: Nonzero | None = None,
    ):
        super().__init__(
            operands=[neurons, weights],
            result_types=[result],
            properties={
                "layout": layout,
                "transpose_a": UnitAttr() if transpose_a else None,
                "nonzero": shares_attr(nonzero),
            },
        )

    @property
    def taps(self) -> int:
        return 1

    @property
    def output_dim(self) -> int:
        return len(self.result_shape) - 1

    def dense_weights(self) -> Tensor:
        panels = self.layout.panels()
        return tensor(element_of(self.neurons), (panels.inputs, panels.outputs))

    def make_dense(self, neurons: SSAValue, weights: SSAValue) -> contraction.MatmulOp:
        element = self.result_type.element_type
        return contraction.MatmulOp(neurons, weights, transpose_a=self.transpose_a is not None, result_element=element)

    def resized(self, operands: Sequence[SSAValue], panels: PanelsAttr) -> PanelMatmulOp:
        neurons, weights = operands
        *batch, rows, columns = shape_of(neurons)
        m = columns if self.transpose_a is not None else rows
        type = tensor(self.result_type.element_type, (*batch, m, panels.panels().outputs))
        nonzero = None if self.nonzero is None else nonzero_of(self.nonzero)
        return PanelMatmulOp(neurons, weights, panels, type, transpose_a=self.transpose_a is not None, nonzero=nonzero)

    def arranged(self, matrix: Array) -> Array:
        return matrix.T


@irdl_op_definition
class PanelConvOp(SlidingOp, PanelOp):
    """
    Convolution as `dataflow.conv` of [N, C, S...] with weights in panels, bytes [panels, parts, bytes of a panel] as
    `by` describes them. A fiber runs over the kernel and the channels of a group; a panel belongs to one group.
    `nonzero` is as in `sparse.encode`.

    Iteration space: (N, panels, spatial dimensions of the result..., parts).

    ```mlir
    %2 = sparse.panel_conv %x, %w kernel [3] strides [1] dilations [1] pad [1] to [1] groups 1
      by <stride, bits = 3, outputs = 4 by 4, inputs = 9 by 9, values_at = 12, entries = 11, fullest = 5, loads = 1>
      : (tensor<1x3x8xf32>, tensor<1x1x56xui8>) -> tensor<1x4x8xf32>
    ```
    """

    name = "sparse.panel_conv"
    kernel = prop_def(DenseArrayBase.constr(I64))
    groups = prop_def(IntegerAttr[I64])
    assembly_format = (
        "$neurons `,` $weights (`nonzero` $nonzero^)? `kernel` $kernel `strides` $strides `dilations` $dilations "
        "`pad` $pad_low `to` $pad_high `groups` $groups `by` $layout attr-dict `:` functional-type(operands, results)"
    )

    @staticmethod
    def of(
        op: ConvOp | contraction.ConvOp,
        neurons: Value,
        weights: Value,
        layout: PanelsAttr,
        nonzero: Nonzero | None = None,
    ) -> PanelConvOp:
        """The same convolution with its weights in panels."""
        kept = ("strides", "dilations", "pad_low", "pad_high", "groups")
        return PanelConvOp.create(
            operands=[SSAValue.get(neurons), SSAValue.get(weights)],
            result_types=[op.result.type],
            properties={
                "kernel": int_list(shape_of(op.weights)[2:]),
                "layout": layout,
                **({} if (shares := shares_attr(nonzero)) is None else {"nonzero": shares}),
                **{name: op.properties[name] for name in kept},
            },
        )

    @property
    def taps(self) -> int:
        return int(np.prod(ints(self.kernel)))

    @property
    def output_dim(self) -> int:
        return 1

    @property
    def dense(self) -> contraction.ConvOp:
        found = super().dense
        assert isinstance(found, contraction.ConvOp)
        return found

    @property
    def group_count(self) -> int:
        """Number of groups as a Python integer."""
        return self.groups.value.data

    def expected_type(self) -> Tensor:
        panels, groups = self.layout.panels(), self.group_count
        if groups != 1 and (groups < 1 or panels.outputs % (groups * panels.width)):
            raise VerifyException(
                f"outputs = {panels.outputs} by {panels.width} in {groups} groups: expected whole panels in each group"
            )
        return super().expected_type()

    def may_split(self, dim: int, parts: int) -> bool:
        # Tiles of panels consist of whole groups, or are part of one.
        if dim != self.output_dim or self.group_count == 1:
            return True
        panels = self.panels.counts[0]
        per_group = panels // self.group_count
        size, rest = divmod(panels, parts)
        return not rest and (size % per_group == 0 or per_group % size == 0)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        box = self.dense_box(tile)
        group_ranges = self.dense.groups_of_tile(box)
        channels, inputs = self.dense.operand_shape(1)[1], box.sizes[2 + self.dense.spatial]
        whole = all(size == self.panels.outputs // self.group_count for _, _, size in group_ranges)
        if len(group_ranges) == 1 or (whole and inputs == channels):
            return super().build_tile(tile, operands)
        # The tile has parts of several groups: one convolution for each, concatenated along the output channels.
        neurons, weights = operands
        ops: list[Operation] = []
        parts: list[SSAValue] = []
        for number, (_, first, size) in enumerate(group_ranges):
            start = number * channels + box.offsets[2 + self.dense.spatial]
            own = channels_of(neurons, 1, start, inputs, shape_of(neurons))
            panel, count = first // self.panels.width, size // self.panels.width
            kernels = channels_of(weights, 0, panel, count, shape_of(weights))
            layout = self.layout.resized(tile.offsets[1] + panel, size, inputs * self.taps)
            conv = self.resized((own.results[0], kernels.results[0]), layout)
            ops += [own, kernels, conv]
            parts.append(conv.result)
        return (*ops, ConcatOp(parts, 1))

    def dense_weights(self) -> Tensor:
        return tensor(element_of(self.neurons), self._decoded_shape(self.layout))

    def make_dense(self, neurons: SSAValue, weights: SSAValue) -> contraction.ConvOp:
        return contraction.ConvOp(
            neurons,
            weights,
            **self.sliding,
            groups=self.group_count,
            result_element=self.result_type.element_type,
        )

    def resized(self, operands: Sequence[SSAValue], panels: PanelsAttr) -> PanelConvOp:
        neurons, weights = operands
        none: dict[str, Attribute] = {name: int_list((0,) * len(ints(self.kernel))) for name in ("pad_low", "pad_high")}
        weight_shape = self._decoded_shape(panels)
        inner = Block(arg_types=[neurons.type, tensor(element_of(neurons), weight_shape)])
        groups = shape_of(neurons)[1] // weight_shape[1]
        dense = contraction.ConvOp(
            *inner.args,
            strides=ints(self.strides),
            dilations=ints(self.dilations),
            groups=groups,
            result_element=self.result_type.element_type,
        )
        properties: dict[str, Attribute] = {**self.properties, **none, "layout": panels, "groups": int_attr(groups)}
        return PanelConvOp.create(operands=[neurons, weights], result_types=[dense.result_type], properties=properties)

    def _decoded_shape(self, layout: PanelsAttr) -> tuple[int, ...]:
        panels = layout.panels()
        return (panels.outputs, panels.inputs // self.taps, *ints(self.kernel))

    def arranged(self, matrix: Array) -> Array:
        return matrix.reshape(self._decoded_shape(self.layout))
