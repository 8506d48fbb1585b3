"""
Comparison of an executable's tasks with the interpreter of the IR that it was compiled from: task by task, each on the
operands in the executable's memory, so that a difference is caused by the task that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from ...emulator.functional.record_results import Recorded, Region, ResultRecorder
from .interpret import run_main

Array: TypeAlias = NDArray[Any]

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""Allowed errors of floats: relative to the largest absolute value of the result, and absolute."""
ROUNDING: dict[Attribute, float] = {f16: 2.0**-10, bf16: 2.0**-7}
"""Relative error of one more rounding to a type."""
_DRAM = -1


@dataclass(frozen=True)
class Difference:
    """The first wrong element of a task's result."""

    launch: int
    task: str
    core: int | None
    """The core with the wrong tile; None: the result is in DRAM."""
    byte: int
    """The first byte of the first wrong element, in the tile or in the result in DRAM."""
    address: int
    """Of this byte."""
    element: tuple[int, ...]
    """Its position in the whole result."""
    got: str
    expected: str
    writer: str
    """Description of the instruction that wrote the byte last."""
    wrong: int
    """Number of wrong elements of the result."""

    def __str__(self) -> str:
        where = "DRAM" if self.core is None else f"SRAM of core {self.core}"
        return (
            f"task '{self.task}' of launch {self.launch}: byte {self.byte} of its result, {self.address:#x} in the "
            f"{where}, element {list(self.element)}, is {self.got}: expected {self.expected} (by the last writer, "
            f"{self.writer}; {self.wrong:,} element{'s are' if self.wrong > 1 else ' is'} wrong)"
        )


def differing_results(module: ModuleOp, inputs: Mapping[str, Array], recorder: ResultRecorder) -> list[Difference]:
    """
    The tasks with a wrong result in a run, in the order of the module, with the first wrong element of each.

    `module` is at the `memory` level, `inputs` are those of the run (as for `run_main`), `recorder` recorded it. Floats
    may differ by 1e-4 of the largest absolute value of the result and 1e-6; integers that are rounded floats by one.
    Raises MeshloomError for what the interpreter raises.
    """
    launches = [op for op in find_main(module).body.block.ops if isinstance(op, LaunchOp)]
    number_of = {id(op): number for number, op in enumerate(launches)}
    known = {(one.place.launch, one.place.task): one for one in recorder.recorded}
    found: list[Difference] = []

    def compare(done: TaskDone) -> None:
        recorded = known.get((number_of[id(done.launch)], done.task.sym_name.data))
        if recorded is None or not done.last:
            return
        if (difference := _first_difference(done, recorded, recorder)) is not None:
            found.append(difference)
        _replay(done, recorded)

    run_main(module, inputs, on_result=compare)
    return found


def _pairs(done: TaskDone, recorded: Recorded) -> list[tuple[int, Array, Region]]:
    """(Core or -1 for DRAM, the interpreter's value, the run's value)."""
    if done.whole is not None:
        return [(_DRAM, done.whole, recorded.regions[_DRAM])]
    return [(core, done.tiles[core], region) for core, region in sorted(recorded.regions.items())]


def _typed(region: Region, like: Array) -> Array:
    return region.content[: like.nbytes].view(like.dtype).reshape(like.shape)


def _replay(done: TaskDone, recorded: Recorded) -> None:
    """Let the interpreter continue with the values of the run."""
    for _, expected, region in _pairs(done, recorded):
        expected[...] = _typed(region, expected)


def _first_difference(done: TaskDone, recorded: Recorded, recorder: ResultRecorder) -> Difference | None:
    place = recorded.place
    element = element_of(done.task.ops[-1].results[0])
    pairs = _pairs(done, recorded)
    largest = max((_largest(_numbers(expected, element)) for _, expected, _ in pairs), default=0.0)
    allowed = _allowed(done.task, element, largest)
    first: tuple[int, int] | None = None
    count = 0
    for position, (_, expected, region) in enumerate(pairs):
        wrong = _wrong(_typed(region, expected), expected, element, allowed)
        writers = region.writer[: expected.nbytes].reshape(wrong.size, expected.itemsize)
        bad = np.flatnonzero(wrong.reshape(-1) | (writers.min(axis=1, initial=0) < 0))
        if len(bad) and first is None:
            first = position, int(bad[0])
        count += len(bad)
    if first is None:
        return None
    core, expected, region = pairs[first[0]]
    at = np.unravel_index(first[1], expected.shape) if expected.shape else ()
    offsets = place.tiles()[core].offsets if core != _DRAM else (0,) * len(at)
    byte = first[1] * expected.itemsize
    got = _typed(region, expected)
    return Difference(
        place.launch, place.task, None if core == _DRAM else core, byte, place.address + byte,
        tuple(int(low) + int(index) for low, index in zip(offsets, at, strict=True)),
        str(_numbers(got, element).reshape(-1)[first[1]]), str(_numbers(expected, element).reshape(-1)[first[1]]),
        recorder.writer(place.launch, int(region.writer[byte])), count,
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
    """Which elements are wrong."""
    if not allowed:
        return got != expected
    a, b = (_numbers(values, element).astype(np.float64) for values in (got, expected))
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= allowed
    return ~(close | (a == b) | (np.isnan(a) & np.isnan(b)))
