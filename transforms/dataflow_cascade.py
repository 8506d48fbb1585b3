"""Pass `dataflow-cascade`: run chains of operators stripe by stripe, so that the values between them are small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import region_dce

from ..analysis.semantic_effect import EXACT, SemanticEffect, looser
from ..analysis.tasks.cascades import Cascade, choose_cascades
from ..analysis.tasks.stripes import Stripe, stripes_of
from ..dialects.dataflow import WeightOp
from ..dialects.dataflow.tiling import Box, split_evenly
from ..dialects.dataflow.types import shape_of
from ..dialects.locations import at
from ..support.errors import InputError
from .shared.chip_option import chip_for
from .shared.refuse_subgraphs import refuse_subgraphs
from .shared.split_operator import Splitter, join_boxes, splitting_effect

SHARE = 0.5
"""The share of the cores' memory for values that stay in it; the rest is for constants and buffers of transfers."""


@dataclass(frozen=True)
class DataflowCascadePass(ModulePass):
    """
    Run chains of operators stripe by stripe: for one stripe of the chain's result, all its operators, one after the
    other, on the data that this stripe needs. Values inside the chain are then small enough for the cores' memory;
    where windows overlap, neighbouring stripes compute the same elements twice.

    Chains are chosen for a chip, or one is given: from operator `first` to operator `last` (names of their results),
    cut into `stripes` stripes along dimension `axis` of the result of the last one.
    """

    name = "dataflow-cascade"

    chip: str | None = None
    first: str | None = None
    last: str | None = None
    axis: int = 2
    stripes: int | None = None

    effects: list[SemanticEffect] = field(init=False, compare=False, repr=False, default_factory=list[SemanticEffect])
    """Semantic effect of the last run, by operator."""

    @property
    def semantic_effect(self) -> SemanticEffect:
        """Exact, unless operators were split that add floating-point numbers; known after the pass has run."""
        return reduce(looser, self.effects, EXACT)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_subgraphs(op, self.name)
        names = weight_names(op)
        self.effects.clear()
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                self.effects.extend(run_in_stripes(function, self._cascades(op, function.body.block), names))

    def _cascades(self, module: ModuleOp, block: Block) -> Sequence[Cascade]:
        if self.last is None and self.first is None and self.stripes is None:
            return choose_cascades(block, chip_for(module, self.chip, f"{self.name}{{chip=NAME}}"), SHARE).cascades
        if self.last is None or self.first is None or self.stripes is None:
            raise InputError(f"{self.name}: give all of first=NAME, last=NAME and stripes=N")
        ops = [one for one in block.ops if one.operands and one.results]
        begin, end = _named(ops, self.first), _named(ops, self.last)
        if begin is None or end is None:
            return []
        shape = shape_of(ops[end].results[0])
        if not 0 <= self.axis < len(shape) or not 2 <= self.stripes <= shape[self.axis]:
            raise InputError(
                f"{self.name}: result '{self.last}' of shape {list(shape)} cannot be cut into {self.stripes} stripes "
                f"along dimension {self.axis}"
            )
        return [Cascade(tuple(ops[begin : end + 1]), self.axis, self.stripes)]


def weight_names(module: ModuleOp) -> set[str]:
    """Names of all weights of a module."""
    return {weight.sym_name.data for weight in module.walk() if isinstance(weight, WeightOp)}


def run_in_stripes(function: FuncOp, cascades: Sequence[Cascade], names: set[str]) -> list[SemanticEffect]:
    """
    Rewrite chains of operators of a function to run stripe by stripe. `names`: names of all weights of the module.

    Returns the semantic effect of splitting each operator. Raises InputError for a chain with an operator that cannot
    be cut in this way, or with inner values that are read elsewhere.
    """
    effects: list[SemanticEffect] = []
    splitter = Splitter(names)
    for cascade in cascades:
        effects += _run_in_stripes(cascade, splitter)
    if cascades:
        region_dce(function.body)
    return effects


def _run_in_stripes(cascade: Cascade, splitter: Splitter) -> list[SemanticEffect]:
    *_, last = cascade.operators
    result = cascade.result
    shape, inside = shape_of(result), set(cascade.operators)
    for op in cascade.operators[:-1]:
        for value in op.results:
            if reader := next((use.operation for use in value.uses if use.operation not in inside), None):
                raise InputError(
                    f"dataflow-cascade: %{value.name_hint or '?'} is read by '{reader.name}' outside the chain"
                )
    made: dict[Box, SSAValue] = {}
    effects: list[SemanticEffect] = []
    for low, size in split_evenly(shape[cascade.axis], cascade.count):
        stripe = Stripe(cascade.axis, low, low + size)
        found = stripes_of(cascade.operators, result, stripe)
        if found is None:
            raise InputError(
                f"dataflow-cascade: the chain to %{result.name_hint or '?'} cannot be cut into stripes along dimension "
                f"{cascade.axis}"
            )
        needed, tiles = found
        splitter.stripes = {}
        for op, tile in reversed(tiles.items()):
            part = splitter.build(op, tile, last)
            if (hint := op.results[0].name_hint) is not None:
                part.name_hint = splitter.unique(hint)
            splitter.stripes[op.results[0]] = needed[op.results[0]].box(shape_of(op.results[0])), part
        made[stripe.box(shape)] = splitter.stripes.pop(result)[1]
        effects = [splitting_effect(op) for op in tiles]
    splitter.stripes = {}
    with at(last):
        whole = join_boxes(made, last)
    whole.name_hint = result.name_hint
    result.replace_all_uses_with(whole)
    return effects


def _named(ops: Sequence[Operation], name: str) -> int | None:
    return next((number for number, op in enumerate(ops) if op.results[0].name_hint == name), None)
