"""`manycore.task`: operators divided over cores and time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, StringAttr, i64
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

from ..dataflow.sources import ConstantOp
from ..dataflow.tiling import TilingInterface
from ..memory.attributes import Space, SpaceAttr
from .attributes import TilingAttr
from .bodies import parse_signature, print_signature, verify_body, yielded
from .task_rules import (
    body_constants,
    body_operations,
    verify_constants,
    verify_cores,
    verify_from_root,
    verify_operations,
    verify_tiling,
)


@irdl_op_definition
class TaskOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """
    An operator, with the elementwise operators that follow it, divided over cores and time.

    The first operation of the body is the *root*: `tiled` divides its iteration space. The other operations are
    elementwise over the root's result shape, and what the body yields depends on the root. Constants of equal elements
    in the body are operands of elementwise operations; instructions hold them as immediates. Each core computes its
    tile step by step: it reads slices of the operands and computes the root on them (partial results are combined if
    reductions are split); after the last partial result it computes the other operations and writes its part of the
    results.

    - `in sram`: the results stay in the cores that compute them; the default is DRAM.
    - `prefetch N`: the constants of the first step are loaded during the last step of the task that is N tasks earlier
      (0: immediately before the task itself); `prefetch N steps K`: those of the first K steps. Without it, the
      compiler chooses.
    - `keeps [1]`: what the cores need of operand 1, a constant, for all steps stays in them for later tasks that keep
      the same part of it; only the first of these tasks loads it.

    ```syntax
    manycore.task $sym_name `(` (%argument `=` %input `:` type),* `)` `->` types (`in` $placement)? `tiled` $tiling
      (`keeps` `[` $keeps `]`)? (`prefetch` $prefetch (`steps` $prefetch_steps)?)? attr-dict-with-keyword $body
    ```

    ```mlir
    %y = manycore.task @conv1(%a = %x : tensor<1x8xf32>, %b = %w : tensor<8x4xf32>) -> tensor<1x4xf32>
        tiled <grid = [1, 2, 1], cores = [0, 1], steps = [1, 1, 2], order = [0, 1, 2]> {
      %0 = dataflow.matmul %a, %b : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
      manycore.yield %0 : tensor<1x4xf32>
    }
    ```
    """

    name = "manycore.task"
    sym_name = prop_def(StringAttr)
    """Name of the source operator, for messages and reports; it need not be unique."""
    tiling = prop_def(TilingAttr)
    placement = opt_prop_def(SpaceAttr)
    prefetch = opt_prop_def(IntegerAttr[I64])
    prefetch_steps = opt_prop_def(IntegerAttr[I64])
    keeps = opt_prop_def(DenseArrayBase[I64])
    """Numbers of the operands that stay in the cores for later tasks."""
    inputs = var_operand_def()
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self,
        name: str,
        operands: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        tiling: TilingAttr,
        body: Region,
        placement: Space | None = None,
    ) -> None:
        super().__init__(
            operands=[list(operands)],
            result_types=[list(result_types)],
            properties={
                "sym_name": StringAttr(name),
                "tiling": tiling,
                "placement": SpaceAttr(placement) if placement is not None else None,
            },
            regions=[body],
        )

    @property
    def space(self) -> Space:
        """The memory of the results."""
        return self.placement.data if self.placement is not None else Space.DRAM

    def set_prefetch(self, tasks: int, steps: int = 1) -> None:
        """
        Set the prefetch: the constants of the first `steps` steps are loaded during the task that is `tasks` tasks
        earlier.
        """
        self.prefetch = IntegerAttr(tasks, i64)
        self.prefetch_steps = IntegerAttr(steps, i64) if steps != 1 else None

    @property
    def kept(self) -> tuple[int, ...]:
        """Numbers of the operands that stay in the cores for later tasks."""
        return () if self.keeps is None else tuple(self.keeps.get_values())

    def set_kept(self, operands: Sequence[int]) -> None:
        """Keep these operands, and no others, in the cores for later tasks."""
        self.keeps = DenseArrayBase.from_list(i64, list(operands)) if operands else None

    @property
    def root(self) -> TilingInterface:
        """The operation whose iteration space is divided."""
        return body_operations(self.body.block)[0]

    @property
    def epilogue(self) -> tuple[TilingInterface, ...]:
        """The operations after the root: elementwise operations, and slices that these read."""
        return tuple(body_operations(self.body.block)[1:])

    @property
    def immediates(self) -> tuple[ConstantOp, ...]:
        """The constants in the body: immediates of its instructions."""
        return tuple(body_constants(self.body.block))

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """The values that the body yields as results."""
        return yielded(self.body.block)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalization import PATTERNS

        return PATTERNS

    def verify_(self) -> None:
        block = self.body.block
        verify_body(block, self.inputs, self.outputs)
        ops = verify_constants(block)
        if len(ops) > 1 and any(value.owner is block for value in self.yielded):
            raise VerifyException("manycore.yield returns an argument: expected values that the body computes")
        root = verify_operations(ops[:-1])
        verify_from_root(ops[:-1], self.yielded)
        verify_tiling(root, self.tiling)
        verify_cores(self, self.tiling)
        self._verify_prefetch()

    def _verify_prefetch(self) -> None:
        kept = self.kept
        if any(not 0 <= operand < len(self.inputs) for operand in kept) or list(kept) != sorted(set(kept)):
            raise VerifyException(f"keeps {list(kept)}: expected numbers of the {len(self.inputs)} operands, ascending")
        if self.prefetch is not None and self.prefetch.value.data < 0:
            raise VerifyException(f"prefetch {self.prefetch.value.data}: expected 0 tasks or more")
        if self.prefetch_steps is not None:
            steps, most = self.prefetch_steps.value.data, self.tiling.data.step_count
            if self.prefetch is None or not 1 <= steps <= most:
                raise VerifyException(f"prefetch of {steps} steps: expected 1 to the task's {most}")

    @classmethod
    def parse(cls, parser: Parser) -> TaskOp:
        signature = parse_signature(parser)
        placement = SpaceAttr(parser.parse_str_enum(Space)) if parser.parse_optional_keyword("in") else None
        parser.parse_keyword("tiled")
        tiling = TilingAttr.new(TilingAttr.parse_parameters(parser))
        kept: list[int] = []
        if parser.parse_optional_keyword("keeps") is not None:
            kept = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        prefetch = None
        if parser.parse_optional_keyword("prefetch") is not None:
            tasks = parser.parse_integer(allow_boolean=False)
            counted = parser.parse_optional_keyword("steps") is not None
            prefetch = tasks, parser.parse_integer(allow_boolean=False) if counted else 1
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(signature.arguments)
        task = TaskOp(signature.name, signature.operands, signature.results, tiling, body)
        if placement is not None:
            task.placement = placement
        task.set_kept(kept)
        if prefetch is not None:
            task.set_prefetch(*prefetch)
        if attributes is not None:
            task.attributes.update(attributes.data)
        return task

    def print(self, printer: Printer) -> None:
        print_signature(printer, self.sym_name.data, self.body.block, self.inputs, self.outputs)
        if self.placement is not None:
            printer.print_string(f" in {self.placement.data.value}")
        printer.print_string(" tiled ")
        self.tiling.print_parameters(printer)
        if self.keeps is not None:
            printer.print_string(f" keeps {list(self.kept)}")
        if self.prefetch is not None:
            printer.print_string(f" prefetch {self.prefetch.value.data}")
        if self.prefetch_steps is not None:
            printer.print_string(f" steps {self.prefetch_steps.value.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
