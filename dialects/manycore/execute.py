"""`manycore.execute`: a task in destination-passing style, with every buffer that it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import I64, DenseArrayBase, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..dataflow.elementwise import ElementwiseOp
from ..dataflow.sources import ConstantOp
from ..dataflow.tiling import TilingInterface
from ..memory.attributes import BufferType, Space
from .attributes import TilingAttr
from .bodies import YieldOp
from .task_rules import (
    body_constants,
    body_operations,
    verify_constants,
    verify_cores,
    verify_operations,
    verify_reduced_last,
    verify_tiling,
)


@dataclass(frozen=True)
class Scratch:
    """The buffers of a task other than operands and result; each is at the same address in the SRAM of all cores."""

    reads: Sequence[SSAValue] = ()
    """Slices of operands: all slots of read 0, then of read 1..."""
    staging: Sequence[SSAValue] = ()
    """Parts of the result before they are stored to DRAM or written to the cores' tiles; used in turn."""
    temporaries: Sequence[SSAValue] = ()
    """Intermediate values of the body."""


@irdl_op_definition
class ComputeOp(IRDLOperation):
    """
    In a task: each core computes its part of the current step. `pipelined`: the operands of the next step are
    available, so its sums may begin before the other operations of the current step.

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

    name = "manycore.compute"
    pipelined = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "(`pipelined` $pipelined^)? attr-dict"

    def __init__(self, pipelined: bool = False) -> None:
        super().__init__(properties={"pipelined": UnitAttr() if pipelined else None})

    def verify_(self) -> None:
        if (parent := self.parent_op()) is not None and not isinstance(parent, ExecuteOp):
            raise VerifyException(f"is in '{parent.name}': expected manycore.execute")


SCHEDULE = ("begin", "steps", "last")
"""The parts of a task's schedule: before the first step, in every step except the last, in the last step."""


@irdl_op_definition
class ExecuteOp(IRDLOperation):
    """
    A task over buffers: it reads the operands' buffers and writes the result to the buffer after `into`. Tiling, steps
    and body are those of `manycore.task`.

    - `reads(...)`: the buffers for slices of operands. `slots` is the number of buffers of each read: 0 if the operand
      is used where it lies; several buffers are used in turn. `uses` is the number of the read for each use of an
      argument, in the order of the body.
    - `staging(...)`: where parts of a result in DRAM are computed before they are stored, and parts of a result in SRAM
      before the last operation, which writes the tile (without staging, all operations write the tile).
    - `temporaries(...)`: other values of the body, and last the memory for a narrow operand that the first operation
      converts. `writes` is, for each operation of the body, 0 if it writes the result (or staging), or k if it writes
      temporary k - 1; a slice that others read in place writes nothing, whatever its number.

    An SRAM buffer represents a buffer at the same address on each core. An operand or result in SRAM is distributed:
    each core holds the tile that it computed.

    After the body follows the schedule: transfers and `manycore.compute` in the order in which they are issued, in up
    to three parts: `begin`, before the first step; `steps`, in each step except the last; `last`, in the last step.

    ```syntax
    manycore.execute $sym_name `(` (%argument `=` %input `:` type `as` type),* `)` `into` %target `:` type
      (`reads` `(` (%read `:` type),* `)`)? (`staging` `(` (%staging `:` type),* `)`)?
      (`temporaries` `(` (%temporary `:` type),* `)`)? `slots` `[` $slots `]` `uses` `[` $uses `]`
      `writes` `[` $writes `]` `tiled` $tiling attr-dict-with-keyword $body
      (`begin` $begin)? (`steps` $steps)? (`last` $last)?
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

    name = "manycore.execute"
    sym_name = prop_def(StringAttr)
    tiling = prop_def(TilingAttr)
    slots = prop_def(DenseArrayBase[I64])
    uses = prop_def(DenseArrayBase[I64])
    writes = prop_def(DenseArrayBase[I64])
    inputs = var_operand_def(BufferType)
    target = operand_def(BufferType)
    reads = var_operand_def(BufferType)
    staging = var_operand_def(BufferType)
    temporaries = var_operand_def(BufferType)
    body = region_def("single_block")
    begin = region_def("single_block")
    steps = region_def("single_block")
    last = region_def("single_block")
    traits = traits_def(NoTerminator(), MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        name: str,
        inputs: Sequence[SSAValue],
        target: SSAValue,
        scratch: Scratch,
        tiling: TilingAttr,
        slots: Sequence[int],
        uses: Sequence[int],
        writes: Sequence[int],
        body: Region,
        begin: Sequence[Operation] = (),
        steps: Sequence[Operation] = (),
        last: Sequence[Operation] = (),
    ) -> None:
        super().__init__(
            operands=[list(inputs), target, list(scratch.reads), list(scratch.staging), list(scratch.temporaries)],
            properties={
                "sym_name": StringAttr(name),
                "tiling": tiling,
                "slots": DenseArrayBase.from_list(i64, list(slots)),
                "uses": DenseArrayBase.from_list(i64, list(uses)),
                "writes": DenseArrayBase.from_list(i64, list(writes)),
            },
            regions=[body, *(Region(Block(list(ops))) for ops in (begin, steps, last))],
        )

    @property
    def ops(self) -> tuple[TilingInterface, ...]:
        """The operations of the body; the first one is the root."""
        return tuple(body_operations(self.body.block))

    @property
    def immediates(self) -> tuple[ConstantOp, ...]:
        """The constants in the body: immediates of its instructions."""
        return tuple(body_constants(self.body.block))

    @property
    def read_of_use(self) -> dict[tuple[int, int], int]:
        """
        (number of an operation of the body, number of its operand) -> the read, for operands from outside the body.
        """
        positions = _outside_uses(self.ops)
        return dict(zip(positions, self.uses.get_values(), strict=True))

    @property
    def read_operands(self) -> list[int]:
        """The number of the operand of each read."""
        found = [0] * len(self.slots.get_values())
        for (number, index), read in self.read_of_use.items():
            argument = self.ops[number].operands[index]
            assert isinstance(argument, BlockArgument)
            found[read] = argument.index
        return found

    def read_buffers(self, read: int) -> list[SSAValue]:
        """The buffers (slots) of a read."""
        slots = self.slots.get_values()
        start = sum(slots[:read])
        return list(self.reads)[start : start + slots[read]]

    def verify_(self) -> None:
        from .schedule_rules import verify_schedule

        ops = verify_constants(self.body.block)
        if len(ops) < 2 or not isinstance(ops[-1], YieldOp) or len(ops[-1].operands) != 1:
            raise VerifyException(
                "the body should contain at least one operation and end with manycore.yield of one value"
            )
        root = verify_operations(ops[:-1])
        arguments = self.body.block.args
        if len(arguments) != len(self.inputs):
            raise VerifyException(f"the body has {len(arguments)} arguments for {len(self.inputs)} operands")
        if unused := next((op for op in ops[:-1] if op.results[0].first_use is None), None):
            raise VerifyException(f"the body does not use the result of '{unused.name}'")
        for value, argument in zip((*self.inputs, self.target), (*arguments, ops[-1].operands[0]), strict=True):
            self._verify_pair(value, argument)
        verify_tiling(root, self.tiling)
        verify_reduced_last(root, self.tiling)
        verify_cores(self, self.tiling)
        slots, uses, writes = self.slots.get_values(), self.uses.get_values(), self.writes.get_values()
        if any(count < 0 for count in slots) or sum(slots) != len(self.reads):
            raise VerifyException(f"slots = {list(slots)} should add up to the {len(self.reads)} buffers of reads")
        wanted = len(_outside_uses(ops[:-1]))
        if len(uses) != wanted or any(not 0 <= read < len(slots) for read in uses):
            raise VerifyException(f"uses = {list(uses)} should give one of {len(slots)} reads to each of {wanted} uses")
        self._verify_uses()
        if len(writes) != len(ops) - 1 or any(not 0 <= number <= len(self.temporaries) for number in writes):
            raise VerifyException(f"writes = {list(writes)} should give a buffer for each of {len(ops) - 1} operations")
        if writes[-1] != 0:
            raise VerifyException("the last operation should write the result")
        for value in (*self.reads, *self.staging, *self.temporaries):
            if cast(BufferType, value.type).space is not Space.SRAM:
                raise VerifyException(f"buffer {value.type}: expected one in sram")
        target = cast(BufferType, self.target.type)
        if target.space is not Space.SRAM and prod(target.shape) and not self.staging:
            raise VerifyException("a result in dram needs staging")
        self._verify_distinct()
        verify_schedule(self)
        if (parent := self.parent_op()) is not None and parent.name not in ("manycore.launch", "manycore.repeat"):
            raise VerifyException(f"is in '{parent.name}': expected manycore.launch")

    def _verify_uses(self) -> None:
        """Check that uses with the same read need the same slices: they are elementwise, of the same argument."""
        uses_of: dict[int, list[tuple[int, int]]] = {}
        for use, read in self.read_of_use.items():
            uses_of.setdefault(read, []).append(use)
        for read in range(len(self.slots.get_values())):
            uses = uses_of.get(read, [])
            if not uses:
                raise VerifyException(f"read {read} has no use")
            arguments = {self.ops[number].operands[index] for number, index in uses}
            elementwise = all(isinstance(self.ops[number], ElementwiseOp) for number, _ in uses)
            if len(uses) > 1 and (len(arguments) > 1 or not elementwise):
                raise VerifyException(f"read {read} has uses that need other slices: expected a read for each of them")

    def _verify_distinct(self) -> None:
        own = [*self.reads, *self.staging, *self.temporaries]
        # In a loop, a task may overwrite what the previous step has passed on.
        values = {*self.inputs} if self._is_repeated() else {*self.inputs, self.target}
        if self.target in own or len({*own, *values}) < len(own) + len({*self.inputs}) + (not self._is_repeated()):
            raise VerifyException(f"@{self.sym_name.data} uses one buffer for two purposes: expected one for each")

    def _is_repeated(self) -> bool:
        parent = self.parent_op()
        return parent is not None and parent.name == "manycore.repeat"

    def _verify_pair(self, buffer: SSAValue, value: SSAValue) -> None:
        memory = cast(BufferType, buffer.type)
        if not isinstance(value.type, TensorType):
            raise VerifyException(f"the body has a value of type {value.type}: expected tensors")
        tensor = cast("TensorType[Attribute]", value.type)
        if memory.element_type != tensor.element_type:
            raise VerifyException(f"{memory} cannot hold {tensor}: expected equal element types")
        if memory.space is Space.DRAM and prod(memory.shape) != prod(tensor.get_shape()):
            raise VerifyException(f"{memory} cannot hold {tensor}: expected as many elements")

    def print(self, printer: Printer) -> None:
        def binding(pair: tuple[SSAValue, SSAValue]) -> None:
            argument, value = pair
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
            _print_typed(printer, value)
            printer.print_string(" as ")
            printer.print_attribute(argument.type)

        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(list(zip(self.body.block.args, self.inputs, strict=True)), binding)
        printer.print_string(" into ")
        _print_typed(printer, self.target)
        groups = (("reads", self.reads), ("staging", self.staging), ("temporaries", self.temporaries))
        for name, values in groups:
            if values:
                printer.print_string(f" {name}")
                with printer.in_parens():
                    printer.print_list(values, lambda value: _print_typed(printer, value))
        for name, numbers in (("slots", self.slots), ("uses", self.uses), ("writes", self.writes)):
            printer.print_string(f" {name} {list(numbers.get_values())}")
        printer.print_string(" tiled ")
        self.tiling.print_parameters(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        for name in SCHEDULE:
            region: Region = getattr(self, name)
            if region.blocks and region.block.first_op is not None:
                printer.print_string(f" {name} ")
                printer.print_region(region, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> ExecuteOp:
        def typed() -> tuple[UnresolvedOperand, Attribute]:
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return operand, parser.parse_type()

        def binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand, Attribute, Attribute]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand, type = typed()
            parser.parse_keyword("as")
            return argument, operand, type, parser.parse_type()

        def group(name: str) -> list[SSAValue]:
            if parser.parse_optional_keyword(name) is None:
                return []
            found = parser.parse_comma_separated_list(parser.Delimiter.PAREN, typed)
            return [parser.resolve_operand(*one) for one in found]

        def numbers(name: str) -> list[int]:
            parser.parse_keyword(name)
            return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)

        name = parser.parse_symbol_name()
        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
        parser.parse_keyword("into")
        target = parser.resolve_operand(*typed())
        scratch = Scratch(group("reads"), group("staging"), group("temporaries"))
        slots, uses, writes = numbers("slots"), numbers("uses"), numbers("writes")
        parser.parse_keyword("tiled")
        tiling = TilingAttr.new(TilingAttr.parse_parameters(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        inputs = [parser.resolve_operand(operand, type) for _, operand, type, _ in bindings]
        body = parser.parse_region([argument.resolve(type) for argument, _, _, type in bindings])
        schedule = [_parse_part(parser, name) for name in SCHEDULE]
        op = cls(name.data, inputs, target, scratch, tiling, slots, uses, writes, body, *schedule)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def _parse_part(parser: Parser, name: str) -> list[Operation]:
    """Parse the operations of a part of the schedule; they are detached."""
    if parser.parse_optional_keyword(name) is None:
        return []
    region = parser.parse_region(())
    if len(region.blocks) > 1 or region.block.args:
        parser.raise_error(f"'{name}' should be one block without arguments")
    ops = list(region.block.ops)
    for op in ops:
        op.detach()
    return ops


def _outside_uses(ops: Sequence[Operation]) -> list[tuple[int, int]]:
    return [
        (number, index)
        for number, op in enumerate(ops)
        for index, value in enumerate(op.operands)
        if isinstance(value, BlockArgument)
    ]


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)
