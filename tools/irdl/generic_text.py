"""Target `mlir-opt`: a module in the generic form that MLIR's tools read with the exported IRDL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FloatAttr,
    FloatData,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Block, BuiltinAttribute, Data, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.target import Target

from ..universe import MESHLOOM
from .names import END, needs_end, shown_name


@dataclass(frozen=True)
class MlirOptTarget(Target):
    """
    The module in MLIR's generic form, attributes and types as lists of parameters, as `mlir-opt
    --irdl-file=IRDL --allow-unregistered-dialect` reads it; IRDL is what `--export-irdl` prints.
    """

    name = "mlir-opt"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Print it."""
        GenericPrinter(output, MESHLOOM.all_dialects).print_op(module)
        output.write("\n")


class GenericPrinter(Printer):
    """Prints operations and attributes of the dialects `own` as IRDL declares them."""

    def __init__(self, output: IO[str], own: Iterable[str]) -> None:
        super().__init__(output, print_generic_format=True, print_properties_as_attributes=True)
        self.own = frozenset(own)

    def print_op(self, op: Operation) -> None:
        name = shown_name(op, self.own)
        if name == op.name:
            super().print_op(op)
            return
        isolated = op.has_trait(IsolatedFromAbove)
        self._print_results(op)
        if isolated:
            self.enter_scope()
        self.print_string(f'"{name}"')
        self.print_op_with_default_format(op)
        if isolated:
            self.exit_scope()

    def print_block(self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True) -> None:
        super().print_block(block, print_block_args, print_block_terminator)
        if needs_end(block, self.own):
            with self.indented():
                self._print_new_line()
                self.print_string(END)

    def print_attribute(self, attribute: Attribute) -> None:
        match attribute:
            case IntAttr():
                super().print_attribute(IntegerAttr(attribute.data, i64))
            case FloatData():
                super().print_attribute(FloatAttr(attribute.data, f64))
            case NoneAttr():
                self.print_string("unit")
            case BuiltinAttribute():
                super().print_attribute(attribute)
            case _ if "." in attribute.name and Dialect.split_name(attribute.name)[0] in self.own:
                self._print_parameters(attribute)
            case _:
                super().print_attribute(attribute)

    def _print_parameters(self, attribute: Attribute) -> None:
        self.print_string(f"{'!' if isinstance(attribute, TypeAttribute) else '#'}{attribute.name}")
        parameters = attribute.parameters if isinstance(attribute, ParametrizedAttribute) else [_text(attribute)]
        if parameters:
            with self.in_angle_brackets():
                self.print_list(parameters, self.print_attribute)


def _text(attribute: Attribute) -> Attribute:
    """The data of an attribute that is neither a list of parameters nor of builtin, such as a keyword, as a string."""
    assert isinstance(attribute, Data)
    return StringAttr(str(cast("Data[object]", attribute).data))
