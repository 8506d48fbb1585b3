"""`manycore.launch`: the work of all cores from one start by the controller until the last core has ended."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, NoTerminator

from ..memory.stash_types import TokenType
from .execute import ExecuteOp
from .repeat import issued
from .schedule_rules import verify_launch


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    A launch of programs on all cores: buffers in SRAM, tasks over buffers, and transfers, in the order in which they
    are issued. The controller continues when the launch has begun; the token fires when it has ended. The tasks of a
    launch have different names.

    ```syntax
    manycore.launch $sym_name attr-dict-with-keyword $body
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

    name = "manycore.launch"
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    token = result_def(TokenType())
    traits = traits_def(NoTerminator(), MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, name: str, ops: Sequence[Operation] | Region) -> None:
        region = ops if isinstance(ops, Region) else Region(Block(list(ops)))
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[region], result_types=[TokenType()])

    @property
    def tasks(self) -> dict[str, ExecuteOp]:
        """The tasks by name, including those in loops."""
        return {op.sym_name.data: op for op in issued(self.body.block) if isinstance(op, ExecuteOp)}

    def verify_(self) -> None:
        verify_launch(self.body.block)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name.data, _block_of(parser))
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


def _block_of(parser: Parser) -> Region:
    """Parse a region of one block, which may be empty."""
    region = parser.parse_region(())
    if not region.blocks:
        region.add_block(Block())
    return region
