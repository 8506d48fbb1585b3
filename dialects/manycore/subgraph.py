"""`manycore.subgraph`: a part of a network that is compiled alone and launched as one."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from .bodies import parse_signature, print_signature, verify_body, yielded


@irdl_op_definition
class SubgraphOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    Operators that become one executable: what runs between two loads of the chip.

    The body holds `dataflow` operations, later tasks. Operands are the values that enter, results those that leave,
    both through memory outside the cores. Constants and weights stand in the body that reads them: the weights of a
    subgraph are loaded with it. Subgraphs run in the order in which they stand. `to_fit`, before the body, says that it
    was cut off because more does not fit: manycore-fuse-subgraphs may join it to a neighbour again.

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
    to_fit = opt_prop_def(UnitAttr)
    """It is apart because it and its neighbours do not fit as one: it may become larger where they do."""
    inputs = var_operand_def()
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self,
        name: str,
        operands: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        body: Region,
        *,
        to_fit: bool = False,
    ) -> None:
        super().__init__(
            operands=[list(operands)],
            result_types=[list(result_types)],
            properties={"sym_name": StringAttr(name), "to_fit": UnitAttr() if to_fit else None},
            regions=[body],
        )

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """Values of the body that become the results."""
        return yielded(self.body.block)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .subgraph_canonicalization import PATTERNS

        return PATTERNS

    def verify_(self) -> None:
        verify_body(self.body.block, self.inputs, self.outputs)
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, SubgraphOp):
                raise VerifyException(f"stands inside subgraph '{parent.sym_name.data}': expected no nesting")
            parent = parent.parent_op()

    @classmethod
    def parse(cls, parser: Parser) -> SubgraphOp:
        signature = parse_signature(parser)
        to_fit = parser.parse_optional_keyword("to_fit") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(signature.arguments)
        op = SubgraphOp(signature.name, signature.operands, signature.results, body, to_fit=to_fit)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        print_signature(printer, self.sym_name.data, self.body.block, self.inputs, self.outputs)
        if self.to_fit is not None:
            printer.print_string(" to_fit")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
