"""
Batches: where values pass through DRAM because those of all frames are too many for the cores, the network on a few
frames, several times in one launch (spec 3, step 1: by frames first).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp

from ..analysis.operator_parts import data_bytes
from ..chips import Chip
from ..dialects.dataflow import ReshapeOp, WeightOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.tiling import TilingInterface
from ..dialects.dataflow.types import shape_of
from ..support.errors import ResourceError
from ..transforms.dataflow_split_frames import split_frames
from .compilation_log import LogEntry
from .compile_subgraphs import WORTHWHILE, Driver
from .subgraph import Subgraphs

TRIALS = 2
"""Numbers of parts that are tried."""


@dataclass(frozen=True)
class Attempt:
    """A module that was compiled."""

    module: ModuleOp
    driver: Driver
    found: Subgraphs

    @cached_property
    def cycles(self) -> float:
        """What it takes with host copies."""
        return self.driver.cycles(self.found)

    def may_gain(self, least: float) -> bool:
        """Whether it is compiled as a whole, but keeps values in DRAM, and takes longer than it must."""
        parts = self.found.parts
        return len(parts) == 1 and parts[0].code.segments[-1] > 0 and self.cycles * WORTHWHILE > least


def possible_parts(module: ModuleOp, chip: Chip) -> list[int]:
    """
    Into how many equal parts a network's frames may be cut: as few as let the data of the largest operator lie in the
    cores' memory, and more of them. None where inputs and results do not have as many frames.
    """
    block = find_main(module).body.block
    last = block.last_op
    results = [shape_of(value)[:1] for value in (last.operands if last is not None else ())]
    if len(set(results)) != 1 or results[0] not in [shape_of(value)[:1] for value in block.args]:
        return []
    (frames,) = results[0] or (1,)
    operators = [op for op in block.ops if isinstance(op, TilingInterface) and not isinstance(op, ReshapeOp)]
    largest = max((data_bytes(op, [dim.size for dim in op.iteration_space()]) for op in operators), default=0)
    needed = largest / (len(chip.usable_cores) * chip.sram_bytes)
    return [parts for parts in range(2, frames + 1) if frames % parts == 0 and parts >= needed][:TRIALS]


def fewer_frames(module: ModuleOp, counts: Sequence[int], whole: Attempt, least: float) -> Attempt:
    """
    The best of a network as it was compiled, and in so many parts by frames; more parts are tried only where fewer did
    help, and may not be all that helps. `module` is as it was before; `least` are cycles that it takes in any case.
    """
    best = whole
    for parts in counts:
        if not best.may_gain(least):
            break
        whole.driver.progress(f"compile in {parts} parts by frames")
        made = module.clone()
        names = {weight.sym_name.data for weight in made.walk() if isinstance(weight, WeightOp)}
        if not split_frames(find_main(made), parts, names):
            break
        driver = whole.driver.for_another(find_main(made))
        try:
            attempt = Attempt(made, driver, driver.run())
        except ResourceError as error:
            _note(whole, False, f"does not compile in {parts} parts by frames: {error}")
            continue
        better = attempt.cycles < best.cycles * WORTHWHILE
        done = f"is {'' if better else 'not '}split into {parts} parts by frames"
        _note(whole, better, f"{done}: with host copies {attempt.cycles:,.0f} cycles in all, {best.cycles:,.0f} before")
        if not better:
            break
        best = attempt
    return best


def _note(whole: Attempt, ok: bool, text: str) -> None:
    part = whole.found.parts[0]
    whole.driver.log.add(LogEntry("frames", part.label, len(part.operators), *part.ends, ok, text))
