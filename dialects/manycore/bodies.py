"""
Syntax and checks of operations with an isolated body: tasks and subgraphs. The body can use its arguments only, each of
which is bound to an operand, and yields the values that become the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..dataflow.types import verify_tensor


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    Ends the body of a task, a task over buffers or a subgraph with the values that become its results.

    ```mlir
    %y = manycore.task @conv1(%a = %x : tensor<1x8xf32>, %b = %w : tensor<8x4xf32>) -> tensor<1x4xf32>
        tiled <grid = [1, 2, 1], cores = [0, 1], steps = [1, 1, 2], order = [0, 1, 2]> {
      %0 = dataflow.matmul %a, %b : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
      manycore.yield %0 : tensor<1x4xf32>
    }
    ```
    """

    name = "manycore.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, *values: SSAValue | Operation) -> None:
        super().__init__(operands=[list(values)])


def yielded(block: Block) -> tuple[SSAValue, ...]:
    """The values that a body yields as results."""
    last = block.last_op
    return tuple(last.operands) if last is not None else ()


def verify_body(block: Block, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> None:
    """Raises VerifyException unless arguments and yielded values are tensors with the types of operands and results."""
    types, inside = [value.type for value in inputs], [arg.type for arg in block.args]
    if types != inside:
        raise VerifyException(
            f"the body has arguments {', '.join(map(str, inside)) or 'none'}: "
            f"expected the operands' types, {', '.join(map(str, types)) or 'none'}"
        )
    last = block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("the body should end with manycore.yield")
    if [value.type for value in last.operands] != [value.type for value in outputs]:
        raise VerifyException("manycore.yield should have one value of the same type for each result")
    for number, value in enumerate((*inputs, *outputs)):
        verify_tensor(value.type, f"operand or result {number}")


@dataclass(frozen=True)
class Signature:
    """The parsed form of `@name(%a = %x : type, ...) -> type`."""

    name: str
    operands: Sequence[SSAValue]
    arguments: Sequence[Parser.Argument]
    results: Sequence[Attribute]


def parse_signature(parser: Parser) -> Signature:
    """Parse name, bindings and result types (in parentheses, which are optional for a single type)."""
    name = parser.parse_symbol_name()

    def binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand, Attribute]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        return argument, operand, parser.parse_type()

    bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
    parser.parse_punctuation("->")
    results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return Signature(
        name.data,
        [parser.resolve_operand(operand, type) for _, operand, type in bindings],
        [argument.resolve(type) for argument, _, type in bindings],
        [parser.parse_type()] if results is None else results,
    )


def print_signature(
    printer: Printer, name: str, block: Block, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]
) -> None:
    """Print a signature in the syntax of `parse_signature`."""

    def binding(pair: tuple[SSAValue, SSAValue]) -> None:
        argument, value = pair
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(value)
        printer.print_string(" : ")
        printer.print_attribute(value.type)

    printer.print_string(" ")
    printer.print_symbol_name(name)
    with printer.in_parens():
        printer.print_list(list(zip(block.args, inputs, strict=True)), binding)
    printer.print_string(" -> ")
    types = [value.type for value in outputs]
    if len(types) == 1:
        printer.print_attribute(types[0])
    else:
        with printer.in_parens():
            printer.print_list(types, printer.print_attribute)
