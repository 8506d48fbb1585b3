"""`manycore.repeat`: a loop in a launch, over tasks that process another part of values in each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
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

from ..memory.attributes import BufferType, Space
from ..memory.ops import buffer_of


@dataclass(frozen=True)
class RepeatEnding:
    """The conditions that may end a loop before its largest number of steps, in buffers in SRAM."""

    count: SSAValue | None = None
    going: SSAValue | None = None
    must_end: bool = False
    group: int = 1
    """Number of steps in a group; the count is the number of groups."""


ALL_STEPS = RepeatEnding()


@irdl_op_definition
class RepeatOp(IRDLOperation):
    """
    Executes the tasks and transfers of its body for the given number of steps, one after the other.

    Buffers in SRAM are the same in all steps: a task may write a buffer that a task before the loop has written; values
    are passed from step to step in this way. An argument of the body is a part of a buffer. In DRAM, this part begins
    `from` bytes after the start of the buffer in the first step, and `by` bytes further on in each later step. In SRAM,
    where the buffer holds the tiles of a value, the part is one row of each tile; `from` and `by` refer to the largest
    tile, which has as many rows as there are parts of that size in the buffer. Tasks of the loop read such a row in
    place, or write it.

    If the number of steps is known at run time only, the number in the text is the largest. `count` is a buffer that
    holds an i64 on each core: the number of steps (if `by` is negative, the last of them gets the part at the lowest
    address), or the number of groups of steps: `count(%n : ...) in 4`. `while` is a buffer that holds an i1, which the
    body writes: whether there is another step. All cores have the same values. `ends`: it is an error if there is
    another step after the largest number of steps. Parts of buffers that tasks of the loop write are 0 if no step
    writes them.

    ```syntax
    manycore.repeat $steps `times` (`count` `(` %count `:` type `)` (`in` $group)?)?
      (`while` `(` %going `:` type `)` `ends`?)?
      (`(` (%part `=` %whole `from` $start `by` $advance `:` type `as` type),* `)`)?
      attr-dict-with-keyword $body
    ```

    ```mlir
    %t = manycore.launch @all {
      %r = memory.alloc : !memory.buffer<4xf32, sram, 0>
      %s = memory.alloc : !memory.buffer<4xf32, sram, 64>
      manycore.repeat 3 times (
          %row = %x from 0 by 32 : !memory.buffer<3x8xf32, dram, 0> as !memory.buffer<8xf32, dram>,
          %out = %y from 0 by 32 : !memory.buffer<3x8xf32, dram, 128> as !memory.buffer<8xf32, dram>) {
        manycore.execute @neg(%a = %row : !memory.buffer<8xf32, dram> as tensor<8xf32>)
            into %out : !memory.buffer<8xf32, dram> reads(%r : !memory.buffer<4xf32, sram, 0>)
            staging(%s : !memory.buffer<4xf32, sram, 64>) slots [1] uses [0] writes [0]
            tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
          %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
          manycore.yield %0 : tensor<8xf32>
        } begin {
          memory.load %row to %r for @neg[0] step 0 : !memory.buffer<8xf32, dram> to !memory.buffer<4xf32, sram, 0>
        } last {
          manycore.compute
          memory.store %s to %out : !memory.buffer<4xf32, sram, 64> to !memory.buffer<8xf32, dram>
        }
      }
    }
    memory.wait %t
    ```
    """

    name = "manycore.repeat"
    steps = prop_def(IntegerAttr[I64])
    starts = prop_def(DenseArrayBase[I64])
    advances = prop_def(DenseArrayBase[I64])
    must_end = opt_prop_def(UnitAttr)
    group = opt_prop_def(IntegerAttr[I64])
    wholes = var_operand_def(BufferType)
    count = opt_operand_def(BufferType)
    going = opt_operand_def(BufferType)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        steps: int,
        wholes: Sequence[SSAValue],
        starts: Sequence[int],
        advances: Sequence[int],
        body: Region,
        ending: RepeatEnding = ALL_STEPS,
    ) -> None:
        """The body has an argument for each of the buffers `wholes`, with its start and advance in bytes."""
        super().__init__(
            operands=[list(wholes), ending.count, ending.going],
            properties={
                "steps": IntegerAttr(steps, i64),
                "starts": DenseArrayBase.from_list(i64, list(starts)),
                "advances": DenseArrayBase.from_list(i64, list(advances)),
                "must_end": UnitAttr() if ending.must_end else None,
                "group": IntegerAttr(ending.group, i64) if ending.group > 1 else None,
            },
            regions=[body],
        )

    @property
    def step_count(self) -> int:
        """The (largest) number of steps."""
        return self.steps.value.data

    @property
    def group_size(self) -> int:
        """Number of steps in a group; the count is the number of groups."""
        return 1 if self.group is None else self.group.value.data

    @property
    def has_dynamic_steps(self) -> bool:
        """Whether the number of steps is known at run time only."""
        return self.count is not None or self.going is not None

    def part(self, argument: BlockArgument) -> tuple[SSAValue, int, int]:
        """(Buffer, offset in the first step, advance in each step) of an argument of the body; in bytes."""
        position = argument.index
        return self.wholes[position], self.starts.get_values()[position], self.advances.get_values()[position]

    def verify_(self) -> None:
        count = len(self.wholes)
        arguments = self.body.block.args
        if self.step_count < 1:
            raise VerifyException(f"it has {self.step_count} steps: expected 1 or more")
        if self.going is not None and any(advance < 0 for advance in self.advances.get_values()):
            raise VerifyException("it advances backwards, but its number of steps is known at run time only")
        if self.group is not None and (self.count is None or self.step_count % max(self.group_size, 1)):
            raise VerifyException(f"groups of {self.group_size} steps do not divide {self.step_count} counted steps")
        if self.must_end is not None and self.going is None:
            raise VerifyException("it must end by a condition, but has none: expected 'while'")
        for what, buffer, element in (("count", self.count, i64), ("while", self.going, i1)):
            if buffer is not None and (buffer_of(buffer).space is not Space.SRAM or _element(buffer) != element):
                raise VerifyException(f"'{what}' is {buffer.type}: expected one {element} in sram")
        if not count == len(self.starts.get_values()) == len(self.advances.get_values()) == len(arguments):
            raise VerifyException(f"the body takes {len(arguments)} buffers of {count}: expected a part of each")
        for argument in arguments:
            whole, start, advance = self.part(argument)
            if not isinstance(argument.type, BufferType) or argument.type.space is not buffer_of(whole).space:
                raise VerifyException(
                    f"a part of type {argument.type}: expected a buffer in the memory of {whole.type}"
                )
            if argument.type.space is Space.HOST:
                raise VerifyException(f"a part of type {argument.type}: expected a buffer in dram or sram")
            nbytes = argument.type.nbytes
            if argument.type.space is Space.SRAM and (
                not nbytes or any(one % nbytes for one in (start, advance, buffer_of(whole).nbytes))
            ):
                raise VerifyException(f"parts from byte {start} on, by {advance}, are not rows of {whole.type}")
            if argument.type.offset is not None:
                raise VerifyException(f"{argument.type} has an offset, but its address differs in each step")
            last = start + (self.step_count - 1) * advance
            if min(start, last) < 0 or max(start, last) + argument.type.nbytes > buffer_of(whole).nbytes:
                raise VerifyException(f"parts from byte {start} on, by {advance}, are not all in {whole.type}")
        if (parent := self.parent_op()) is not None and parent.name != "manycore.launch":
            raise VerifyException(f"is in '{parent.name}': expected manycore.launch")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.step_count} times")
        for what, buffer in (("count", self.count), ("while", self.going)):
            if buffer is not None:
                printer.print_string(f" {what}(")
                printer.print_ssa_value(buffer)
                printer.print_string(" : ")
                printer.print_attribute(buffer.type)
                printer.print_string(f") in {self.group_size}" if what == "count" and self.group is not None else ")")
        if self.must_end is not None:
            printer.print_string(" ends")
        if self.wholes:

            def binding(argument: BlockArgument) -> None:
                whole, start, advance = self.part(argument)
                printer.print_ssa_value(argument)
                printer.print_string(" = ")
                printer.print_ssa_value(whole)
                printer.print_string(f" from {start} by {advance} : ")
                printer.print_attribute(whole.type)
                printer.print_string(" as ")
                printer.print_attribute(argument.type)

            printer.print_string(" ")
            with printer.in_parens():
                printer.print_list(self.body.block.args, binding)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> RepeatOp:
        steps = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("times")
        arguments: list[Parser.Argument] = []
        starts: list[int] = []
        advances: list[int] = []

        def binding() -> SSAValue:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand: UnresolvedOperand = parser.parse_unresolved_operand()
            parser.parse_keyword("from")
            starts.append(parser.parse_integer(allow_boolean=False))
            parser.parse_keyword("by")
            advances.append(parser.parse_integer(allow_boolean=False))
            parser.parse_punctuation(":")
            whole = parser.resolve_operand(operand, parser.parse_type())
            parser.parse_keyword("as")
            arguments.append(argument.resolve(parser.parse_type()))
            return whole

        def number(keyword: str) -> SSAValue | None:
            if parser.parse_optional_keyword(keyword) is None:
                return None
            with parser.in_parens():
                operand = parser.parse_unresolved_operand()
                parser.parse_punctuation(":")
                return parser.resolve_operand(operand, parser.parse_type())

        count = number("count")
        grouped = count is not None and parser.parse_optional_keyword("in") is not None
        group = parser.parse_integer(allow_boolean=False, allow_negative=False) if grouped else 1
        going = number("while")
        must_end = parser.parse_optional_keyword("ends") is not None
        wholes = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, binding) or []
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        if not body.blocks:
            body.add_block(Block(arg_types=[argument.type for argument in arguments]))
        op = cls(steps, wholes, starts, advances, body, RepeatEnding(count, going, must_end, group))
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def _element(buffer: SSAValue) -> Attribute | None:
    """The element type of a buffer with one element; else None."""
    type = buffer_of(buffer)
    return type.element_type if prod(type.shape) == 1 else None


@dataclass(frozen=True)
class TileRow:
    """The row of a value (of each tile, for a distributed value) that is the argument of a step."""

    whole: SSAValue
    rows: int
    """Number of rows."""
    first: int
    """The row of the first step."""
    advance: int
    """The difference between the rows of successive steps."""


def part_row(value: SSAValue) -> TileRow | None:
    """The rows of a buffer that are `value` in the steps of a loop; None if it is no row of a buffer."""
    if not isinstance(value, BlockArgument):
        return None
    loop = value.block.parent_op()
    if not isinstance(loop, RepeatOp):
        return None
    whole, start, advance = loop.part(value)
    nbytes, all_bytes = buffer_of(value).nbytes, buffer_of(whole).nbytes
    if not nbytes or start % nbytes or advance % nbytes or all_bytes % nbytes:
        return None
    return TileRow(whole, all_bytes // nbytes, start // nbytes, advance // nbytes)


def tile_row(value: SSAValue) -> TileRow | None:
    """The rows of a buffer in SRAM that are `value` in the steps of a loop; None if it is no such row."""
    return part_row(value) if buffer_of(value).space is Space.SRAM else None


def issued(block: Block) -> Iterator[Operation]:
    """The operations of a launch, in order; each loop is replaced by the operations of its body, once."""
    for op in block.ops:
        if isinstance(op, RepeatOp):
            yield from op.body.block.ops
        else:
            yield op


def part_whole(value: SSAValue) -> SSAValue:
    """The buffer that a value is a part of, for an argument of a loop's body; else the value itself."""
    if isinstance(value, BlockArgument) and isinstance(loop := value.block.parent_op(), RepeatOp):
        return loop.part(value)[0]
    return value
