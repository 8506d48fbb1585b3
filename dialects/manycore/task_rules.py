"""Verification of all tasks, over tensors or over buffers: their operations, tiling and cores."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...chips import Chip
from ..coreasm.immediates import fits_immediate
from ..dataflow.constants import element_number, elements_of, splat_bits
from ..dataflow.elementwise import ElementwiseOp
from ..dataflow.movement import SliceOp
from ..dataflow.sources import ConstantOp
from ..dataflow.tiling import DimKind, TilingInterface
from ..dataflow.types import dtype_code, shape_of
from .attributes import TilingAttr, chip_of


def body_operations(block: Block) -> list[TilingInterface]:
    """The operations of a verified body, the root first: all but its constants and the `manycore.yield`."""
    return [op for op in block.ops if isinstance(op, TilingInterface)]


def body_constants(block: Block) -> list[ConstantOp]:
    """The constants in a body, which instructions hold as immediates."""
    return [op for op in block.ops if isinstance(op, ConstantOp)]


def verify_constants(block: Block) -> list[Operation]:
    """
    The operations of a body without its constants. Raises VerifyException unless each constant has equal elements that
    an instruction can hold, and all its uses are operands of elementwise operations for which their instructions have
    immediates.
    """
    for op in body_constants(block):
        if splat_bits(elements_of(op)) is None:
            raise VerifyException(f"a constant of {op.result.type} has different elements: expected an operand")
        if not fits_immediate(value := element_number(op), dtype_code(op.result)):
            raise VerifyException(f"{value} does not fit into the 32 bits of an immediate: expected an operand")
        for use in op.result.uses:
            user = use.operation
            if not isinstance(user, ElementwiseOp) or not user.takes_immediate(use.index):
                raise VerifyException(
                    f"'{user.name}' uses a constant of the body: expected an operand of the task, as only elementwise "
                    "operations have immediates"
                )
            if all(isinstance(value.owner, ConstantOp) for value in user.operands):
                raise VerifyException(f"'{user.name}' uses constants of the body only: fold it to a constant")
    return [op for op in block.ops if not isinstance(op, ConstantOp)]


def verify_operations(ops: Sequence[Operation]) -> TilingInterface:
    """
    The root of a body, whose operations are `ops` without constants and the `manycore.yield`. Raises VerifyException
    unless the root has the tiling interface and all others are elementwise over its result's shape.
    """
    if not ops:
        raise VerifyException("the body should hold at least one operation before manycore.yield")
    if not isinstance(root := ops[0], TilingInterface):
        raise VerifyException(f"the body begins with '{root.name}': expected an operation with the tiling interface")
    shape = shape_of(root.results[0])
    for op in ops[1:]:
        if isinstance(op, SliceOp):
            if not isinstance(op.operand, BlockArgument):
                raise VerifyException("a slice of a value of the body follows the root: expected one of an operand")
        elif not isinstance(op, ElementwiseOp):
            raise VerifyException(f"'{op.name}' follows the root: expected elementwise operations and slices only")
        if shape_of(op.results[0]) != shape:
            raise VerifyException(
                f"'{op.name}' has result shape {list(shape_of(op.results[0]))}: expected the root's, {list(shape)}"
            )
    return root


def is_view(ops: Sequence[Operation], number: int) -> bool:
    """
    Whether an operation of a body is a slice that the operations after it read in place, so that it writes no memory.
    """
    return len(ops) > 1 and isinstance(ops[number], SliceOp)


def verify_from_root(ops: Sequence[Operation], values: Sequence[SSAValue]) -> None:
    """
    Raises VerifyException for values that do not depend on the root of a body: an unused root would be removed, and the
    tiling would then apply to another iteration space.
    """
    from_root = set(ops[0].results)
    for op in ops[1:]:
        if not from_root.isdisjoint(op.operands):
            from_root.update(op.results)
    for number, value in enumerate(values):
        if value not in from_root:
            raise VerifyException(f"value {number} of manycore.yield does not depend on the root, '{ops[0].name}'")


def verify_tiling(root: TilingInterface, tiling: TilingAttr) -> None:
    """
    Raises VerifyException for a tiling that cuts the root's iteration space in a way that the root does not permit.
    """
    space = root.iteration_space()
    if len(tiling.grid) != len(space):
        raise VerifyException(
            f"the tiling has rank {len(tiling.grid)}: expected {len(space)}, the iteration space of '{root.name}'"
        )
    for dim, (one, grid, steps) in enumerate(zip(space, tiling.grid, tiling.steps, strict=True)):
        reduction = one.kind is DimKind.REDUCTION
        fixed = one.kind in (DimKind.WHOLE, DimKind.SEQUENTIAL)
        if grid > 1 and (reduction or fixed):
            raise VerifyException(f"grid = {grid} in dimension {dim}, which is {one.kind}: expected 1")
        if steps > 1 and (fixed or (reduction and root.combine is None)):
            raise VerifyException(f"steps = {steps} in dimension {dim}, which is {one.kind} and cannot be split")
        multiple = tiling.multiples[dim] if tiling.multiples else 1
        if one.size % multiple:
            raise VerifyException(
                f"multiples = {multiple} in dimension {dim}, which has size {one.size}: expected a divisor of it"
            )
        if steps > max(one.size, 1):
            raise VerifyException(f"steps = {steps} in dimension {dim}, which has size {one.size}: expected no more")


def verify_reduced_last(root: TilingInterface, tiling: TilingAttr) -> None:
    """
    Raises VerifyException if a loop over a reduced dimension contains one over another kind: sums would be interrupted.
    """
    reduced = [root.iteration_space()[dim].kind is DimKind.REDUCTION for dim in tiling.order if tiling.steps[dim] > 1]
    if reduced != sorted(reduced):
        raise VerifyException(
            f"order = {list(tiling.order)} loops over reduced dimensions outside of others: put the reduced ones last"
        )


def verify_cores(op: Operation, tiling: TilingAttr) -> None:
    """Raises VerifyException for cores that the module's chip does not have."""
    if (chip := chip_of(op)) is not None and (problem := core_problem(tiling, chip)) is not None:
        raise VerifyException(problem)


def core_problem(tiling: TilingAttr, chip: Chip) -> str | None:
    """What is wrong with the cores of a tiling on a chip, or None."""
    unusable = sorted(set(tiling.cores) - set(chip.usable_cores))
    if not unusable:
        return None
    usable = len(chip.usable_cores)
    return f"core {unusable[0]} is not usable on chip '{chip.name}' of {chip.cores} cores, {usable} of them usable"
