"""`manycore.subgraph`: a part of a network that is compiled separately and run by one launch."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
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

from ..memory.attributes import Space, SpaceAttr
from .bodies import parse_signature, print_signature, verify_body, yielded


@irdl_op_definition
class SubgraphOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    Operators that are compiled to one executable, which the chip runs between two loads of programs.

    The body holds operations of `dataflow`, and later tasks. Operands are the values that enter the subgraph and
    results those that leave it, all in memory outside of the cores. Constants and weights are in the body that reads
    them: the weights of a subgraph are loaded with it. Subgraphs are executed in the order of the text.

    - `in [dram, host]`: the memory of each result until it is read: the chip's DRAM, or the host, from which it is
      copied back for each reader.
    - `weights in host`: its constants stay on the host until they are copied for it; `weights in dram`: they are in
      DRAM from the start.
    - `alone`: nothing is copied while it is executed.
    - `to_fit`: it is separate because more operators do not fit; `manycore-fuse-subgraphs` may fuse it with a
      neighbour.

    What is not specified is decided by the compiler.

    ```syntax
    manycore.subgraph $sym_name `(` (%argument `=` %input `:` type),* `)` `->` types (`in` `[` $residence `]`)?
      (`weights` `in` $weights)? `alone`? `to_fit`? attr-dict-with-keyword $body
    ```

    ```mlir
    %y = manycore.subgraph @"0"(%a = %x : tensor<1x8xf32>) -> tensor<1x8xf32> in [dram] weights in host {
      %0 = dataflow.relu %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
      manycore.yield %0 : tensor<1x8xf32>
    }
    ```
    """

    name = "manycore.subgraph"
    sym_name = prop_def(StringAttr)
    """Name for messages and reports; it need not be unique."""
    to_fit = opt_prop_def(UnitAttr)
    """It is separate because it and its neighbours do not fit together; they may be fused if they do."""
    residence = opt_prop_def(ArrayAttr[SpaceAttr])
    """The memory of each result."""
    weights = opt_prop_def(SpaceAttr)
    alone = opt_prop_def(UnitAttr)
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
    def specifies_residence(self) -> bool:
        """Whether it specifies the memory of its results or weights, or that it runs alone."""
        return any(one is not None for one in (self.residence, self.weights, self.alone))

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """The values that the body yields as results."""
        return yielded(self.body.block)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .subgraph_canonicalization import PATTERNS

        return PATTERNS

    def verify_(self) -> None:
        verify_body(self.body.block, self.inputs, self.outputs)
        spaces = [one.data for one in self.residence or ()]
        if self.residence is not None and len(spaces) != len(self.outputs):
            count = len(self.outputs)
            raise VerifyException(f"gives memories for {len(spaces)} results: expected one for each of its {count}")
        if Space.SRAM in [*spaces, *([self.weights.data] if self.weights is not None else [])]:
            raise VerifyException("sram is not preserved between subgraphs: expected dram or host")
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, SubgraphOp):
                raise VerifyException(f"is nested in subgraph '{parent.sym_name.data}': expected no nesting")
            parent = parent.parent_op()

    @classmethod
    def parse(cls, parser: Parser) -> SubgraphOp:
        signature = parse_signature(parser)
        residence = weights = None
        if parser.parse_optional_keyword("in") is not None:
            residence = ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _space(parser)))
        if parser.parse_optional_keyword("weights") is not None:
            parser.parse_keyword("in")
            weights = _space(parser)
        alone = parser.parse_optional_keyword("alone") is not None
        to_fit = parser.parse_optional_keyword("to_fit") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(signature.arguments)
        op = SubgraphOp(signature.name, signature.operands, signature.results, body, to_fit=to_fit)
        op.residence, op.weights, op.alone = residence, weights, UnitAttr() if alone else None
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        print_signature(printer, self.sym_name.data, self.body.block, self.inputs, self.outputs)
        if self.residence is not None:
            printer.print_string(f" in [{', '.join(one.data.value for one in self.residence)}]")
        if self.weights is not None:
            printer.print_string(f" weights in {self.weights.data.value}")
        if self.alone is not None:
            printer.print_string(" alone")
        if self.to_fit is not None:
            printer.print_string(" to_fit")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _space(parser: Parser) -> SpaceAttr:
    return SpaceAttr(parser.parse_str_enum(Space))
