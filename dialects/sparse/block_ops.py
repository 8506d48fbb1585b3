"""
Operations of the mapping unit on matrices in panels, which are encoded at run time.

A panel contains whole fibers, in one block that has space for any values (`formats.sparse.panels.computed_panels`), so
that an encoded matrix is an ordinary tensor of bytes [panels, 1, bytes], which can be cut by panels, stored and sent.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import Float64Type, FloatAttr, UnitAttr, bf16, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.block import pack_block
from ...formats.sparse.connection import combine, compact, connection_mask, connections
from ...formats.sparse.encode import Encoded, decode, encode_mask
from ...formats.sparse.fibers import Fibers
from ...formats.sparse.panels import Panels, pack_fibers, unpack_fibers
from ..dataflow.base import ComputedOp, TiledOp, Value
from ..dataflow.constants import Array, numpy_type
from ..dataflow.tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from ..dataflow.types import Tensor, element_bytes, element_of, shape_of, tensor, tensor_of, ui8
from .panel_attribute import PanelsAttr
from .values import counting


def stored_type(element: Attribute) -> np.dtype[np.generic]:
    """The numpy type in which the elements of an encoded tensor are stored (bf16 as its bits)."""
    return np.dtype(np.uint16) if element == bf16 else numpy_type(element)


def panel_bytes(panels: Panels) -> Tensor:
    """The type of the bytes of an encoded matrix."""
    return tensor(ui8, (panels.counts[0], 1, panels.nbytes))


def verify_panels(value: SSAValue, layout: PanelsAttr, element: Attribute, what: str) -> Panels:
    """
    Check that a value consists of panels of whole fibers with this layout; returns the panels, with the bytes of one.
    Raises VerifyException.
    """
    shape = shape_of(value)
    if element_of(value) != ui8 or len(shape) != 3:
        raise VerifyException(f"{what} has type {value.type}: expected bytes, tensor<PANELSx1xBYTESxui8>")
    try:
        panels = layout.panels(shape[2])
        if panels.counts != shape[:2]:
            raise VerifyException(f"{what} has type {value.type}: the layout has {panels.counts[0]} panels of one part")
        panels.block_at(0, 0, element_bytes(element))
    except ValueError as error:
        raise VerifyException(f"{what}: {error}") from error
    return panels


class BlockOp(TiledOp, ComputedOp, abc.ABC):
    """Base of operations of the mapping unit: a panel of the result depends on the same fibers of all operands."""

    @property
    @abc.abstractmethod
    def panels(self) -> Panels:
        """The division of fibers into panels, which is the same for all encoded operands."""

    @property
    def in_panels(self) -> bool:
        """Whether the result is encoded."""
        return True

    @property
    def rows_dim(self) -> int:
        """The dimension of the result that counts panels, or fibers if the result is dense."""
        return 0

    def rows(self, tile: Box) -> tuple[int, int]:
        """(First, number) of the fibers of a tile of panels."""
        dim, panels = self.rows_dim, self.panels
        first = min(tile.offsets[dim] * panels.width, panels.outputs)
        end = min((tile.offsets[dim] + tile.sizes[dim]) * panels.width, panels.outputs)
        return first, end - first

    def sliced(self, attribute: PanelsAttr, tile: Box) -> PanelsAttr:
        """The layout of the fibers of a tile."""
        _, fibers = self.rows(tile)
        return attribute.resized(tile.offsets[self.rows_dim], fibers, self.panels.inputs)

    def fibers_slice(self, tile: Box, transposed: bool) -> OperandSlice:
        """The slice of a dense matrix with the fibers of a tile; `transposed`: fibers are columns."""
        first, count = self.rows(tile)
        length = self.panels.inputs
        return OperandSlice.of(Box((0, first), (length, count)) if transposed else Box((first, 0), (count, length)))

    def panels_slice(self, index: int, tile: Box) -> OperandSlice:
        """The slice of an encoded operand with the panels of a tile."""
        dim = self.rows_dim
        nbytes = self.operand_shape(index)[2]
        return OperandSlice.of(Box((tile.offsets[dim], 0, 0), (tile.sizes[dim], 1, nbytes)))

    def iteration_space(self) -> tuple[IterDim, ...]:
        count = self.panels.counts[0]
        kinds = [IterDim(size, DimKind.WHOLE) for size in self.result_shape]
        kinds[self.rows_dim] = IterDim(count, DimKind.PARALLEL)
        return tuple(kinds)

    def preferred_dims(self) -> tuple[int, ...]:
        return (self.rows_dim,) if self.panels.counts[0] > 1 else ()

    def result_box(self, tile: Box) -> Box:
        return tile if self.in_panels else tile.along(self.rows_dim, *self.rows(tile))

    def largest_result(self, tile: Box) -> tuple[int, ...]:
        return self._largest(tile).sizes

    def largest_slice(self, index: int, tile: Box) -> tuple[int, ...]:
        # The last panel may have fewer fibers than others.
        return self.operand_slice(index, tile.along(self.rows_dim, 0, tile.sizes[self.rows_dim])).shape

    def _largest(self, tile: Box) -> Box:
        return self.result_box(tile.along(self.rows_dim, 0, tile.sizes[self.rows_dim]))

    @property
    def looks_at_all(self) -> bool:
        """Whether the encoder examines all elements, instead of an index only."""
        return False

    def cost(self, tile: Box) -> OpCost:
        _, fibers = self.rows(tile)
        sizes = [self.operand_slice(index, tile).box.volume for index in range(len(self.operands))]
        items = [element_bytes(element_of(value)) for value in self.operands]
        own = self.result_box(tile).volume * element_bytes(self.result_type.element_type)
        largest = max(own, *(size * item for size, item in zip(sizes, items, strict=True)))
        elements = fibers * self.panels.inputs if self.looks_at_all else 0
        return OpCost("DAU", 0, 0, lambda: self.bytes_of_tile(tile), mapped=(elements, largest))


def _matrix_of(type: Tensor, transposed: bool, what: str) -> tuple[int, int]:
    """(Number of fibers, length of a fiber) of a dense matrix."""
    if len(shape := type.get_shape()) != 2:
        raise VerifyException(f"{what} has type {type}: expected a matrix, of which each row is a fiber")
    return (shape[1], shape[0]) if transposed else (shape[0], shape[1])


def _verify_fibers(panels: Panels, fibers: int, length: int) -> None:
    if (panels.outputs, panels.inputs, panels.depth) != (fibers, length, length):
        raise VerifyException(
            f"the layout has {panels.outputs} fibers of {panels.inputs} by {panels.depth}: expected {fibers} whole "
            f"ones of {length}"
        )


def _flag(given: bool) -> UnitAttr | None:
    return UnitAttr() if given else None


@irdl_op_definition
class PanelEncodeOp(BlockOp):
    """
    Encodes a matrix [fibers, length] (`transposed`: [length, fibers]) to panels, without its elements of |x| <=
    threshold.

    ```mlir
    %1 = sparse.panel_encode %0 threshold 5.000000e-01
      by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      : (tensor<4x64xf32>) -> tensor<1x1x1060xui8>
    ```
    """

    name = "sparse.panel_encode"
    matrix = operand_def(Tensor)
    threshold = prop_def(FloatAttr[Float64Type])
    layout = prop_def(PanelsAttr)
    transposed = opt_prop_def(UnitAttr)
    result = result_def(Tensor)
    assembly_format = (
        "$matrix (`transposed` $transposed^)? `threshold` $threshold `by` $layout attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(
        self, matrix: Value, threshold: float, layout: PanelsAttr, nbytes: int, transposed: bool = False
    ) -> None:
        super().__init__(
            operands=[matrix],
            result_types=[panel_bytes(layout.panels(nbytes))],
            properties={
                "threshold": FloatAttr(threshold, f64),
                "layout": layout,
                "transposed": _flag(transposed),
            },
        )

    @property
    def panels(self) -> Panels:
        return self.layout.panels(self.result_shape[2])

    @property
    def looks_at_all(self) -> bool:
        return True

    def expected_type(self) -> Tensor:
        panels = verify_panels(self.result, self.layout, element_of(self.matrix), "result")
        _verify_fibers(panels, *_matrix_of(tensor_of(self.matrix), self.transposed is not None, "operand 0"))
        if self.threshold.value.data < 0:
            raise VerifyException(f"threshold = {self.threshold.value.data} should not be negative")
        return panel_bytes(panels)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return self.fibers_slice(tile, self.transposed is not None)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        layout, flag = self.sliced(self.layout, tile), self.transposed is not None
        return (PanelEncodeOp(operands[0], self.threshold.value.data, layout, self.result_shape[2], flag),)

    def compute(self, operands: Sequence[Array]) -> Array:
        matrix = operands[0].T if self.transposed is not None else operands[0]
        mask = counting(matrix, tensor_of(self.matrix), self.threshold.value.data)
        return pack_fibers(matrix, mask, self.panels)


@irdl_op_definition
class PanelDecodeOp(BlockOp):
    """
    The dense matrix [fibers, length] (`transposed`: [length, fibers]) of one in panels, with +0 for elements that are
    not stored.

    ```mlir
    %1 = sparse.panel_decode %0
      by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      : (tensor<1x1x1060xui8>) -> tensor<4x64xf32>
    ```
    """

    name = "sparse.panel_decode"
    source = operand_def(Tensor)
    layout = prop_def(PanelsAttr)
    transposed = opt_prop_def(UnitAttr)
    result = result_def(Tensor)
    assembly_format = (
        "$source (`transposed` $transposed^)? `by` $layout attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, source: Value, element: Attribute, layout: PanelsAttr, transposed: bool = False) -> None:
        panels = layout.panels()
        shape = (panels.inputs, panels.outputs) if transposed else (panels.outputs, panels.inputs)
        super().__init__(
            operands=[source],
            result_types=[tensor(element, shape)],
            properties={"layout": layout, "transposed": _flag(transposed)},
        )

    @property
    def panels(self) -> Panels:
        return self.layout.panels(self.operand_shape(0)[2])

    @property
    def in_panels(self) -> bool:
        return False

    @property
    def rows_dim(self) -> int:
        return 0 if self.transposed is None else 1

    def expected_type(self) -> Tensor:
        verify_panels(self.source, self.layout, self.result_type.element_type, "operand 0")
        _verify_fibers(self.panels, *_matrix_of(self.result_type, self.transposed is not None, "result"))
        return self.result_type

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return self.panels_slice(0, tile)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        flag = self.transposed is not None
        return (PanelDecodeOp(operands[0], self.result_type.element_type, self.sliced(self.layout, tile), flag),)

    def compute(self, operands: Sequence[Array]) -> Array:
        """Raises InputError for damaged panels."""
        parts = unpack_fibers(operands[0], self.panels, stored_type(self.result_type.element_type))
        matrix = np.concatenate([decode(part) for part in parts])
        return np.ascontiguousarray(matrix.T if self.transposed is not None else matrix)


class _ConnectionsBlockOp(BlockOp, abc.ABC):
    """Base of operations whose result is encoded, with the layout `target`."""

    target = prop_def(PanelsAttr)
    result = result_def(Tensor)

    @property
    def panels(self) -> Panels:
        return self.target.panels(self.result_shape[2])

    def verify_alike(self, *layouts: PanelsAttr) -> None:
        """Check that encoded operands are divided into panels as the result is. Raises VerifyException."""
        own = self.panels
        for index, layout in enumerate(layouts):
            other = layout.panels()
            if (other.outputs, other.width, other.inputs) != (own.outputs, own.width, own.inputs):
                raise VerifyException(f"layout {index} is cut in another way than that of the result")


@irdl_op_definition
class PanelConnectionsOp(_ConnectionsBlockOp):
    """
    The connection data of a matrix in panels: the positions of its stored elements, without fillers. `of` is their
    element type.

    ```mlir
    %1 = sparse.panel_connections %0 of f32
      by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      to <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      : (tensor<1x1x1060xui8>) -> tensor<1x1x292xui8>
    ```
    """

    name = "sparse.panel_connections"
    source = operand_def(Tensor)
    element = prop_def(AnyAttr())
    layout = prop_def(PanelsAttr)
    assembly_format = "$source `of` $element `by` $layout `to` $target attr-dict `:` functional-type(operands, results)"

    def __init__(self, source: Value, element: Attribute, layout: PanelsAttr, target: PanelsAttr, nbytes: int) -> None:
        super().__init__(
            operands=[source],
            result_types=[panel_bytes(target.panels(nbytes))],
            properties={"element": element, "layout": layout, "target": target},
        )

    def expected_type(self) -> Tensor:
        verify_panels(self.source, self.layout, self.element, "operand 0")
        self.verify_alike(self.layout)
        return panel_bytes(verify_panels(self.result, self.target, i1, "result"))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return self.panels_slice(0, tile)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        layout, target = (self.sliced(one, tile) for one in (self.layout, self.target))
        return (PanelConnectionsOp(operands[0], self.element, layout, target, self.result_shape[2]),)

    def compute(self, operands: Sequence[Array]) -> Array:
        """Raises InputError for damaged panels."""
        parts = unpack_fibers(operands[0], self.layout.panels(self.operand_shape(0)[2]), stored_type(self.element))
        return _packed([connections(part) for part in parts], self.panels)


@irdl_op_definition
class PanelCombineOp(_ConnectionsBlockOp):
    """
    The connections that two matrices in panels both have. The indices of operands and result may differ.

    ```mlir
    %2 = sparse.panel_combine %0, %1
      by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      and <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      to <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      : (tensor<1x1x292xui8>, tensor<1x1x292xui8>) -> tensor<1x1x292xui8>
    ```
    """

    name = "sparse.panel_combine"
    lhs = operand_def(Tensor)
    rhs = operand_def(Tensor)
    lhs_layout = prop_def(PanelsAttr)
    rhs_layout = prop_def(PanelsAttr)
    assembly_format = (
        "$lhs `,` $rhs `by` $lhs_layout `and` $rhs_layout `to` $target attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, operands: Sequence[Value], layouts: Sequence[PanelsAttr], target: PanelsAttr, nbytes: int):
        super().__init__(
            operands=list(operands),
            result_types=[panel_bytes(target.panels(nbytes))],
            properties={"lhs_layout": layouts[0], "rhs_layout": layouts[1], "target": target},
        )

    @property
    def layouts(self) -> tuple[PanelsAttr, PanelsAttr]:
        """The layouts of both operands."""
        return self.lhs_layout, self.rhs_layout

    def expected_type(self) -> Tensor:
        for index, layout in enumerate(self.layouts):
            verify_panels(self.operands[index], layout, i1, f"operand {index}")
        self.verify_alike(*self.layouts)
        return panel_bytes(verify_panels(self.result, self.target, i1, "result"))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return self.panels_slice(index, tile)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        layouts = [self.sliced(one, tile) for one in self.layouts]
        return (PanelCombineOp(operands, layouts, self.sliced(self.target, tile), self.result_shape[2]),)

    def compute(self, operands: Sequence[Array]) -> Array:
        """Raises InputError for damaged panels."""
        sides = [
            unpack_fibers(array, layout.panels(array.shape[2]), np.dtype(np.bool_))
            for array, layout in zip(operands, self.layouts, strict=True)
        ]
        return _packed([combine(a, b, self.panels.format) for a, b in zip(*sides, strict=True)], self.panels)


@irdl_op_definition
class PanelCompactOp(_ConnectionsBlockOp):
    """
    The elements of a matrix [fibers, length] (`transposed`: [length, fibers]) at the positions that connection data
    in panels connects, whatever their values, in panels.

    ```mlir
    %2 = sparse.panel_compact %0, %1
      by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      to <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      : (tensor<4x64xf32>, tensor<1x1x292xui8>) -> tensor<1x1x1060xui8>
    ```
    """

    name = "sparse.panel_compact"
    matrix = operand_def(Tensor)
    connections = operand_def(Tensor)
    layout = prop_def(PanelsAttr)
    transposed = opt_prop_def(UnitAttr)
    assembly_format = (
        "$matrix `,` $connections (`transposed` $transposed^)? `by` $layout `to` $target attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(
        self,
        matrix: Value,
        connections: Value,
        layout: PanelsAttr,
        target: PanelsAttr,
        nbytes: int,
        transposed: bool = False,
    ) -> None:
        super().__init__(
            operands=[matrix, connections],
            result_types=[panel_bytes(target.panels(nbytes))],
            properties={"layout": layout, "target": target, "transposed": _flag(transposed)},
        )

    @property
    def looks_at_all(self) -> bool:
        return True

    def expected_type(self) -> Tensor:
        verify_panels(self.connections, self.layout, i1, "operand 1")
        self.verify_alike(self.layout)
        panels = verify_panels(self.result, self.target, element_of(self.matrix), "result")
        _verify_fibers(panels, *_matrix_of(tensor_of(self.matrix), self.transposed is not None, "operand 0"))
        return panel_bytes(panels)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return self.fibers_slice(tile, self.transposed is not None) if index == 0 else self.panels_slice(1, tile)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        layout, target = (self.sliced(one, tile) for one in (self.layout, self.target))
        flag = self.transposed is not None
        return (PanelCompactOp(operands[0], operands[1], layout, target, self.result_shape[2], flag),)

    def compute(self, operands: Sequence[Array]) -> Array:
        """Raises InputError for damaged panels."""
        matrix, panels = (operands[0].T if self.transposed is not None else operands[0]), self.panels
        given = unpack_fibers(operands[1], self.layout.panels(operands[1].shape[2]), np.dtype(np.bool_))
        parts = [compact(panels.of(matrix, row, 0), one) for row, one in enumerate(given)]
        return _packed(parts, panels)


def _packed(parts: Sequence[Encoded], panels: Panels) -> Array:
    """The bytes of encoded matrices, one for each panel; matrices of another format are converted."""
    data = np.zeros((panels.counts[0], 1, panels.nbytes), np.uint8)
    for row, part in enumerate(parts):
        own = as_format(part, panels)
        block = panels.block_at(row, 0, part.values.dtype.itemsize)
        packed = pack_block(own, block)
        data[row, 0, : len(packed)] = packed
    return data


def as_format(part: Encoded, panels: Panels) -> Encoded:
    """An encoded matrix converted to the index format of panels; its connections stay the same."""
    if part.format == panels.format:
        return part
    return encode_mask(decode(part), connection_mask(part), panels.format, Fibers(part.fibers.shape))
