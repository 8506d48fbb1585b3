"""The script of an edited function: its own operations, and the operations that offload tensors and restore them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...analysis.offload.kinds import Kind
from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.locations import located
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.stash import AwaitOp, CompletionOp, MoveOp, RecomputeOp
from ...dialects.memory.stash_check import memory_of
from ...dialects.memory.stash_types import StashType, TokenType
from ...support.errors import InputError

Step = SubgraphOp | MoveOp | RecomputeOp


class Act(Enum):
    """A kind of step."""

    RUN = "run"
    """An operation of the function, `number` in the order of its cost graph."""
    COMPRESS = "compress"
    OUT = "out"
    """Copy to the host; of the compressed stash if the absence is of that kind."""
    IN = "in"
    """Copy from the host."""
    DECOMPRESS = "decompress"
    AGAIN = "again"
    """Recompute the operations of the absence's chain."""


@dataclass(frozen=True)
class Absence:
    """A tensor (its number in the cost graph) is offloaded during a gap."""

    tensor: int
    kind: Kind
    chain: tuple[int, ...] = ()
    """Operations that recompute it."""


@dataclass(frozen=True)
class Item:
    """One step; `number` is that of an operation (RUN) or of an absence."""

    act: Act
    number: int


@dataclass(frozen=True)
class Script:
    """All steps in the order of the block."""

    items: tuple[Item, ...]
    absences: tuple[Absence, ...]


@dataclass(frozen=True)
class FunctionParts:
    """Operations and tensors of a function, by their numbers in its cost graph."""

    ops: tuple[Step, ...]
    tensors: tuple[SSAValue, ...]


def function_parts(function: FuncOp) -> FunctionParts:
    """
    The parts of a function of subgraphs, and of operations of `memory` that are there already. Raises InputError for
    other operations.
    """
    block = function.body.block
    ops: list[Step] = []
    tensors: list[SSAValue] = list(block.args)
    for op in block.ops:
        if op is block.last_op or isinstance(op, ReshapeOp | AwaitOp | CompletionOp):
            continue
        if isinstance(op, SubgraphOp | MoveOp | RecomputeOp):
            ops.append(op)
        elif not is_free(op):
            message = f"@{function.sym_name.data} contains {op.name}: expected subgraphs and operations of memory"
            raise located(InputError(message), op)
        tensors += [value for value in op.results if not isinstance(value.type, TokenType)]
    return FunctionParts(tuple(ops), tuple(tensors))


def fixed_tensors(parts: FunctionParts) -> set[int]:
    """Numbers of tensors that cannot be offloaded: those that are already, and their stashes."""
    moved = {memory_of(op.source) for op in parts.ops if isinstance(op, MoveOp)}
    return {n for n, value in enumerate(parts.tensors) if value in moved or isinstance(value.type, StashType)}


def is_free(op: Operation) -> bool:
    """Whether an operation is a constant or a weight, and takes no time."""
    return isinstance(op, ConstantOp | WeightOp)
