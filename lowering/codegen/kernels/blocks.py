"""Operations on panels that are encoded at run time: an instruction of the mapping unit for each panel."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ....chips import Chip
from ....dialects.dataflow.types import dtype_code, element_bytes, element_of
from ....dialects.sparse.block_ops import (
    BlockOp,
    PanelCombineOp,
    PanelCompactOp,
    PanelConnectionsOp,
    PanelDecodeOp,
    PanelEncodeOp,
)
from ....dialects.sparse.encoded_matmul import EncodedMatmulOp
from ....dialects.sparse.panel_attribute import PanelsAttr
from ....dialects.sparse.thresholds import encoder_threshold
from ....emulator.machine.costs_sparse import (
    IndexWork,
    Product,
    combine_cost,
    compact_cost,
    connect_cost,
    decode_cost,
    encode_cost,
    sparse_matmul_cost,
)
from ....formats.sparse.block import Block
from ....formats.sparse.panels import Panels
from ..block_emitter import BlockView
from ..view import View
from .common import Tile
from .contraction import transposed


class _Side:
    """An encoded operand or result of a tile."""

    def __init__(self, layout: PanelsAttr, nbytes: int, element: Attribute, view: View, first: int) -> None:
        self.panels: Panels = layout.panels(nbytes)
        self.item = element_bytes(element)
        self.density = layout.work.entries / (self.panels.outputs * self.panels.format.positions(self.panels.inputs))
        self._view, self._first = view, first

    def at(self, panel: int) -> BlockView:
        """A panel by its number within the tile."""
        there = self._view.box((panel, 0, 0), (1, 1, self.panels.nbytes)).drop((0, 1))
        return BlockView(there, self.panels.block_at(self._first + panel, 0, self.item))

    def expected(self, block: Block) -> tuple[IndexWork, int]:
        """Expected work on the index of a panel, and its expected bytes."""
        entries = math.ceil(self.density * block.fibers * block.positions)
        return IndexWork.of(block, entries), block.used_bytes(entries, self.item)


def _fibers(op: BlockOp, tile: Tile, matrix: View, is_transposed: bool, panel: int) -> View:
    """The fibers of a panel of a tile in a dense matrix, as [fibers, length]."""
    rows = transposed(matrix) if is_transposed else matrix
    width = op.panels.width
    low = panel * width
    return rows.part(0, low, min(width, rows.shape[0] - low))


def _side(op: BlockOp, tile: Tile, layout: PanelsAttr, view: View, element: Attribute) -> _Side:
    return _Side(layout, view.shape[2], element, view, tile.box.offsets[op.rows_dim])


def select_panel_encode(op: PanelEncodeOp, tile: Tile) -> None:
    """One `encode` per panel."""
    (x,), element, chip = tile.views, element_of(op.matrix), tile.emitter.chip
    target = _side(op, tile, op.layout, tile.out, element)
    threshold = encoder_threshold(op.threshold.value.data, element)
    for panel in range(tile.box.sizes[0]):
        out, rows = target.at(panel), _fibers(op, tile, x, op.transposed is not None, panel)
        cost = encode_cost(chip, rows.volume, (rows.nbytes, target.expected(out.block)[1]))
        tile.emitter.encode(out, rows, threshold, cost.cycles)


def select_panel_decode(op: PanelDecodeOp, tile: Tile) -> None:
    """One `decode` per panel."""
    (encoded,), chip = tile.views, tile.emitter.chip
    source = _side(op, tile, op.layout, encoded, element_of(op.result))
    for panel in range(tile.box.sizes[op.rows_dim]):
        block, rows = source.at(panel), _fibers(op, tile, tile.out, op.transposed is not None, panel)
        index, nbytes = source.expected(block.block)
        tile.emitter.decode(rows, block, decode_cost(chip, index, (nbytes, rows.nbytes)).cycles)


def select_panel_connections(op: PanelConnectionsOp, tile: Tile) -> None:
    """One `connect` per panel."""
    (encoded,), chip = tile.views, tile.emitter.chip
    source, target = _side(op, tile, op.layout, encoded, op.element), _side(op, tile, op.target, tile.out, i1)
    for panel in range(tile.box.sizes[0]):
        block, out = source.at(panel), target.at(panel)
        index, nbytes = source.expected(block.block)
        cost = connect_cost(chip, index, (nbytes, target.expected(out.block)[1]))
        tile.emitter.connect(out, block, dtype_code(op.element), cost.cycles)


def select_panel_combine(op: PanelCombineOp, tile: Tile) -> None:
    """One `combine` per panel."""
    chip, target = tile.emitter.chip, _side(op, tile, op.target, tile.out, i1)
    sides = [_side(op, tile, layout, view, i1) for layout, view in zip(op.layouts, tile.views, strict=True)]
    for panel in range(tile.box.sizes[0]):
        out, (a, b) = target.at(panel), (side.at(panel) for side in sides)
        (of_a, a_bytes), (of_b, b_bytes) = sides[0].expected(a.block), sides[1].expected(b.block)
        cost = combine_cost(chip, (of_a, of_b), (a_bytes, b_bytes, target.expected(out.block)[1]))
        tile.emitter.combine(out, a, b, cost.cycles)


def select_panel_compact(op: PanelCompactOp, tile: Tile) -> None:
    """One `compact` per panel."""
    (x, given), chip = tile.views, tile.emitter.chip
    target = _side(op, tile, op.target, tile.out, element_of(op.matrix))
    connections = _side(op, tile, op.layout, given, i1)
    for panel in range(tile.box.sizes[0]):
        out, by = target.at(panel), connections.at(panel)
        rows = _fibers(op, tile, x, op.transposed is not None, panel)
        index, nbytes = connections.expected(by.block)
        cost = compact_cost(chip, rows.volume, index, (rows.nbytes, nbytes, target.expected(out.block)[1]))
        tile.emitter.compact(out, rows, by, cost.cycles)


def select_encoded_matmul(op: EncodedMatmulOp, tile: Tile) -> None:
    """One `matmul.x` for each panel of rows, or one `matmul.xw` for each pair of a panel of rows and one of columns."""
    (x, w), code = tile.views, dtype_code(op.element)
    first, begin, _ = tile.box.offsets
    rows = _Side(op.layout, x.shape[2], op.element, x, first)
    for panel in range(tile.box.sizes[0]):
        a = rows.at(panel)
        out = tile.out.part(0, panel * rows.panels.width, a.block.fibers)
        if op.weights_layout is None:
            b = transposed(w) if op.transpose_b is not None else w
            cycles = _product_cycles(tile.emitter.chip, code, rows, a.block, None, b)
            tile.emitter.encoded_rows_matmul(out, a, b, code, cycles)
            continue
        columns = _Side(op.weights_layout, w.shape[2], op.element, w, begin)
        for column in range(tile.box.sizes[1]):
            b = columns.at(column)
            part = out.part(1, column * columns.panels.width, b.block.fibers)
            cycles = _product_cycles(tile.emitter.chip, code, rows, a.block, columns, b)
            tile.emitter.encoded_rows_matmul(part, a, b, code, cycles)


def _product_cycles(
    chip: Chip, code: int, rows: _Side, neurons: Block, columns: _Side | None, weights: View | BlockView
) -> int:
    """Expected cycles of a product, by the chip's cost formula and the expected densities of both operands."""
    m, k = neurons.fibers, neurons.length
    of_inputs, a_bytes = rows.expected(neurons)
    if isinstance(weights, BlockView):
        assert columns is not None
        n, share = weights.block.fibers, columns.density
        of_weights, b_bytes = columns.expected(weights.block)
    else:
        n, share, of_weights, b_bytes = weights.shape[1], 1.0, IndexWork(), weights.nbytes
    met = math.ceil(k * share * (1 - (1 - min(1.0, rows.density)) ** m))
    pairs = math.ceil(m * k * share * rows.density)
    used, passing = np.full((1, n), met, np.int64), np.full((1, n), pairs, np.int64)
    product = Product(m, k, used, passing, of_weights, of_inputs, encoded=columns is not None)
    return sparse_matmul_cost(chip, code, product, (4 * m * n, a_bytes, b_bytes)).cycles
