"""`dataflow.loop`: operations that run once for each step of a sequence, as in recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import I32, I64, DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i1, i32, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure, is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from .base import Ints, int_attr, int_list, ints, verify_list
from .types import Shape, Tensor, shape_of, tensor, tensor_of, verify_tensor

Flags: TypeAlias = DenseArrayBase[I64]
"""A list of 0 and 1 as an attribute."""


@dataclass(frozen=True)
class Along:
    """
    The arrangement of the values of all steps in a tensor: slices along `axis`, in the order of the steps or backwards.
    """

    axis: int
    backwards: bool = False

    def of_step(self, shape: Shape) -> Shape:
        """The shape of one step's value."""
        return shape[: self.axis] + shape[self.axis + 1 :]

    def of_all(self, shape: Shape, steps: int) -> Shape:
        """The shape of the tensor of all steps, given the shape of one step's value."""
        return (*shape[: self.axis], steps, *shape[self.axis :])

    def position(self, step: int, steps: int) -> int:
        """The index of a step's value along the axis."""
        return steps - 1 - step if self.backwards else step


@dataclass(frozen=True)
class Ending:
    """The conditions that may end a loop before its largest number of steps."""

    count: SSAValue | None = None
    """The number of steps (i64), at most the largest; None if it is always the largest."""
    conditional: bool = False
    """Whether the last value that the body yields (i1) tells whether there is another step."""
    must_end: bool = False
    """Whether it is an error if this value is still true after the largest number of steps."""
    masked: bool = False
    """Whether steps after the count change no carried value and stack 0, so that running them is permitted."""
    group: int = 1
    """The count is the number of groups of this many steps; all steps of a group run."""

    def counted(self, count: SSAValue) -> Ending:
        """The same ending with this count."""
        return replace(self, count=count)

    def __bool__(self) -> bool:
        return self.count is not None or self.conditional


STATIC = Ending()
"""All steps run."""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    Ends the body of a loop: the carried values for the next step, then the values of this step that are stacked, and
    last, of a loop with `while`, whether there is another step.

    ```mlir
    %last, %all = dataflow.loop 48 steps carry(%h = %h0 : tensor<1x64xf32>) scan(%row = %x axis 0 : tensor<48x1x64xf32>)
        stack(axis 0 backwards : tensor<48x1x64xf32>) {
      %sum = dataflow.add %row, %h : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %next = dataflow.tanh %sum : (tensor<1x64xf32>) -> tensor<1x64xf32>
      dataflow.yield %next, %next : tensor<1x64xf32>, tensor<1x64xf32>
    }
    ```
    """

    name = "dataflow.yield"
    values = var_operand_def(TensorType)
    traits = lazy_traits_def(lambda: (IsTerminator(), Pure(), HasParent(LoopOp)))
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue | Operation]) -> None:
        super().__init__(operands=[list(values)])


@irdl_op_definition
class LoopOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    Executes its body once for each step, in order.

    - `carry`: values that are passed from each step to the next. The body yields them first; the results are their
      values after the last step.
    - `scan`: tensors with one value for each step along an axis; the body sees the value of its step, without that
      axis. `backwards`: from the last to the first.
    - `stack`: further values that the body yields; the result is a tensor of those of all steps along an axis, in the
      order of the steps or `backwards`.

    The body may also read values that are defined before the loop. To get the number of the step in the body, scan an
    `iota`. If there are no steps, the results are the initial values, and tensors without elements.

    The number of steps may be known at run time only; the number in the text is then the largest:

    - `count`: a scalar, i64, with the number of steps, from 0 to the largest; any other number is an error. `masked`:
      steps after the count would change no carried value and stack 0; so running them is permitted, as when the loop is
      unrolled. `masked in 4`: the count is the number of groups of 4 steps, all of which run.
    - `while`: the last value that the body yields is a scalar, i1; a step in which it is false is the last step. `while
      ends`: it is an error if it is still true after the largest number of steps.

    Rows of stacked results that belong to no step are 0, and such rows of scanned values are not read. `backwards`
    starts at the last row that belongs to a step, and is not possible with `while`. If a loop is executed by several
    cores, count and condition may have one element for each core, all of them equal.

    ```syntax
    dataflow.loop $steps `steps` (`count` `(` %count `:` type `)` (`masked` (`in` $group)?)?)? (`while` `ends`?)?
      (`carry` `(` (%inside `=` %initial `:` type),* `)`)?
      (`scan` `(` (%inside `=` %scanned `axis` integer `backwards`? `:` type),* `)`)?
      (`stack` `(` (`axis` integer `backwards`? `:` type),* `)`)? attr-dict-with-keyword $body
    ```

    ```mlir
    %last, %all = dataflow.loop 48 steps carry(%h = %h0 : tensor<1x64xf32>) scan(%row = %x axis 0 : tensor<48x1x64xf32>)
        stack(axis 0 backwards : tensor<48x1x64xf32>) {
      %sum = dataflow.add %row, %h : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %next = dataflow.tanh %sum : (tensor<1x64xf32>) -> tensor<1x64xf32>
      dataflow.yield %next, %next : tensor<1x64xf32>, tensor<1x64xf32>
    }
    %half = dataflow.loop 64 steps count(%n : tensor<i64>) while carry(%a = %h0 : tensor<1x64xf32>) {
      %b = dataflow.mul %a, %w : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %most = dataflow.reduce max %b axes [0, 1] : (tensor<1x64xf32>) -> tensor<1x1xf32>
      %more = dataflow.compare gt %most, %one : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xi1>
      %go = dataflow.reshape %more : (tensor<1x1xi1>) -> tensor<i1>
      dataflow.yield %b, %go : tensor<1x64xf32>, tensor<i1>
    }
    ```
    """

    name = "dataflow.loop"
    steps = prop_def(IntegerAttr[I64])
    scan_axes = prop_def(Ints)
    scan_backwards = prop_def(Flags)
    stack_axes = prop_def(Ints)
    stack_backwards = prop_def(Flags)
    conditional = opt_prop_def(UnitAttr)
    must_end = opt_prop_def(UnitAttr)
    masked = opt_prop_def(UnitAttr)
    group = opt_prop_def(IntegerAttr[I64])
    initial = var_operand_def(TensorType)
    scanned = var_operand_def(TensorType)
    count = opt_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        steps: int,
        initial: Sequence[SSAValue],
        scanned: Sequence[tuple[SSAValue, Along]],
        stacked: Sequence[Along],
        body: Region,
        ending: Ending = STATIC,
    ) -> None:
        """`body` ends with a `YieldOp`, which determines the types of the results."""
        yielded = yielded_by(body)[len(initial) : len(initial) + len(stacked)]
        types = [
            TensorType(tensor_of(value).element_type, along.of_all(shape_of(value), steps))
            for value, along in zip(yielded, stacked, strict=True)
        ]
        super().__init__(
            operands=[list(initial), [value for value, _ in scanned], ending.count],
            result_types=[[*(value.type for value in initial), *types]],
            properties={
                "steps": int_attr(steps),
                "scan_axes": int_list([along.axis for _, along in scanned]),
                "scan_backwards": int_list([along.backwards for _, along in scanned]),
                "stack_axes": int_list([along.axis for along in stacked]),
                "stack_backwards": int_list([along.backwards for along in stacked]),
                "conditional": UnitAttr() if ending.conditional else None,
                "must_end": UnitAttr() if ending.must_end else None,
                "masked": UnitAttr() if ending.masked else None,
                "group": int_attr(ending.group) if ending.group > 1 else None,
            },
            regions=[body],
        )

    # ---- parts

    @property
    def step_count(self) -> int:
        """The (largest) number of steps."""
        return self.steps.value.data

    @property
    def scans(self) -> tuple[Along, ...]:
        """The arrangement of the steps' values in each scanned value."""
        return _along(self.scan_axes, self.scan_backwards)

    @property
    def stacks(self) -> tuple[Along, ...]:
        """The arrangement of the steps' values in each stacked result."""
        return _along(self.stack_axes, self.stack_backwards)

    @property
    def carried_count(self) -> int:
        """The number of carried values; equals `len(initial)`, but is faster."""
        sizes = cast("DenseArrayBase[I32]", self.properties["operandSegmentSizes"])
        return int.from_bytes(sizes.data.data[:4], "little")

    @property
    def carried_arguments(self) -> Sequence[BlockArgument]:
        """The body's arguments for the carried values."""
        return self.body.block.args[: self.carried_count]

    @property
    def scanned_arguments(self) -> Sequence[BlockArgument]:
        """The body's arguments for one step's part of the scanned values."""
        return self.body.block.args[self.carried_count :]

    @property
    def ending(self) -> Ending:
        """The conditions that may end the loop before its largest number of steps."""
        group = 1 if self.group is None else self.group.value.data
        return Ending(
            self.count, self.conditional is not None, self.must_end is not None, self.masked is not None, group
        )

    @property
    def may_run_all(self) -> bool:
        """Whether running the largest number of steps is permitted, whatever count or condition the loop has."""
        return not self.ending or self.masked is not None

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """The values that the body yields: the carried values, then the stacked values."""
        values = yielded_by(self.body)
        return values if self.conditional is None else values[:-1]

    @property
    def going(self) -> SSAValue | None:
        """The yielded value that tells whether there is another step; None for a loop without `while`."""
        return None if self.conditional is None else yielded_by(self.body)[-1]

    @property
    def final(self) -> Sequence[SSAValue]:
        """The results for the carried values, after the last step."""
        return self.outputs[: len(self.initial)]

    @property
    def stacked(self) -> Sequence[SSAValue]:
        """The results for the stacked values of all steps."""
        return self.outputs[self.carried_count :]

    def is_outside(self, value: SSAValue) -> bool:
        """Whether a value that the body may read is defined outside the loop, and therefore the same in all steps."""
        owner = value.owner
        return not self.is_ancestor(owner)

    # ---- checks

    def verify_(self) -> None:
        if self.step_count < 0:
            raise VerifyException(f"it has {self.step_count} steps: expected 0 or more")
        self._verify_scanned()
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body should end with dataflow.yield")
        for op in self.body.block.ops:
            if op is not last and not is_side_effect_free(op):
                raise VerifyException(
                    f"the body contains {op.name}, which has side effects: expected operations without"
                )
        self._verify_results(last)
        self._verify_ending(last)

    def _verify_ending(self, last: YieldOp) -> None:
        if self.must_end is not None and self.conditional is None:
            raise VerifyException("it must end by a condition, but has none: expected 'while ends'")
        if self.masked is not None and (self.count is None or self.conditional is not None):
            raise VerifyException("it masks the steps after a count: expected 'count', without a condition")
        group = self.ending.group
        if self.group is not None and (self.masked is None or group < 2 or self.step_count % group):
            raise VerifyException(f"groups of {group} steps do not divide {self.step_count} masked steps")
        if not self.ending:
            return
        if self.count is not None:
            _verify_number("the count of steps", self.count.type, i64)
        if self.conditional is not None:
            _verify_number("the last value that the body yields", last.values[-1].type, i1)
        if self.conditional is not None and any(along.backwards for along in (*self.scans, *self.stacks)):
            raise VerifyException("it scans or stacks backwards, but its number of steps is known at run time only")

    def _verify_scanned(self) -> None:
        for position, value in enumerate(self.operands):
            verify_tensor(value.type, f"operand {position}")
        for name, values in (("scan_axes", self.scan_axes), ("scan_backwards", self.scan_backwards)):
            verify_list(name, ints(values), len(self.scanned), "scanned value", at_least=0)
        expected = [tensor_of(value) for value in self.initial]
        for value, along in zip(self.scanned, self.scans, strict=True):
            shape = shape_of(value)
            if along.axis >= len(shape):
                raise VerifyException(f"{value.type} is scanned along axis {along.axis}: it has {len(shape)} axes")
            if shape[along.axis] != self.step_count:
                raise VerifyException(
                    f"{value.type} is scanned along axis {along.axis}, where it has {shape[along.axis]} values: "
                    f"expected one for each of {self.step_count} steps"
                )
            expected.append(TensorType(tensor_of(value).element_type, along.of_step(shape)))
        actual = [argument.type for argument in self.body.block.args]
        if actual != expected:
            raise VerifyException(f"the body takes ({_types(actual)}): expected ({_types(expected)})")

    def _verify_results(self, last: YieldOp) -> None:
        for name, values in (("stack_axes", self.stack_axes), ("stack_backwards", self.stack_backwards)):
            verify_list(name, ints(values), max(0, len(self.outputs) - len(self.initial)), "stacked result", 0)
        count = len(self.outputs) + (self.conditional is not None)
        if len(last.values) != count:
            raise VerifyException(f"the body yields {len(last.values)} values: expected {count}")
        for number, (value, before) in enumerate(zip(last.values, self.initial, strict=False)):
            if value.type != before.type:
                raise VerifyException(f"carried value {number} begins as {before.type}, the body yields {value.type}")
        expected = [value.type for value in self.initial]
        for value, along in zip(self.yielded[len(self.initial) :], self.stacks, strict=True):
            shape = shape_of(value)
            if along.axis > len(shape):
                raise VerifyException(
                    f"values of {value.type} are stacked along axis {along.axis}: expected {len(shape)} at most"
                )
            expected.append(TensorType(tensor_of(value).element_type, along.of_all(shape, self.step_count)))
        actual = [value.type for value in self.outputs]
        if actual != expected:
            raise VerifyException(f"results have types ({_types(actual)}): expected ({_types(expected)})")

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .loop_canonicalization import PATTERNS

        return PATTERNS

    # ---- text

    @classmethod
    def parse(cls, parser: Parser) -> LoopOp:
        steps = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("steps")
        arguments: list[Parser.Argument] = []

        def carried() -> SSAValue:
            argument, operand = _parse_binding(parser)
            parser.parse_punctuation(":")
            type = parser.parse_type()
            arguments.append(argument.resolve(type))
            return parser.resolve_operand(operand, type)

        def scanned() -> tuple[SSAValue, Along]:
            argument, operand = _parse_binding(parser)
            along = _parse_along(parser)
            position = parser.pos
            type = _parse_tensor(parser)
            if along.axis >= len(type.get_shape()):
                parser.raise_error(f"expected a tensor with axis {along.axis}", position, parser.pos)
            arguments.append(argument.resolve(tensor(type.element_type, along.of_step(type.get_shape()))))
            return parser.resolve_operand(operand, type), along

        def stacked() -> tuple[Along, Tensor]:
            along = _parse_along(parser)
            return along, _parse_tensor(parser)

        paren = parser.Delimiter.PAREN
        initial, scans, stacks = [], [], []
        counts, ending = _parse_ending(parser)
        if parser.parse_optional_keyword("carry") is not None:
            initial = parser.parse_comma_separated_list(paren, carried)
        if parser.parse_optional_keyword("scan") is not None:
            scans = parser.parse_comma_separated_list(paren, scanned)
        if parser.parse_optional_keyword("stack") is not None:
            stacks = parser.parse_comma_separated_list(paren, stacked)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        return cls.create(
            operands=[*initial, *(value for value, _ in scans), *counts],
            result_types=[*(value.type for value in initial), *(type for _, type in stacks)],
            properties={
                "steps": int_attr(steps),
                "scan_axes": int_list([along.axis for _, along in scans]),
                "scan_backwards": int_list([along.backwards for _, along in scans]),
                "stack_axes": int_list([along.axis for along, _ in stacks]),
                "stack_backwards": int_list([along.backwards for along, _ in stacks]),
                "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(initial), len(scans), len(counts)]),
                **ending,
            },
            attributes={} if attributes is None else attributes.data,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.step_count} steps")
        if self.count is not None:
            printer.print_string(" count(")
            printer.print_ssa_value(self.count)
            printer.print_string(" : ")
            printer.print_attribute(self.count.type)
            printer.print_string(")" if self.masked is None else ") masked")
            if self.group is not None:
                printer.print_string(f" in {self.group.value.data}")
        if self.conditional is not None:
            printer.print_string(" while" if self.must_end is None else " while ends")

        def carried(pair: tuple[BlockArgument, SSAValue]) -> None:
            _print_binding(printer, *pair)
            printer.print_string(" : ")
            printer.print_attribute(pair[1].type)

        def scanned(triple: tuple[BlockArgument, SSAValue, Along]) -> None:
            argument, value, along = triple
            _print_binding(printer, argument, value)
            printer.print_string(" ")
            _print_along(printer, along, value)

        def stacked(pair: tuple[Along, SSAValue]) -> None:
            _print_along(printer, *pair)

        def group(name: str, values: Sequence[object], print: Callable[[Any], None]) -> None:
            if values:
                printer.print_string(f" {name}(")
                printer.print_list(values, print)
                printer.print_string(")")

        group("carry", list(zip(self.carried_arguments, self.initial, strict=True)), carried)
        group("scan", list(zip(self.scanned_arguments, self.scanned, self.scans, strict=True)), scanned)
        group("stack", list(zip(self.stacks, self.stacked, strict=True)), stacked)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _verify_number(what: str, type: Attribute, element: Attribute) -> None:
    shape = type.get_shape() if isinstance(type, TensorType) else None
    if shape is None or len(shape) > 1 or cast(Tensor, type).element_type != element:
        raise VerifyException(f"{what} has type {type}: expected tensor<{element}>, or one for each core")


def yielded_by(body: Region) -> Sequence[SSAValue]:
    """The operands of the yield of a loop's body."""
    last = body.block.last_op
    return last.operands if isinstance(last, YieldOp) else ()


def _along(axes: Ints, backwards: Flags) -> tuple[Along, ...]:
    return tuple(Along(axis, bool(flag)) for axis, flag in zip(ints(axes), ints(backwards), strict=True))


def _types(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


def _parse_ending(parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """Parse `count(%n : tensor<i64>) masked in 4` and `while ends`: the count, if any, and the properties."""
    counts: list[SSAValue] = []
    found: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("count") is not None:
        with parser.in_parens():
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            counts = [parser.resolve_operand(operand, _parse_tensor(parser))]
        if parser.parse_optional_keyword("masked") is not None:
            found["masked"] = UnitAttr()
            if parser.parse_optional_keyword("in") is not None:
                found["group"] = int_attr(parser.parse_integer(allow_boolean=False))
    if parser.parse_optional_keyword("while") is not None:
        found["conditional"] = UnitAttr()
        if parser.parse_optional_keyword("ends") is not None:
            found["must_end"] = UnitAttr()
    return counts, found


def _parse_binding(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    """Parse `%inside = %outside`."""
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


def _print_binding(printer: Printer, argument: BlockArgument, value: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(value)


def _parse_along(parser: Parser) -> Along:
    """Parse `axis 0 backwards :`."""
    parser.parse_keyword("axis")
    axis = parser.parse_integer(allow_boolean=False, allow_negative=False)
    backwards = parser.parse_optional_keyword("backwards") is not None
    parser.parse_punctuation(":")
    return Along(axis, backwards)


def _parse_tensor(parser: Parser) -> Tensor:
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, TensorType):
        parser.raise_error("expected a tensor", position, parser.pos)
    return cast(Tensor, type)


def _print_along(printer: Printer, along: Along, value: SSAValue) -> None:
    printer.print_string(f"axis {along.axis}{' backwards' if along.backwards else ''} : ")
    printer.print_attribute(value.type)
