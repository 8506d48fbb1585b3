"""
Pass `dataflow-split-batch`: micro-batching, that is, computing a network on a few elements of its batch at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import region_dce

from ..analysis.semantic_effect import EXACT, SemanticEffect, looser
from ..analysis.tasks.batch_axes import batch_cuts
from ..dialects.dataflow import ConcatOp, WeightOp
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..support.errors import InputError
from .shared.refuse_subgraphs import refuse_subgraphs
from .shared.split_operator import Splitter, splitting_effect


@dataclass(frozen=True)
class DataflowSplitBatchPass(ModulePass):
    """
    Cut the results of every function into `parts` along their first dimension, and with them all operators that treat
    elements of the batch independently: a copy of these for each part, one after the other.

    Values between operators are smaller by that factor, and may stay in the cores' memory.
    """

    name = "dataflow-split-batch"

    parts: int

    effects: list[SemanticEffect] = field(init=False, compare=False, repr=False, default_factory=list[SemanticEffect])
    """Semantic effect of the last run, by operator."""

    @property
    def semantic_effect(self) -> SemanticEffect:
        """Exact, unless operators were split that add floating-point numbers; known after the pass has run."""
        return reduce(looser, self.effects, EXACT)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.parts < 2:
            raise InputError(f"parts = {self.parts} should be at least 2")
        refuse_subgraphs(op, self.name)
        unroll_loops(op)
        names = {weight.sym_name.data for weight in op.walk() if isinstance(weight, WeightOp)}
        self.effects.clear()
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                self.effects.extend(split_batch(function, self.parts, names))


def split_batch(function: FuncOp, parts: int, names: set[str]) -> list[SemanticEffect]:
    """
    Split the operators of a function that process elements of the batch independently. `names`: names of all weights of
    the module.

    Returns the semantic effect of splitting each operator; empty if there is no such operator.
    """
    block = function.body.block
    cuts = batch_cuts(block, parts)
    effects = [splitting_effect(op) for op in cuts]
    splitter = Splitter(names)
    for op, dim in cuts.items():
        counts = [1] * len(op.iteration_space())
        counts[dim] = parts
        splitter.split(op, tuple(counts))
    if cuts:
        region_dce(function.body)
        _one_after_the_other(block, parts)
    return effects


def _one_after_the_other(block: Block, parts: int) -> None:
    """Reorder the operations of a block so that those of a part are contiguous."""
    last = block.last_op
    assert last is not None
    number_of = {op: number for number, op in enumerate(block.ops)}
    joins = [value.owner for value in last.operands if isinstance(value.owner, ConcatOp)]
    placed: set[Operation] = set()
    for part in range(parts):
        waiting = [join.operands[part].owner for join in joins if len(join.operands) == parts]
        needed: set[Operation] = set()
        while waiting:
            op = waiting.pop()
            if isinstance(op, Operation) and op not in placed and op not in needed:
                needed.add(op)
                waiting.extend(value.owner for value in op.operands)
        for op in sorted(needed, key=number_of.__getitem__):
            op.detach()
            block.insert_op_before(op, last)
        placed |= needed
    for op in list(block.ops):
        if op not in placed and op is not last:
            op.detach()
            block.insert_op_before(op, last)
