"""Pass `dataflow-split-to-fit`: split operators whose data are too large into operators on parts of the data."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import region_dce

from ..analysis.semantic_effect import EXACT, SemanticEffect, looser
from ..analysis.tasks.operator_parts import Parts, choose_parts
from ..chips import Chip, load_chip
from ..dialects.dataflow import ConcatOp, ReshapeOp, SliceOp, WeightOp
from ..dialects.dataflow.tiling import TilingInterface
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.locations import at
from ..dialects.manycore import SubgraphOp
from ..support.errors import InputError
from .shared.split_operator import Splitter, splitting_effect

RESERVE = 8
"""The fraction 1 / RESERVE of a core's memory is reserved for code, queues and prefetched constants."""


def core_limit(chip: Chip) -> int:
    """The largest number of bytes of an operator's data on a chip: a core's memory minus a reserve (spec 3, step 1)."""
    return chip.sram_bytes - chip.sram_bytes // RESERVE


@dataclass
class Splitting:
    """The operators that were split, and the semantic effect of splitting them."""

    parts: list[tuple[str, Parts]] = field(default_factory=list[tuple[str, Parts]])
    """Operators by name, with the number of parts in each dimension of their iteration space."""
    semantic_effect: SemanticEffect = EXACT
    """
    Reassociating if floating-point sums are computed on parts of the summands, or on operands with another layout in
    memory, for which a matrix product may add in another order.
    """


@dataclass(frozen=True)
class DataflowSplitToFitPass(ModulePass):
    """
    Split every operator whose inputs, parameters and outputs together have more than `bytes` bytes, or than fit a core
    of `chip`, into operators of the same kind on parts of the data, until each part fits.

    Contractions are split by batch first, then by output channels, then in space, and along summed dimensions last;
    other operators never along reduced dimensions. Slices and concatenations are copied in parts anyway, and are not
    split.
    """

    name = "dataflow-split-to-fit"

    chip: str | None = None
    bytes: int | None = None

    splitting: Splitting = field(init=False, compare=False, repr=False, default_factory=Splitting)
    """The result of the last run."""

    @property
    def semantic_effect(self) -> SemanticEffect:
        """Exact, unless floating-point sums had to be split; known after the pass has run."""
        return self.splitting.semantic_effect

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (self.chip is None) == (self.bytes is None):
            raise InputError("give either dataflow-split-to-fit{chip=NAME} or dataflow-split-to-fit{bytes=N}")
        limit = self.bytes if self.bytes is not None else core_limit(load_chip(self.chip or ""))
        if limit < 1:
            raise InputError(f"bytes = {limit} should be at least 1")
        unroll_loops(op)
        done = split_to_fit(op, limit)
        self.splitting.parts, self.splitting.semantic_effect = done.parts, done.semantic_effect


def split_to_fit(module: ModuleOp, limit: int) -> Splitting:
    """
    Split all operators of a module's functions and subgraphs whose data have more than `limit` bytes.

    Raises ResourceError, which names an operator whose smallest part does not fit; the module is then partly split.
    """
    done = Splitting()
    names = {weight.sym_name.data for weight in module.walk() if isinstance(weight, WeightOp)}
    for holder in list(module.walk()):
        if isinstance(holder, FuncOp | SubgraphOp) and holder.body.blocks:
            _split_block(holder.body.block, limit, names, done)
            if done.parts:
                region_dce(holder.body)
    return done


def _split_block(block: Block, limit: int, names: set[str], done: Splitting) -> None:
    splitter = Splitter(names)
    waiting = deque(block.ops)
    while waiting:
        op = waiting.popleft()
        if not isinstance(op, TilingInterface) or isinstance(op, ReshapeOp | SliceOp | ConcatOp):
            continue
        name = op.results[0].name_hint or op.name.partition(".")[2]
        with at(op):
            parts = choose_parts(op, limit, name)
        if all(count == 1 for count in parts):
            continue
        parts = splitter.as_producer(op, limit, parts)
        done.parts.append((name, parts))
        done.semantic_effect = looser(done.semantic_effect, splitting_effect(op))
        waiting.extendleft(reversed(splitter.split(op, parts)))
