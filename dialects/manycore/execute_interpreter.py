"""
Running `manycore.execute`: every core has its own SRAM bytes, and all values pass through them at their addresses.

Two buffers that share bytes while both are in use therefore show in the results, as they would on the chip. Slices come
into the buffers of reads when the step that needs them begins; what is loaded earlier on the chip is loaded here then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ...support.errors import MeshloomError
from ..dataflow.base import DataflowOp
from ..dataflow.constants import Array, numpy_type
from ..dataflow.evaluate import evaluate
from ..dataflow.tiling import Box, DimKind, TilingInterface
from ..dataflow.types import element_of, shape_of, tensor
from ..memory.attributes import BufferType, Space
from ..memory.ops import AllocOp, buffer_of
from .execute import ExecuteOp
from .interpreter import combine_partials, materialise


def _index(box: Box, origin: Sequence[int]) -> Any:
    """Index of a box in an array whose first element is at `origin`; an array without dimensions stays an array."""
    ranges = zip(box.offsets, box.sizes, origin, strict=True)
    return (..., *(slice(offset - low, offset - low + size) for offset, size, low in ranges))


@dataclass
class CoreMemories:
    """The SRAM of all cores, and which tile of a spread value each core holds."""

    capacity: int
    """Bytes of a core's SRAM that buffers use."""
    bytes_of: dict[int, NDArray[np.uint8]] = field(default_factory=dict[int, NDArray[np.uint8]])
    held: dict[SSAValue, tuple[dict[int, Box], tuple[int, ...]]] = field(
        default_factory=dict[SSAValue, tuple[dict[int, Box], tuple[int, ...]]]
    )
    """Buffer -> core's box of the value, and the value's shape."""

    def view(self, core: int, buffer: SSAValue, element: Attribute, shape: Sequence[int]) -> Array:
        """The first bytes of a buffer on a core as an array. Raises MeshloomError where the buffer is too small."""
        type = cast(BufferType, buffer.type)
        if type.offset is None:
            raise MeshloomError(f"{type} has no address: run manycore-to-memory, or give one")
        size = prod(shape) * numpy_type(element).itemsize
        if size > type.nbytes:
            raise MeshloomError(f"{type} has {type.nbytes} bytes, {size} are used on core {core}")
        if core not in self.bytes_of:
            self.bytes_of[core] = np.full(self.capacity, 0xFF, np.uint8)  # NaN in every float type
        memory = self.bytes_of[core]
        return memory[type.offset : type.offset + size].view(numpy_type(element)).reshape(shape)

    def collect(self, buffer: SSAValue, element: Attribute) -> Array:
        """The whole value that is spread over the cores' tiles."""
        if buffer not in self.held:
            raise MeshloomError(f"{buffer.type} is read before any task has written it")
        boxes, shape = self.held[buffer]
        whole = np.zeros(shape, numpy_type(element))
        for core, box in boxes.items():
            if box.volume:
                whole[_index(box, (0,) * box.rank)] = self.view(core, buffer, element, box.sizes)
        return whole


@register_impls
class ExecuteFunctions(InterpreterFunctions):
    """Tasks over buffers, for xDSL's interpreter."""

    @impl(ExecuteOp)
    def run_execute(self, interpreter: Interpreter, op: ExecuteOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Core by core, step by step."""
        memories = interpreter.get_data(ExecuteFunctions, "memories", lambda: CoreMemories(_sram_used(op)))
        _Execution(op, args, cast(CoreMemories, memories)).run()
        return ()


def _sram_used(op: ExecuteOp) -> int:
    """Bytes up to the end of the highest SRAM buffer of a function."""
    types = [buffer_of(other.buffer) for other in op.get_toplevel_object().walk() if isinstance(other, AllocOp)]
    buffers = [type for type in types if type.space is Space.SRAM]
    return max(((type.offset or 0) + type.nbytes for type in buffers), default=0)


class _Execution:
    def __init__(self, op: ExecuteOp, args: tuple[Any, ...], memories: CoreMemories) -> None:
        self.op = op
        self.memories = memories
        self.ops = op.ops
        self.root = op.ops[0]
        self.read_of = op.read_of_use
        self.resident = cast(BufferType, op.target.type).space is Space.SRAM
        self.result_shape = shape_of(self.root.results[0])
        self.target: Array = args[len(op.inputs)]
        self.inputs: list[Array] = []
        for value, argument, array in zip(op.inputs, op.body.block.args, args, strict=False):
            if cast(BufferType, value.type).space is Space.SRAM:
                array = memories.collect(value, element_of(argument))
            if array.size != prod(shape_of(argument)):
                raise MeshloomError(
                    f"{value.type} holds a value of shape {list(array.shape)}, which task '{op.sym_name.data}' reads "
                    f"as {argument.type}"
                )
            self.inputs.append(array.reshape(shape_of(argument)))

    def run(self) -> None:
        op, space = self.op, self.root.iteration_space()
        tiling = op.tiling.data
        reductions = [dim for dim, one in enumerate(space) if one.kind is DimKind.REDUCTION]
        tiles = tiling.tile_boxes([one.size for one in space])
        results = {core: self.root.result_box(tile) for core, tile in tiles.items()}
        for core, tile in tiles.items():
            if tile.volume == 0:
                continue
            version = -1
            last: Box | None = None
            slices: dict[int, tuple[object, int]] = {}
            for index, box in zip(tiling.step_indices(), tiling.step_boxes(tile), strict=True):
                part = self.root.result_box(box)
                if part.volume == 0:
                    continue
                version += part != last
                last = part
                first = all(index[dim] == 0 for dim in reductions)
                complete = all(index[dim] == tiling.steps[dim] - 1 for dim in reductions)
                self._step(core, box, results[core], version, slices, first, complete)
        if self.resident:
            self.memories.held[op.target] = (results, self.result_shape)

    def _step(
        self,
        core: int,
        box: Box,
        tile: Box,
        version: int,
        slices: dict[int, tuple[object, int]],
        first: bool,
        complete: bool,
    ) -> None:
        op = self.op
        part = self.root.result_box(box)
        values: dict[SSAValue, Array] = {}
        for number, inner in enumerate(self.ops[: None if complete else 1]):
            area = box if number == 0 else part
            operands = [
                self._outside(core, number, index, area, slices) if isinstance(value, BlockArgument) else values[value]
                for index, value in enumerate(inner.operands)
            ]
            out = self._out(core, number, part, tile, version)
            result = _evaluate(inner, area, operands)
            if number == 0 and not first and inner.combine is not None:
                result = combine_partials(inner.combine, out, result, element_of(inner.results[0]))
            out[...] = result
            values[inner.results[0]] = out
        if complete and not self.resident:
            self.target.reshape(self.result_shape)[_index(part, (0,) * part.rank)] = values[op.ops[-1].results[0]]

    def _outside(self, core: int, number: int, index: int, area: Box, slices: dict[int, tuple[object, int]]) -> Array:
        """An operand's slice, in the buffer of its read where there is one."""
        inner = self.ops[number]
        argument = cast(BlockArgument, inner.operands[index])
        piece = inner.operand_slice(index, area)
        read = self.read_of[number, index]
        buffers = self.op.read_buffers(read)
        element = element_of(argument)
        local = materialise(self.inputs[argument.index], piece, element)
        if not buffers or local.size == 0:
            return local
        known, version = slices.get(read, (None, -1))
        if known != piece:
            version += 1
            slices[read] = (piece, version)
        held = self.memories.view(core, buffers[version % len(buffers)], element, local.shape)
        if known != piece:
            held[...] = local
        return held

    def _out(self, core: int, number: int, part: Box, tile: Box, version: int) -> Array:
        """Where an operation of the body writes."""
        where = self.op.writes.get_values()[number]
        element = element_of(self.ops[number].results[0])
        if where:
            return self.memories.view(core, self.op.temporaries[where - 1], element, part.sizes)
        staging = self.op.staging
        if staging and not (self.resident and number + 1 == len(self.ops)):
            return self.memories.view(core, staging[version % len(staging)], element, part.sizes)
        return self.memories.view(core, self.op.target, element, tile.sizes)[_index(part, tile.offsets)]


def _evaluate(op: TilingInterface, area: Box, operands: Sequence[Array]) -> Array:
    types: list[TensorType[Attribute]] = [
        tensor(element_of(op.operands[index]), array.shape) for index, array in enumerate(operands)
    ]
    block = Block(arg_types=types)
    values: dict[SSAValue, Array] = dict(zip(block.args, operands, strict=True))
    result: Array | None = None
    for built in op.build_tile(area, block.args):
        assert isinstance(built, DataflowOp)
        result = evaluate(built, [values[operand] for operand in built.operands])
        values[built.results[0]] = result
    assert result is not None, "build_tile gives at least one operation"
    return result
