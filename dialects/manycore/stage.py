"""`manycore.stage`: the part of a network that one of several chips executes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class StageOp(IRDLOperation):
    """
    Executes the network of another module on a separate chip.

    Operands and results are the inputs and outputs of that network, in order; they pass through host memory. The module
    is inside of this one, at any level: operators, a program, or an executable. Chips are numbered in the order of the
    stages in `@main`; each has a separate module.

    ```mlir
    func.func @main(%x: tensor<1x8xf32> {dataflow.name = "x"}) -> (tensor<1x8xf32> {dataflow.name = "y"}) {
      %y = manycore.stage @chip0(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
      func.return %y : tensor<1x8xf32>
    }
    builtin.module @chip0 attributes {manycore.chip = #manycore.chip<"tiny">} {
      func.func @main(%x: tensor<1x8xf32> {dataflow.name = "x"}) -> (tensor<1x8xf32> {dataflow.name = "y"}) {
        %y = dataflow.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
        func.return %y : tensor<1x8xf32>
      }
    }
    ```
    """

    name = "manycore.stage"
    chip = prop_def(SymbolRefAttr)
    """The name of the module."""
    inputs = var_operand_def()
    outputs = var_result_def()
    assembly_format = "$chip `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())

    def __init__(self, chip: str, inputs: Sequence[SSAValue | Operation], types: Sequence[Attribute]) -> None:
        super().__init__(operands=[list(inputs)], result_types=[list(types)], properties={"chip": SymbolRefAttr(chip)})

    @property
    def module(self) -> ModuleOp:
        """The module of the chip. Raises VerifyException if there is none of that name."""
        name = self.chip.string_value()
        outer = self.parent_op()
        while outer is not None and not isinstance(outer, ModuleOp):
            outer = outer.parent_op()
        for op in outer.ops if outer is not None else ():
            if isinstance(op, ModuleOp) and op.sym_name is not None and op.sym_name.data == name:
                return op
        raise VerifyException(f"there is no module @{name} beside the function: expected 'builtin.module @{name}'")

    def verify_(self) -> None:
        _ = self.module


def stages_of(module: ModuleOp) -> tuple[StageOp, ...]:
    """The stages in `@main` of a network on several chips; empty for a network on a single chip."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main" and not op.is_declaration:
            return tuple(one for one in op.body.block.ops if isinstance(one, StageOp))
    return ()


def networks_of(module: ModuleOp) -> Iterator[ModuleOp]:
    """The modules whose `@main` runs on a chip: those of the stages, or this module if it has no stages."""
    stages = stages_of(module)
    yield from dict.fromkeys(stage.module for stage in stages) if stages else [module]
