"""
Comparison of an executable's tasks with the interpreter of the IR that it was compiled from: task by task, and in loops
step by step, each on the operands in the executable's memory, so that a difference is caused by the task and step that
shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, bf16, f16, i1
from xdsl.ir import Attribute

from ...dialects.dataflow import CastOp, QuantizeOp
from ...dialects.dataflow.constants import widen_bf16
from ...dialects.dataflow.entry_function import find_main
from ...dialects.dataflow.types import element_of, is_float
from ...dialects.manycore import ExecuteOp, LaunchOp
from ...dialects.manycore.execute_interpreter import TaskDone
from ...emulator.functional.record_results import Recorded, ResultRecorder
from ...emulator.functional.result_region import IN_DRAM, Region
from .interpret import run_in_memory

Array: TypeAlias = NDArray[Any]

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""Allowed errors of floats: relative to the largest absolute value of the result, and absolute."""
ROUNDING: dict[Attribute, float] = {f16: 2.0**-10, bf16: 2.0**-7}
"""Relative error of one more rounding to a type."""


@dataclass(frozen=True)
class Difference:
    """The first wrong element of a task's result."""

    launch: int
    task: str
    core: int | None
    """The core that holds the wrong tile; None: the result is in DRAM."""
    byte: int
    """The first byte of the first wrong element, in the tile or in the result in DRAM."""
    address: int
    """Address of this byte."""
    element: tuple[int, ...]
    """Its position in the whole result."""
    got: str
    expected: str
    writer: str
    """Description of the instruction that wrote the byte last."""
    wrong: int
    """Number of wrong elements of the result, in this step."""
    step: int | None = None
    """The step of the loop that contains the task; None outside of loops."""
    chip: int | None = None
    """Number of the chip, if there are several."""

    def __str__(self) -> str:
        where = "DRAM" if self.core is None else f"SRAM of core {self.core}"
        chip = "" if self.chip is None else f"chip {self.chip}: "
        step = "" if self.step is None else f", step {self.step}"
        return (
            f"{chip}task '{self.task}' of launch {self.launch}{step}: byte {self.byte} of its result, "
            f"{self.address:#x} in the {where}, element {list(self.element)}, is {self.got}: expected {self.expected} "
            f"(by the last writer, {self.writer}; {self.wrong:,} element{'s are' if self.wrong > 1 else ' is'} wrong)"
        )


@dataclass
class Comparison:
    """The result of a comparison."""

    differences: list[Difference] = field(default_factory=list[Difference])
    """The first difference of each task that differs, in the order of the module."""
    tasks: int = 0
    """Number of compared tasks."""
    steps: int = 0
    """Number of compared steps of tasks in loops."""
    only_last: list[str] = field(default_factory=list[str])
    """Tasks in loops whose steps cannot be distinguished; only the results of their last steps were compared."""
    left_out: list[str] = field(default_factory=list[str])
    """Tasks that were not compared, because the executable does not state where their results are."""
    shared: list[str] = field(default_factory=list[str])
    """Tasks that were not compared, because other tasks have the same instructions."""


def compare_results(
    module: ModuleOp, inputs: Mapping[str, Array], recorder: ResultRecorder, chip: int | None = None
) -> Comparison:
    """
    Compare a run with the interpreter of its module, which is at the `memory` level.

    `inputs` are those of the run, in their representation in memory; `recorder` has recorded the run, with all steps;
    `chip`: the number of the chip, if there are several. Floats may differ by 1e-4 of the largest absolute value of the
    result of a task, or of a step of it, plus 1e-6; integers that are rounded floats may differ by one. Raises
    MeshloomError for the errors of the interpreter.
    """
    launches = [op for op in find_main(module).body.block.ops if isinstance(op, LaunchOp)]
    number_of = {id(op): number for number, op in enumerate(launches)}
    known = {(one.place.launch, one.place.task): one for one in recorder.recorded}
    done_steps: dict[tuple[int, str], int] = {}
    wrong: set[tuple[int, str]] = set()
    found = Comparison()

    def compare(done: TaskDone) -> None:
        key = number_of[id(done.launch)], done.task.sym_name.data
        recorded = known.get(key)
        if recorded is None or recorded.shared:
            return
        by_step = done.step is not None and (done.row is not None or recorded.clock is not None)
        if not by_step and not done.last:
            return
        done_steps[key] = done_steps.get(key, 0) + by_step
        parts = _parts(done, recorded, by_step)
        if key not in wrong and (difference := _first_difference(done, parts, recorded, recorder)) is not None:
            wrong.add(key)
            found.differences.append(replace(difference, chip=chip, step=done.step if by_step else None))
        for part in parts:  # the interpreter continues with the values of the run
            part.expected[...] = part.got

    run_in_memory(module, inputs, on_result=compare)
    for key in ((number, name) for number, op in enumerate(launches) for name in op.tasks):
        if key not in known:
            found.left_out.append(key[1])
        elif known[key].shared:
            found.shared.append(key[1])
        elif (of_loop := known[key].place.loop) is not None and not done_steps.get(key) and of_loop.steps > 1:
            found.only_last.append(key[1])
    found.tasks, found.steps = len(known) - len(found.shared), sum(done_steps.values())
    return found


@dataclass(frozen=True)
class _Part:
    """The values that a task, or a step of one, has written to one memory."""

    core: int
    """The core, or `IN_DRAM`."""
    expected: Array
    """The interpreter's values in its memory, flat."""
    region: Region
    """The values of the run."""
    first: int
    """The first element of the region that is compared."""

    @property
    def got(self) -> Array:
        """The values of the run, in the form of the interpreter's."""
        start = self.first * self.expected.itemsize
        return self.region.content[start : start + self.expected.nbytes].view(self.expected.dtype)

    @property
    def unwritten(self) -> NDArray[np.bool_]:
        """Mask of the elements with bytes that the task did not write."""
        size = self.expected.itemsize
        writers = self.region.writer[self.first * size :][: self.expected.nbytes]
        return writers.reshape(self.expected.size, size).min(axis=1, initial=0) < 0


def _parts(done: TaskDone, recorded: Recorded, by_step: bool) -> list[_Part]:
    """The parts of a result, or of the values that a step of a loop has written of it; without empty parts."""
    arrays = {IN_DRAM: done.whole} if done.whole is not None else done.tiles
    loop, parts = recorded.place.loop, list[_Part]()
    for core, region in sorted(recorded.regions.items()):
        array = arrays[core]
        assert array is not None
        expected, first = array.reshape(-1), 0
        if done.row is not None and loop is not None and loop.rows is not None:
            size = expected.size // loop.rows.count
            first = done.row * size
            expected = expected[first : first + size]
        elif by_step and done.step is not None:
            steps = recorded.steps.get(core, [])
            empty = Region.of(region.start, len(region.content))
            region = steps[done.step] if done.step < len(steps) else empty
        parts.append(_Part(core, expected, region, first))
    return parts


def _first_difference(
    done: TaskDone, parts: list[_Part], recorded: Recorded, recorder: ResultRecorder
) -> Difference | None:
    place, element = recorded.place, element_of(done.task.ops[-1].results[0])
    largest = max((_largest(_numbers(part.expected, element)) for part in parts), default=0.0)
    allowed = _allowed(done.task, element, largest)
    first: tuple[_Part, int] | None = None
    count = 0
    for part in parts:
        bad = np.flatnonzero(_wrong(part.got, part.expected, element, allowed) | part.unwritten)
        if len(bad) and first is None:
            first = part, int(bad[0])
        count += len(bad)
    if first is None:
        return None
    part, at = first
    tile = None if part.core == IN_DRAM else place.tiles()[part.core]
    sizes = place.shape if tile is None else tile.sizes
    offsets = (0,) * len(sizes) if tile is None else tile.offsets
    byte = (part.first + at) * part.expected.itemsize
    position = np.unravel_index(part.first + at, sizes) if sizes else ()
    return Difference(
        place.launch, place.task, None if tile is None else part.core, byte, place.address + byte,
        tuple(int(low) + int(index) for low, index in zip(offsets, position, strict=True)),
        str(_numbers(part.got, element)[at]), str(_numbers(part.expected, element)[at]),
        recorder.writer(place.launch, int(part.region.writer[byte])), count,
    )  # fmt: skip


def _numbers(values: Array, element: Attribute) -> Array:
    return widen_bf16(values) if element == bf16 else values


def _largest(values: Array) -> float:
    if values.dtype.kind != "f":
        return 0.0
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0))


def _allowed(task: ExecuteOp, element: Attribute, largest: float) -> float:
    """The allowed error of an element of a result with this largest absolute value."""
    if is_float(element):
        return max(RELATIVE, ROUNDING.get(element, 0.0)) * largest + ABSOLUTE
    rounds = any(
        isinstance(op, QuantizeOp)
        or (isinstance(op, CastOp) and is_float(element_of(op.operands[0])) and op.result_type.element_type == element)
        for op in task.ops
    )
    return 1.0 if rounds and element != i1 else 0.0


def _wrong(got: Array, expected: Array, element: Attribute, allowed: float) -> NDArray[np.bool_]:
    """Mask of the wrong elements."""
    if not allowed:
        return got != expected
    a, b = (_numbers(values, element).astype(np.float64) for values in (got, expected))
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= allowed
    return ~(close | (a == b) | (np.isnan(a) & np.isnan(b)))
