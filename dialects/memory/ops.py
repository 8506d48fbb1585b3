"""Operations of the `memory` dialect that allocate and free buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import I64, DenseArrayBase, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import MemoryAllocEffect, MemoryFreeEffect
from xdsl.utils.exceptions import VerifyException

from .attributes import BufferType, Space

if TYPE_CHECKING:
    from ...chips import Chip
    from .values import GlobalOp


def buffer_of(value: SSAValue) -> BufferType:
    """The type of a buffer."""
    assert isinstance(value.type, BufferType)
    return value.type


@irdl_op_definition
class AllocOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    Memory for a buffer, with unspecified contents. `live` contains the numbers of the first and the last task that use
    the buffer, for readers and reports. An offset in the type is the address, in bytes, that allocation has chosen.

    ```mlir
    %0 = memory.alloc {live = array<i64: 0, 3>} : !memory.buffer<64x64xf32, sram>
    ```
    """

    name = "memory.alloc"
    buffer = result_def(BufferType)
    live = opt_prop_def(DenseArrayBase[I64])
    traits = traits_def(MemoryAllocEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($buffer)"

    def __init__(self, type: BufferType, live: tuple[int, int] | None = None) -> None:
        interval = DenseArrayBase.from_list(i64, list(live)) if live is not None else None
        super().__init__(result_types=[type], properties={"live": interval})

    @property
    def interval(self) -> tuple[int, int] | None:
        """Numbers of the first and the last task that use the buffer; None if unspecified."""
        if self.live is None:
            return None
        first, last = self.live.get_values()
        return first, last

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalization import DropUnreadBuffer

        return (DropUnreadBuffer(),)

    def verify_(self) -> None:
        if self.live is not None:
            live = self.live.get_values()
            if len(live) != 2 or not 0 <= live[0] <= live[1]:
                raise VerifyException(f"live = {list(live)} should be [first, last] with 0 <= first <= last")
        verify_bounds(self)


def verify_bounds(op: AllocOp | GlobalOp) -> None:
    """
    Raises VerifyException if a buffer ends beyond its memory, or (checked once for each block) shares bytes with
    others.
    """
    from ..manycore.attributes import chip_of
    from .lifetimes import verify_lifetimes

    block = op.parent
    if block is not None and next(one for one in block.ops if one.name in _WITH_MEMORY) is op:
        verify_lifetimes(block)
    chip = chip_of(op)
    if chip is not None and (problem := size_problem(buffer_of(op.buffer), chip)) is not None:
        raise VerifyException(problem)


def size_problem(type: BufferType, chip: Chip) -> str | None:
    """What is wrong with the address or size of a buffer on a chip, or None."""
    if type.space is Space.HOST:
        return None
    capacity = chip.sram_bytes if type.space is Space.SRAM else chip.dram_bytes
    end = (type.offset or 0) + type.nbytes
    if end <= capacity:
        return None
    return f"the buffer ends at byte {end}: chip '{chip.name}' has {capacity} bytes of {type.space.value}"


_WITH_MEMORY = ("memory.alloc", "memory.global")


@irdl_op_definition
class FreeOp(IRDLOperation):
    """
    Ends the lifetime of a buffer: its memory may be used by others from here on.

    ```mlir
    %0 = memory.alloc : !memory.buffer<64x64xf32, sram, 0>
    memory.free %0 : !memory.buffer<64x64xf32, sram, 0>
    ```
    """

    name = "memory.free"
    buffer = operand_def(BufferType)
    traits = traits_def(MemoryFreeEffect())
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue | Operation) -> None:
        super().__init__(operands=[buffer])
