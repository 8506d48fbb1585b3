"""
Panels of encoded tensors that are computed at run time, or are inputs or results of the program.

Two steps of `sparse-pack`. `decode_misfits` precedes packing of constant weights: operands that no unit accepts encoded
are decoded, and contractions without encoded operands become dense. `pack_computed` follows it: tensors that are still
encoded become bytes, and each operation on them becomes one of the mapping unit or matrix unit on panels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...chips import Chip
from ...dialects.dataflow import ConstantOp, WeightOp
from ...dialects.dataflow.entry_function import argument_names, result_names
from ...dialects.dataflow.types import Tensor, element_of, shape_of, tensor_of, ui8
from ...dialects.locations import at, located
from ...dialects.module_notes import add_note
from ...dialects.sparse import (
    CombineOp,
    CompactOp,
    ConnectionsOp,
    ConvOp,
    DecodeOp,
    EncodedMatmulOp,
    EncodeOp,
    IndexAttr,
    MatmulOp,
    PanelCombineOp,
    PanelCompactOp,
    PanelConnectionsOp,
    PanelDecodeOp,
    PanelEncodeOp,
    PanelsAttr,
)
from ...dialects.sparse.block_ops import panel_bytes
from ...dialects.sparse.thresholds import encoder_threshold
from ...dialects.sparse.types import decoded, encoded, index_of
from ...dialects.sparse.values import counting, encode_array, fibers_of
from ...formats.sparse.bits import Bytes
from ...formats.sparse.encode import decode
from ...formats.sparse.encoded_interface import ENCODED, EncodedInterface, EncodedTensor
from ...formats.sparse.index_formats import Kind
from ...formats.sparse.nonzero import ALL_NONZERO
from ...formats.sparse.panels import Lanes, pack, pack_fibers
from ...support.errors import InputError
from .constants import Array, constant_array, source_of
from .encoded_layout import EncodedLayout, as_matrix, as_tensor, fiber_dim, is_transposed, layout_of
from .panel_contraction import often_zero, on_panels
from .rewrite_once import erase_unread
from .sparse_plan import MATRIX_RATES, matrix_types


def is_hint(encode: Operation) -> bool:
    """
    Whether an encoding only states the expected share of activations that are not zero: zeros are then skipped in
    products, and nothing is stored encoded.
    """
    if not isinstance(encode, EncodeOp) or encode.nonzero is None or is_known_encoding(encode):
        return False
    index = index_of(encode.result.type)
    return index is not None and index.threshold == 0 and index.format.group == 1


def is_known_encoding(op: object) -> bool:
    """Whether an operation encodes a constant tensor."""
    return isinstance(op, EncodeOp) and isinstance(op.operand.owner, ConstantOp | WeightOp)


def is_computed(value: SSAValue) -> bool:
    """Whether a value is encoded at run time, or an encoded argument."""
    if index_of(value.type) is None or is_known_encoding(value.owner):
        return False
    return not (isinstance(value.owner, Operation) and is_hint(value.owner))


def along_inputs(op: MatmulOp, position: int) -> bool:
    """Whether an operand of a product has a fiber for each row (first operand) or column (second operand)."""
    type = tensor_of(op.operands[position])
    index = index_of(type)
    if index is None or any(len(shape_of(value)) != 2 for value in op.operands):
        return False
    transposed = (op.transpose_a, op.transpose_b)[position] is not None
    kept = 1 if position != transposed else 0
    return fiber_dim(type, index) == (kept, False)


def taken_encoded(op: MatmulOp | ConvOp, position: int) -> bool:
    """Whether a matrix unit accepts this operand of a contraction if it is encoded at run time."""
    value = op.operands[position]
    index = index_of(value.type)
    shapes = [shape_of(one) for one in op.operands]
    if index is None or not all(math.prod(shape) for shape in shapes):
        return False
    if not matrix_types(element_of(value), element_of(op.results[0])):
        return False
    if isinstance(op, MatmulOp):
        if position == 1 and len(shapes[1]) == 2 and not is_computed(op.lhs):
            # Rows of the first operand may be in any number of dimensions.
            kept = 0 if op.transpose_b is not None else 1
            return fiber_dim(tensor_of(value), index) == (kept, False)
        return along_inputs(op, position)
    return position == 1 and op.groups.value.data == 1 and fiber_dim(tensor_of(value), index) == (0, False)


def decode_misfits(module: ModuleOp) -> None:
    """
    Decode run-time encoded operands of contractions that no matrix unit accepts, such as activations of convolutions,
    whose windows overlap.
    """
    for op in list(module.walk()):
        if not isinstance(op, MatmulOp | ConvOp) or not any(map(is_computed, op.operands)):
            continue
        rewriter = PatternRewriter(op)
        with at(op):
            for position in (0, 1):
                value = op.operands[position]
                known = is_known_encoding(value.owner) and any(map(is_computed, op.operands))
                if (is_computed(value) or known) and not taken_encoded(op, position):
                    op.operands[position] = rewriter.insert(DecodeOp(value)).result
            first, second = op.operands
            if index_of(first.type) is None and index_of(second.type) is None:
                rewriter.replace(op, op.dense(first, second))


def pack_computed(module: ModuleOp, chip: Chip) -> None:
    """
    Replace encoded tensors by panels. Raises InputError, located, for encoded arguments or results without elements,
    for operations of other dialects on encoded tensors, and for thresholds that no instruction can hold.
    """
    for op in list(module.walk()):
        if isinstance(op, FuncOp):
            _Packer(module, chip).function(op)


@dataclass
class _Packer:
    """Panels of the encoded values of one function."""

    module: ModuleOp
    chip: Chip
    values: dict[SSAValue, tuple[SSAValue, EncodedLayout]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, EncodedLayout]]
    )
    """Encoded value -> its panels."""
    known: dict[tuple[SSAValue, bool], tuple[SSAValue, EncodedLayout]] = field(
        default_factory=dict[tuple[SSAValue, bool], tuple[SSAValue, EncodedLayout]]
    )
    """Panels of constant tensors: with capacity for all elements, or (True) for the stored ones."""
    replaced: list[Operation] = field(default_factory=list[Operation])
    arguments: list[BlockArgument] = field(default_factory=list[BlockArgument])
    """Encoded arguments that were replaced."""

    def function(self, function: FuncOp) -> None:
        """Replace the encoded values of a function."""
        types = (*function.function_type.inputs, *function.function_type.outputs)
        if any(index_of(type) is not None for type in types):
            self._interface(function)
        for op in list(function.walk()):
            if op is function or op.parent is None:
                continue
            with at(op):
                try:
                    self._operation(op)
                except InputError as error:
                    located(error, op)
                    raise
        for op in reversed(self.replaced):
            if op.parent is not None:
                erase_unread(op.results[0])
        for argument in self.arguments:
            argument.block.erase_arg(argument)

    def _operation(self, op: Operation) -> None:
        rewriter = PatternRewriter(op)
        match op:
            case EncodeOp():
                self._encode(op, rewriter)
            case DecodeOp() if op.operand in self.values:
                rewriter.replace(op, (), (self._decoded(op.operand, rewriter),))
            case ConnectionsOp() if self._is_packed(op.operand, op):
                self._connections(op, rewriter)
            case CombineOp() if self._is_packed(op.lhs, op):
                self._combine(op, rewriter)
            case CompactOp() if self._is_packed(op.connections, op):
                self._compact(op, rewriter)
            case MatmulOp() | ConvOp() if any(value in self.values for value in op.operands):
                self._contraction(op, rewriter)
            case ReturnOp():
                for position, value in enumerate(op.operands):
                    if index_of(value.type) is not None:
                        op.operands[position] = self._panels(value, rewriter)[0]
            case _ if op.name.partition(".")[0] != "sparse":
                self._refuse(op)
            case _:
                pass

    def _refuse(self, op: Operation) -> None:
        """Raises InputError for an operation of another dialect on encoded tensors."""
        given = [
            *op.operands,
            *op.results,
            *(arg for region in op.regions for block in region.blocks for arg in block.args),
        ]
        if not isinstance(op, FuncOp) and any(index_of(value.type) is not None for value in given):
            raise InputError(
                f"'{op.name}' has encoded operands or results: only operations of 'sparse' accept them; "
                f"insert sparse.decode"
            )

    def _is_packed(self, value: SSAValue, op: Operation) -> bool:
        """Whether the operand of an operation on connection data has elements; only then panels are used."""
        return math.prod(shape_of(value)) > 0

    # --- values --------------------------------------------------------------------------------------------------

    def _panels(
        self, value: SSAValue, rewriter: PatternRewriter, exact: bool = False
    ) -> tuple[SSAValue, EncodedLayout]:
        """The panels of an encoded value; `exact`: those of a constant have no more capacity than stored elements."""
        if (found := self.values.get(value)) is not None:
            return found
        encode = value.owner
        if isinstance(encode, EncodeOp) and is_known_encoding(encode):
            if (value, exact) not in self.known:
                self.known[value, exact] = self._pack_known(encode, exact, rewriter)
            return self.known[value, exact]
        if isinstance(encode, EncodeOp):
            return self._pack(encode, rewriter)
        raise InputError(f"{value.type} has no elements: it cannot be encoded")

    def _encode(self, op: EncodeOp, rewriter: PatternRewriter) -> None:
        if is_known_encoding(op) or not math.prod(shape_of(op.operand)):
            return
        if is_hint(op) and all(isinstance(use.operation, DecodeOp) for use in op.result.uses):
            return
        self._pack(op, rewriter)

    def _pack(self, op: EncodeOp, rewriter: PatternRewriter) -> tuple[SSAValue, EncodedLayout]:
        density = op.expected.density if op.nonzero is not None else 1.0
        layout = layout_of(tensor_of(op.result), self.chip, density)
        encoder_threshold(layout.index.threshold, layout.element)  # raises InputError if there is none
        matrix, flag = as_matrix(op.operand, layout.index, rewriter)
        made = PanelEncodeOp(matrix, layout.index.threshold, layout.attribute, layout.nbytes, flag)
        return self._keep(op, rewriter.insert(made).result, layout)

    def _pack_known(self, op: EncodeOp, exact: bool, rewriter: PatternRewriter) -> tuple[SSAValue, EncodedLayout]:
        """Panels of a constant tensor, before the operation that encodes it."""
        type = tensor_of(op.result)
        layout, array = layout_of(type, self.chip), constant_array(op.operand)
        assert array is not None
        fibers = fibers_of(type, layout.index)
        if exact:
            kept = decode(encode_array(array, type, layout.index))
            layout, data = self._fitted(layout, np.ascontiguousarray(fibers.matrix(kept)))
        else:
            mask = counting(array, type, layout.index.threshold)
            data = pack_fibers(fibers.matrix(array), fibers.matrix(mask), layout.panels)
        with at(op):
            source = source_of(data, ui8, f"{op.operand.name_hint or 'tensor'}_encoded")
        rewriter.insert(source, InsertPoint.before(op))
        self.replaced.append(op)
        return source.results[0], layout

    def _fitted(self, layout: EncodedLayout, matrix: Array) -> tuple[EncodedLayout, Bytes]:
        """The same panels with capacity for the elements of a matrix, and their bytes."""
        lanes = Lanes.of(self.chip, MATRIX_RATES.get(str(layout.element), 1))
        panels, work, data = pack(matrix, layout.panels, lanes)
        panels, work = replace(panels, sizes=()), replace(work, own_loads=())
        return replace(layout, panels=panels, attribute=PanelsAttr(panels, work)), data

    def _keep(self, op: Operation, panels: SSAValue, layout: EncodedLayout) -> tuple[SSAValue, EncodedLayout]:
        """Record the panels of the result of an operation."""
        panels.name_hint = op.results[0].name_hint
        self.values[op.results[0]] = panels, layout
        self.replaced.append(op)
        return panels, layout

    def _decoded(self, value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """The dense tensor of a value in panels."""
        return self._dense_of(*self._panels(value, rewriter), decoded(tensor_of(value)), rewriter)

    def _dense_of(self, panels: SSAValue, layout: EncodedLayout, type: Tensor, rewriter: PatternRewriter) -> SSAValue:
        """The tensor of a type that panels hold."""
        flag = is_transposed(type, layout.index)
        matrix = rewriter.insert(PanelDecodeOp(panels, layout.element, layout.attribute, flag)).result
        return as_tensor(matrix, type, layout.index, rewriter)

    # --- operations ----------------------------------------------------------------------------------------------

    def _connections(self, op: ConnectionsOp, rewriter: PatternRewriter) -> None:
        source, layout = self._panels(op.operand, rewriter)
        target = layout_of(tensor_of(op.result), self.chip, layout.density)
        made = PanelConnectionsOp(source, layout.element, layout.attribute, target.attribute, target.nbytes)
        self._keep(op, rewriter.insert(made).result, target)

    def _combine(self, op: CombineOp, rewriter: PatternRewriter) -> None:
        type = tensor_of(op.result)
        sides = [self._arranged(value, type, rewriter) for value in (op.lhs, op.rhs)]
        target = layout_of(type, self.chip, min(layout.density for _, layout in sides))
        layouts = [layout.attribute for _, layout in sides]
        made = PanelCombineOp([panels for panels, _ in sides], layouts, target.attribute, target.nbytes)
        self._keep(op, rewriter.insert(made).result, target)

    def _arranged(self, value: SSAValue, type: Tensor, rewriter: PatternRewriter) -> tuple[SSAValue, EncodedLayout]:
        """The panels of connection data with the fibers of an encoded type; rearranged if theirs differ."""
        own, index = tensor_of(value), index_of(type)
        given = index_of(own)
        assert index is not None
        assert given is not None
        if fiber_dim(own, given) == fiber_dim(type, index):
            return self._panels(value, rewriter)
        dense = self._whole_groups(value, given, rewriter)
        plain = IndexAttr(Kind.DIRECT, order=index.order, axis=index.axis)
        layout = layout_of(encoded(decoded(own), plain), self.chip)
        matrix, flag = as_matrix(dense, plain, rewriter)
        return rewriter.insert(PanelEncodeOp(matrix, 0.0, layout.attribute, layout.nbytes, flag)).result, layout

    def _whole_groups(self, value: SSAValue, index: IndexAttr, rewriter: PatternRewriter) -> SSAValue:
        """Connection data as a dense tensor: stored groups are connected as a whole."""
        if index.format.group > 1:
            source, layout = self._panels(value, rewriter)
            made = PanelConnectionsOp(source, layout.element, layout.attribute, layout.attribute, layout.nbytes)
            return self._dense_of(rewriter.insert(made).result, layout, decoded(tensor_of(value)), rewriter)
        return self._dense_of(*self._panels(value, rewriter), decoded(tensor_of(value)), rewriter)

    def _compact(self, op: CompactOp, rewriter: PatternRewriter) -> None:
        connections, layout = self._panels(op.connections, rewriter)
        dense = op.operand
        if dense in self.values:
            dense = self._decoded(dense, rewriter)
        elif index_of(dense.type) is not None:
            dense = rewriter.insert(DecodeOp(dense)).result
        target = layout_of(tensor_of(op.result), self.chip, layout.density)
        matrix, flag = as_matrix(dense, target.index, rewriter)
        made = PanelCompactOp(matrix, connections, layout.attribute, target.attribute, target.nbytes, flag)
        self._keep(op, rewriter.insert(made).result, target)

    def _contraction(self, op: MatmulOp | ConvOp, rewriter: PatternRewriter) -> None:
        first, second = op.operands
        if first in self.values:
            assert isinstance(op, MatmulOp)
            rows, layout = self._panels(first, rewriter)
            weights, columns, flag = second, None, op.transpose_b is not None
            if index_of(second.type) is not None:
                weights, found = self._panels(second, rewriter, exact=True)
                columns, flag = found.attribute, False
            element = tensor_of(op.result).element_type
            made = EncodedMatmulOp(rows, weights, layout.element, element, layout.attribute, columns, flag)
            rewriter.replace(op, made)
            return
        panels, layout = self._panels(second, rewriter)
        nonzero = ALL_NONZERO if often_zero(first) else None
        if isinstance(encode := first.owner, EncodeOp):
            nonzero = encode.expected
            first = rewriter.insert(DecodeOp(first)).result
        rewriter.replace(op, on_panels(op, first, layout.attribute, panels, nonzero))

    # --- the interface -------------------------------------------------------------------------------------------

    def _interface(self, function: FuncOp) -> None:
        """Replace encoded arguments and results by bytes, and record their encoding in the module."""
        name = function.sym_name.data
        if name != "main" or function.parent_op() is not self.module or function.is_declaration:
            error = InputError(f"function @{name} has encoded arguments or results: only @main may have them")
            raise located(error, function)
        type, block = function.function_type, function.body.block
        arguments = list(block.args)
        inputs = self._described(function, argument_names(function), type.inputs)
        outputs = self._described(function, result_names(function), type.outputs)
        for number, argument in enumerate(arguments):
            if (index := index_of(argument.type)) is None:
                continue
            del index
            layout = layout_of(tensor_of(argument), self.chip)
            given = block.insert_arg(panel_bytes(layout.panels), number + 1)
            given.name_hint = argument.name_hint
            self.values[argument] = given, layout
        self.arguments = [argument for argument in arguments if argument in self.values]
        function.function_type = FunctionType.from_lists(
            [argument.type for argument in block.args if argument not in self.values],
            [self._in_memory(one) for one in type.outputs],
        )
        add_note(self.module, ENCODED, EncodedInterface(inputs, outputs).note)

    def _in_memory(self, type: Attribute) -> Attribute:
        if index_of(type) is None:
            return type
        return panel_bytes(layout_of(cast("Tensor", type), self.chip).panels)

    def _described(
        self, function: FuncOp, names: Sequence[str], types: Iterable[Attribute]
    ) -> dict[str, EncodedTensor]:
        """The encodings of arguments or results, for the interface of the executable."""
        found: dict[str, EncodedTensor] = {}
        for name, type in zip(names, types, strict=True):
            if (index := index_of(type)) is None:
                continue
            tensor = cast("Tensor", type)
            if not math.prod(tensor.get_shape()):
                error = InputError(f"'{name}' of type {tensor} has no elements: it cannot be encoded")
                raise located(error, function)
            fibers = fibers_of(tensor, index)
            found[name] = EncodedTensor(str(tensor.element_type), fibers, index.format, index.threshold)
        return found
