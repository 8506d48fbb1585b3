"""
Operations for transfers between memories.

A transfer in a launch is executed by all cores of a task; the slices of each core are derived from the tiling and the
operations of the task. Copies between host and DRAM are of whole buffers.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .attributes import BufferType, Space
from .ops import buffer_of
from .stash_types import TokenType


class SliceTransferOp(IRDLOperation, abc.ABC):
    """Base of the transfers that copy the slices of operands that a step of a task reads to the cores."""

    task = prop_def(SymbolRefAttr)
    reads = prop_def(DenseArrayBase[I64])
    """Numbers of the task's reads that the transfer is for."""
    step = opt_prop_def(IntegerAttr[I64])
    """The step whose slices are transferred; absent: the slices of all steps, together."""
    relative = opt_prop_def(UnitAttr)
    """`step` is relative to the step that contains the operation; if there is no such step, nothing is transferred."""
    sources = var_operand_def(BufferType)
    targets = var_operand_def(BufferType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SOURCE: ClassVar[Space]
    """The memory of the sources."""

    def __init__(
        self,
        sources: Sequence[SSAValue],
        targets: Sequence[SSAValue],
        task: str,
        reads: Sequence[int],
        step: int | None,
        relative: bool = False,
    ) -> None:
        super().__init__(
            operands=[list(sources), list(targets)],
            properties={
                "task": SymbolRefAttr(task),
                "reads": DenseArrayBase.from_list(i64, list(reads)),
                "step": None if step is None else IntegerAttr(step, i64),
                "relative": UnitAttr() if relative else None,
            },
        )

    @property
    def task_name(self) -> str:
        """The task that the slices are for."""
        return self.task.root_reference.data

    @property
    def step_number(self) -> int | None:
        """See `step`."""
        return None if self.step is None else self.step.value.data

    @property
    def is_relative(self) -> bool:
        """See `relative`."""
        return self.relative is not None

    def verify_(self) -> None:
        for value, space in (*((one, self.SOURCE) for one in self.sources), *((t, Space.SRAM) for t in self.targets)):
            if (found := buffer_of(value).space) is not space:
                raise VerifyException(f"{value.type} is in {found.value}: expected one in {space.value}")
        if len(self.sources) != len(self.reads.get_values()):
            raise VerifyException(
                f"reads {list(self.reads.get_values())} come from {len(self.sources)} buffers: expected one each"
            )
        if not self.sources or any(read < 0 for read in self.reads.get_values()):
            raise VerifyException("expected the numbers of one read or more")
        low = 1 if self.is_relative else 0
        if (self.step_number is None and self.is_relative) or (self.step_number is not None and self.step_number < low):
            raise VerifyException(f"step {self.step_number}: expected {low} or more")
        _verify_parent(self, "manycore.launch", "manycore.repeat", "manycore.execute")

    @classmethod
    def parse(cls, parser: Parser) -> SliceTransferOp:
        sources = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_keyword("to")
        targets = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_keyword("for")
        task = parser.parse_symbol_name()
        reads = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        step, relative = None, False
        if parser.parse_optional_keyword("all") is None:
            parser.parse_keyword("step")
            relative = parser.parse_optional_punctuation("+") is not None
            step = parser.parse_integer(allow_boolean=False)
        rest = cls.parse_rest(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_keyword("to")
        target_types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls.create_parsed(
            _resolved(parser, sources, types),
            _resolved(parser, targets, target_types),
            task.data,
            reads,
            step,
            relative,
        )
        op.properties.update(rest)
        op.attributes.update(attributes)
        return op

    @classmethod
    def create_parsed(
        cls,
        sources: Sequence[SSAValue],
        targets: Sequence[SSAValue],
        task: str,
        reads: Sequence[int],
        step: int | None,
        relative: bool,
    ) -> SliceTransferOp:
        """Create the operation from its parsed parts."""
        return cls(sources, targets, task, reads, step, relative)

    @classmethod
    def parse_rest(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse what an operation has in addition to the common syntax; returns properties."""
        return {}

    def print_rest(self, printer: Printer) -> None:
        """Print what `parse_rest` reads."""

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.sources, printer.print_ssa_value)
        printer.print_string(" to ")
        printer.print_list(self.targets, printer.print_ssa_value)
        printer.print_string(" for ")
        printer.print_symbol_name(self.task_name)
        printer.print_string(f"{list(self.reads.get_values())}")
        if self.step_number is None:
            printer.print_string(" all")
        else:
            printer.print_string(f" step {'+' if self.is_relative else ''}{self.step_number}")
        self.print_rest(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([value.type for value in self.sources], printer.print_attribute)
        printer.print_string(" to ")
        printer.print_list([value.type for value in self.targets], printer.print_attribute)


def _verify_parent(op: Operation, *names: str) -> None:
    """Raises VerifyException if the parent of an operation is none of these operations, which define its meaning."""
    parent = op.parent_op()
    if parent is not None and parent.name not in names:
        *others, last = names
        raise VerifyException(f"is in '{parent.name}': expected {' or '.join([', '.join(others), last][not others :])}")


def _resolved(parser: Parser, operands: Sequence[UnresolvedOperand], types: Sequence[Attribute]) -> list[SSAValue]:
    if len(operands) != len(types):
        parser.raise_error(f"{len(operands)} buffers have {len(types)} types")
    return [parser.resolve_operand(operand, type) for operand, type in zip(operands, types, strict=True)]


@irdl_op_definition
class LoadOp(SliceTransferOp):
    """
    Loads slices of a task's operands from DRAM: those that a core needs for the step that is named, or for all steps
    together. `step N` is the number of a step, `step +N` the step that is N after the current one. The numbers in
    brackets are the task's reads (see `manycore.execute`), one for each source.

    A slice is loaded to the next of the target buffers, which are used in turn; a core that has the slice already keeps
    it. With `multicast N`, groups of at least N cores that need the same slice each load a part of it and send it to
    the others.

    ```syntax
    memory.load $sources `to` $targets `for` $task `[` $reads `]` (`step` `+`? $step | `all`)
      (`multicast` $multicast)? attr-dict `:` type($sources) `to` type($targets)
    ```

    ```mlir
    %t = manycore.launch @all {
      %r = memory.alloc : !memory.buffer<4xf32, sram, 0>
      %s = memory.alloc : !memory.buffer<4xf32, sram, 64>
      manycore.execute @neg(%a = %x : !memory.buffer<8xf32, dram, 0> as tensor<8xf32>)
          into %y : !memory.buffer<8xf32, dram, 64> reads(%r : !memory.buffer<4xf32, sram, 0>)
          staging(%s : !memory.buffer<4xf32, sram, 64>) slots [1] uses [0] writes [0]
          tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
        %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
        manycore.yield %0 : tensor<8xf32>
      } begin {
        memory.load %x to %r for @neg[0] step 0 : !memory.buffer<8xf32, dram, 0> to !memory.buffer<4xf32, sram, 0>
      } last {
        manycore.compute
        memory.store %s to %y : !memory.buffer<4xf32, sram, 64> to !memory.buffer<8xf32, dram, 64>
      }
    }
    memory.wait %t
    ```
    """

    name = "memory.load"
    multicast = opt_prop_def(IntegerAttr[I64])
    SOURCE: ClassVar = Space.DRAM

    def __init__(
        self,
        source: SSAValue,
        targets: Sequence[SSAValue],
        task: str,
        read: int,
        step: int | None,
        relative: bool = False,
        multicast_from: int = 0,
    ) -> None:
        super().__init__([source], targets, task, [read], step, relative)
        if multicast_from:
            self.properties["multicast"] = IntegerAttr(multicast_from, i64)

    @property
    def multicast_from(self) -> int:
        """The smallest number of cores that share loads by multicast; 0: no multicast."""
        return 0 if self.multicast is None else self.multicast.value.data

    @property
    def read(self) -> int:
        """Number of the read."""
        return self.reads.get_values()[0]

    def verify_(self) -> None:
        if len(self.sources) != 1 or not self.targets:
            raise VerifyException("a load has one source and one or more targets")
        if self.multicast is not None and self.multicast_from < 2:
            raise VerifyException(f"multicast {self.multicast_from}: expected groups of 2 cores or more")
        super().verify_()

    @classmethod
    def create_parsed(
        cls,
        sources: Sequence[SSAValue],
        targets: Sequence[SSAValue],
        task: str,
        reads: Sequence[int],
        step: int | None,
        relative: bool,
    ) -> LoadOp:
        op = cls(sources[0], targets, task, reads[0] if reads else -1, step, relative)
        op.operands = [*sources, *targets]
        op.properties["reads"] = DenseArrayBase.from_list(i64, list(reads))
        return op

    @classmethod
    def parse_rest(cls, parser: Parser) -> dict[str, Attribute]:
        if parser.parse_optional_keyword("multicast") is None:
            return {}
        return {"multicast": IntegerAttr(parser.parse_integer(allow_boolean=False), i64)}

    def print_rest(self, printer: Printer) -> None:
        if self.multicast is not None:
            printer.print_string(f" multicast {self.multicast_from}")


@irdl_op_definition
class GatherOp(SliceTransferOp):
    """
    Copies slices of a task's operands that are distributed over the tiles of other cores to the cores that read them:
    what the named step needs and no step before it. `step N` is the number of a step, `step +N` the step that is N
    after the current one. One operation is for all reads of a task that are gathered, by their numbers in brackets. For
    step 0, it also fills the padding.

    ```syntax
    memory.gather $sources `to` $targets `for` $task `[` $reads `]` (`step` `+`? $step | `all`)
      attr-dict `:` type($sources) `to` type($targets)
    ```

    ```mlir
    %t = manycore.launch @all {
      %tile = memory.alloc : !memory.buffer<4xf32, sram, 0>
      %part = memory.alloc : !memory.buffer<4xf32, sram, 64>
      %s = memory.alloc : !memory.buffer<4xf32, sram, 128>
      %r = memory.alloc : !memory.buffer<4xf32, sram, 192>
      manycore.execute @neg(%a = %x : !memory.buffer<8xf32, dram, 0> as tensor<8xf32>)
          into %tile : !memory.buffer<4xf32, sram, 0> reads(%r : !memory.buffer<4xf32, sram, 192>)
          slots [1] uses [0] writes [0] tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
        %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
        manycore.yield %0 : tensor<8xf32>
      } begin {
        memory.load %x to %r for @neg[0] step 0 : !memory.buffer<8xf32, dram, 0> to !memory.buffer<4xf32, sram, 192>
      } last {
        manycore.compute
      }
      manycore.execute @abs(%a = %tile : !memory.buffer<4xf32, sram, 0> as tensor<8xf32>)
          into %y : !memory.buffer<8xf32, dram, 64> reads(%part : !memory.buffer<4xf32, sram, 64>)
          staging(%s : !memory.buffer<4xf32, sram, 128>) slots [1] uses [0] writes [0]
          tiled <grid = [2], cores = [2, 3], steps = [1], order = [0]> {
        %0 = dataflow.abs %a : (tensor<8xf32>) -> tensor<8xf32>
        manycore.yield %0 : tensor<8xf32>
      } begin {
        memory.gather %tile to %part for @abs[0] step 0
            : !memory.buffer<4xf32, sram, 0> to !memory.buffer<4xf32, sram, 64>
      } last {
        manycore.compute
        memory.store %s to %y : !memory.buffer<4xf32, sram, 128> to !memory.buffer<8xf32, dram, 64>
      }
    }
    memory.wait %t
    ```
    """

    name = "memory.gather"
    SOURCE: ClassVar = Space.SRAM

    def verify_(self) -> None:
        if len(self.sources) != len(self.targets):
            raise VerifyException(f"{len(self.sources)} sources go to {len(self.targets)} targets: expected one each")
        if self.step_number is None:
            raise VerifyException("a gather is for one step")
        super().verify_()


@irdl_op_definition
class StoreOp(IRDLOperation):
    """
    In a task: stores the parts of its result that the current step completes from the cores to DRAM. They are in the
    sources, which are used in turn.

    ```mlir
    %t = manycore.launch @all {
      %r = memory.alloc : !memory.buffer<4xf32, sram, 0>
      %s = memory.alloc : !memory.buffer<4xf32, sram, 64>
      manycore.execute @neg(%a = %x : !memory.buffer<8xf32, dram, 0> as tensor<8xf32>)
          into %y : !memory.buffer<8xf32, dram, 64> reads(%r : !memory.buffer<4xf32, sram, 0>)
          staging(%s : !memory.buffer<4xf32, sram, 64>) slots [1] uses [0] writes [0]
          tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
        %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
        manycore.yield %0 : tensor<8xf32>
      } begin {
        memory.load %x to %r for @neg[0] step 0 : !memory.buffer<8xf32, dram, 0> to !memory.buffer<4xf32, sram, 0>
      } last {
        manycore.compute
        memory.store %s to %y : !memory.buffer<4xf32, sram, 64> to !memory.buffer<8xf32, dram, 64>
      }
    }
    memory.wait %t
    ```
    """

    name = "memory.store"
    sources = var_operand_def(BufferType)
    target = operand_def(BufferType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$sources `to` $target attr-dict `:` type($sources) `to` type($target)"

    def __init__(self, sources: Sequence[SSAValue], target: SSAValue) -> None:
        super().__init__(operands=[list(sources), target])

    def verify_(self) -> None:
        for value, space in (*((one, Space.SRAM) for one in self.sources), (self.target, Space.DRAM)):
            if (found := buffer_of(value).space) is not space:
                raise VerifyException(f"{value.type} is in {found.value}: expected one in {space.value}")
        _verify_parent(self, "manycore.execute")


_COPIES = ((Space.HOST, Space.DRAM), (Space.DRAM, Space.HOST))


@irdl_op_definition
class CopyOp(IRDLOperation):
    """
    Begins to copy whole buffers between host and DRAM, one after the other. `memory.wait` waits until all are copied.

    ```mlir
    %t = memory.copy %h to %d : !memory.buffer<4xf32, host, 0> to !memory.buffer<4xf32, dram, 64>
    memory.wait %t
    ```
    """

    name = "memory.copy"
    sources = var_operand_def(BufferType)
    targets = var_operand_def(BufferType)
    token = result_def(TokenType())
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$sources `to` $targets attr-dict `:` type($sources) `to` type($targets)"

    def __init__(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        super().__init__(operands=[list(sources), list(targets)], result_types=[TokenType()])

    def verify_(self) -> None:
        if len(self.sources) != len(self.targets) or not self.sources:
            raise VerifyException(f"{len(self.sources)} sources go to {len(self.targets)} targets: expected one each")
        for one, other in zip(self.sources, self.targets, strict=True):
            source, target = buffer_of(one), buffer_of(other)
            if (source.shape, source.element_type) != (target.shape, target.element_type):
                raise VerifyException(f"copies {source} to {target}: expected equal shapes and element types")
            if (source.space, target.space) not in _COPIES:
                ways = " or ".join(f"{a.value} to {b.value}" for a, b in _COPIES)
                raise VerifyException(f"copies from {source.space.value} to {target.space.value}: expected {ways}")


@irdl_op_definition
class WaitOp(IRDLOperation):
    """
    Waits until a copy or a launch has ended.

    ```mlir
    %t = memory.copy %h to %d : !memory.buffer<4xf32, host, 0> to !memory.buffer<4xf32, dram, 64>
    memory.wait %t
    ```
    """

    name = "memory.wait"
    token = operand_def(TokenType())
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$token attr-dict"

    def __init__(self, token: SSAValue | Operation) -> None:
        super().__init__(operands=[token])
