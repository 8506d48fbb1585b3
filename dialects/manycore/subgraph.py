"""`manycore.subgraph`: a part of a network that is compiled alone and launched as one."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from ..dataflow.types import verify_tensor
from .ops import YieldOp


@irdl_op_definition
class SubgraphOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    Operators that become one executable: what runs between two loads of the chip.

    The body holds `dataflow` operations, later tasks. Operands are the values that enter, results those that leave,
    both through memory outside the cores. Constants and weights stand in the body that reads them: the weights of a
    subgraph are loaded with it. Subgraphs run in the order in which they stand.

    ```
    %y = manycore.subgraph @"0"(%a = %x : tensor<1x8xf32>) -> tensor<1x8xf32> {
      %0 = dataflow.relu %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
      manycore.yield %0 : tensor<1x8xf32>
    }
    ```
    """

    name = "manycore.subgraph"
    sym_name = prop_def(StringAttr)
    """For people, need not be unique."""
    inputs = var_operand_def()
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self, name: str, operands: Sequence[SSAValue | Operation], result_types: Sequence[Attribute], body: Region
    ) -> None:
        super().__init__(
            operands=[list(operands)],
            result_types=[list(result_types)],
            properties={"sym_name": StringAttr(name)},
            regions=[body],
        )

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """Values of the body that become the results."""
        last = self.body.block.last_op
        return tuple(last.operands) if last is not None else ()

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .subgraph_canonicalization import PATTERNS

        return PATTERNS

    def verify_(self) -> None:
        block = self.body.block
        types, inside = [value.type for value in self.inputs], [arg.type for arg in block.args]
        if types != inside:
            raise VerifyException(
                f"the body has arguments {', '.join(map(str, inside)) or 'none'}: "
                f"expected the operands' types, {', '.join(map(str, types)) or 'none'}"
            )
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body should end with manycore.yield")
        if [value.type for value in last.operands] != [value.type for value in self.outputs]:
            raise VerifyException("manycore.yield should have one value of the same type for each result")
        for number, value in enumerate((*self.inputs, *self.outputs)):
            verify_tensor(value.type, f"operand or result {number}")
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, SubgraphOp):
                raise VerifyException(f"stands inside subgraph '{parent.sym_name.data}': expected no nesting")
            parent = parent.parent_op()

    @classmethod
    def parse(cls, parser: Parser) -> SubgraphOp:
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
        if results is None:
            results = [parser.parse_type()]
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operands = [parser.resolve_operand(operand, type) for _, operand, type in bindings]
        body = parser.parse_region([argument.resolve(type) for argument, _, type in bindings])
        op = SubgraphOp(name.data, operands, results, body)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)

        def binding(pair: tuple[SSAValue, SSAValue]) -> None:
            argument, value = pair
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
            printer.print_ssa_value(value)
            printer.print_string(" : ")
            printer.print_attribute(value.type)

        with printer.in_parens():
            printer.print_list(list(zip(self.body.block.args, self.inputs, strict=True)), binding)
        printer.print_string(" -> ")
        types = [value.type for value in self.outputs]
        if len(types) == 1:
            printer.print_attribute(types[0])
        else:
            with printer.in_parens():
                printer.print_list(types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
