"""Runs of networks on several chips: computed values, and the schedule of the chips for a stream of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .executable.chip_pipeline import NETWORK, ChipPipeline, Feed, output_of
from .functional.engine import run_functional
from .functional.observer import Observer
from .machine.mapped_work import MappedWork
from .machine.memory import BF16, Array, round_bf16
from .reports.stats import collect
from .timing.engine import HostCopy, TimingResult, depends_on_values, run_timing


@dataclass(frozen=True)
class PipelineValues:
    """The result of a functional run of all chips."""

    outputs: dict[str, Array]
    mapped: tuple[MappedWork | None, ...]
    """For each chip the work that depends on values; None if it has none."""
    inputs: tuple[dict[str, Array], ...] = ()
    """For each chip its inputs by name, in their layout in memory."""


def run_chip_pipeline(
    pipeline: ChipPipeline, inputs: Mapping[str, Array], check: bool = False, observers: Sequence[Observer] = ()
) -> PipelineValues:
    """
    Run the chips one after the other on `inputs` (by name). Returns the network's outputs and the work of each chip.

    `check` also detects reads of unwritten memory and races; `observers`, one for each chip, are notified of the
    execution. Raises as `run_functional` does.
    """
    given: list[dict[str, Array]] = []
    taken: list[dict[str, Array]] = []
    mapped: list[MappedWork | None] = []
    watching = observers or [None] * len(pipeline.chips)
    for number, (exe, observer) in enumerate(zip(pipeline.chips, watching, strict=True)):
        taken.append(_fed(pipeline, number, inputs, given))
        result = run_functional(exe, taken[-1], check=check, observer=observer)
        given.append(result.outputs)
        mapped.append(result.mapped if depends_on_values(exe) else None)
    outputs = {name: given[chip][name] for name, chip in pipeline.outputs}
    return PipelineValues(outputs, tuple(mapped), tuple(taken))


def inputs_of_chip(
    pipeline: ChipPipeline, chip: int, inputs: Mapping[str, Array], check: bool = False
) -> dict[str, Array]:
    """The inputs of a chip, from a run of the chips before it on `inputs`. Raises as `run_functional` does."""
    given: list[dict[str, Array]] = []
    for number in range(chip):
        fed = _fed(pipeline, number, inputs, given)
        given.append(run_functional(pipeline.chips[number], fed, check=check).outputs)
    return _fed(pipeline, chip, inputs, given)


def _fed(
    pipeline: ChipPipeline, chip: int, inputs: Mapping[str, Array], given: Sequence[Mapping[str, Array]]
) -> dict[str, Array]:
    """The inputs of a chip in their layout in memory, from the network's inputs and the outputs of earlier chips."""
    mine: dict[str, Array] = {}
    for info in pipeline.chips[chip].inputs:
        feed = pipeline.feeds[chip][info.name]
        value = inputs[feed.name] if feed.chip == NETWORK else given[feed.chip][feed.name]
        stored = round_bf16(value) if info.dtype == BF16 and value.dtype == np.float32 else value
        mine[info.name] = stored.reshape(info.shape)
    return mine


def time_chip_pipeline(pipeline: ChipPipeline, mapped: Sequence[MappedWork | None] = ()) -> list[TimingResult]:
    """The timing of one run of each chip in isolation; `mapped` as from `run_chip_pipeline`."""
    work = mapped or [None] * len(pipeline.chips)
    return [run_timing(exe, mapped=one) for exe, one in zip(pipeline.chips, work, strict=True)]


@dataclass(frozen=True)
class PipelineSchedule:
    """
    The periodic schedule of the chips, in which an input enters every `interval` cycles: chip c processes input n from
    `n * interval + start[c]` for `cycles[c]` cycles, including its copies from and to the host.

    A chip starts its next input only when it has finished the previous one, and when other chips have copied the
    tensors that remain in its memory; therefore the schedule can be repeated without end. If no tensors remain in the
    memories of chips, no schedule in which chips process one input after the other has a shorter interval.
    """

    cycles: tuple[int, ...]
    start: tuple[int, ...]
    fetched: tuple[Mapping[int, int], ...] = ()
    """
    For each chip, by the number of the chip from whose memory it copies tensors: cycles from its start to the end of
    these copies.
    """

    @property
    def interval(self) -> int:
        """Cycles between two inputs, and between two results."""
        begun = enumerate(self.fetched)
        held = (self.start[one] + until - self.start[of] for one, copies in begun for of, until in copies.items())
        return max([*self.cycles, *held])

    @property
    def latency(self) -> int:
        """Cycles from an input to its results."""
        return max(start + cycles for start, cycles in zip(self.start, self.cycles, strict=True))

    def total(self, inputs: int) -> int:
        """Cycles from the first input to the results of the last."""
        return self.latency + (inputs - 1) * self.interval if inputs else 0


def pipeline_schedule(pipeline: ChipPipeline, timings: Sequence[TimingResult]) -> PipelineSchedule:
    """The schedule of a pipeline, from the timing of a run of each chip."""
    cycles = [timing.total_cycles for timing in timings]
    return schedule(pipeline.feeds, cycles, [fetched_by(pipeline, *one) for one in enumerate(timings)])


def fetched_by(pipeline: ChipPipeline, chip: int, timing: TimingResult) -> dict[int, int]:
    """By the number of the chip from whose memory `chip` copies tensors: cycles to the end of its last such copy."""
    found: dict[int, int] = {}
    for source, copy in _fetches(pipeline, chip, timing):
        found[source] = max(found.get(source, 0), copy.end)
    return found


def _fetches(pipeline: ChipPipeline, chip: int, timing: TimingResult) -> Iterator[tuple[int, HostCopy]]:
    """(source chip, copy) of each copy from the memory of another chip in a chip's run."""
    for info in pipeline.chips[chip].inputs:
        feed = pipeline.feeds[chip][info.name]
        if pipeline.stays(feed):
            first, last = info.host_address, info.host_address + info.nbytes
            for copy in timing.copies:
                if copy.to_device and first <= copy.host < last:
                    yield feed.chip, copy


def schedule(
    feeds: Sequence[Mapping[str, Feed]], cycles: Sequence[int], fetched: Sequence[Mapping[int, int]] = ()
) -> PipelineSchedule:
    """
    The schedule, from the sources of each chip's inputs and the cycles of its run: each chip starts as soon as all its
    inputs are complete. `fetched`: see `PipelineSchedule`.
    """
    start: list[int] = []
    for inputs in feeds:
        sources = {feed.chip for feed in inputs.values() if feed.chip != NETWORK}
        start.append(max((start[chip] + cycles[chip] for chip in sources), default=0))
    return PipelineSchedule(tuple(cycles), tuple(start), tuple(fetched))


def stream_cycles(
    pipeline: ChipPipeline, cycles: Sequence[Sequence[int]], fetched: Sequence[Sequence[Mapping[int, int]]] = ()
) -> int:
    """
    Cycles from the first input to the results of the last. Each chip processes one input after the other, as soon as it
    is free, other chips have copied the tensors that remain in its memory, and its inputs are complete. `cycles`: for
    each input, the cycles of the run of each chip; `fetched`: for each input, as in `PipelineSchedule`.
    """
    free = [0] * len(pipeline.chips)
    for number, runs in enumerate(cycles):
        ends = [0] * len(runs)
        for chip, feeds in enumerate(pipeline.feeds):
            ready = max((ends[feed.chip] for feed in feeds.values() if feed.chip != NETWORK), default=0)
            start = max(free[chip], ready)
            free[chip] = ends[chip] = start + runs[chip]
            if fetched and fetched[number]:
                for source, until in fetched[number][chip].items():
                    free[source] = max(free[source], start + until)
    return max(free)


def host_bytes(pipeline: ChipPipeline, when: PipelineSchedule) -> int:
    """
    Bytes of host memory for the tensors of all inputs in the pipeline, and for the temporaries of each chip.

    A tensor's lifetime is from the start of the chip that writes it (an input of the network: from its entry) to the
    end of the last chip that reads it (an output: to the end of the network). Tensors that remain in a chip's memory
    do not count.
    """

    def copies(first: int, last: int) -> int:
        """Number of copies of a tensor with this lifetime that exist at the same time, one per input."""
        return max(1, -(-(last - first) // max(when.interval, 1)))

    ends = [start + cycles for start, cycles in zip(when.start, when.cycles, strict=True)]
    last: dict[Feed, int] = {}
    for number, feeds in enumerate(pipeline.feeds):
        for feed in feeds.values():
            if not pipeline.stays(feed):
                last[feed] = max(last.get(feed, 0), ends[number])
    for name, chip in pipeline.outputs:
        last[Feed(chip, name)] = when.latency
    sizes = {name: info.nbytes for name, info in zip(pipeline.inputs, pipeline.input_tensors(), strict=True)}
    total = 0
    for feed, end in last.items():
        if feed.chip == NETWORK:
            total += sizes[feed.name] * copies(0, end)
        else:
            nbytes = output_of(pipeline.chips[feed.chip], feed.name).nbytes
            total += nbytes * copies(when.start[feed.chip], end)
    # After its tensors, a chip's part of host memory has streamed weights and spilled values.
    for exe in pipeline.chips:
        total += exe.host_bytes - max((info.host_address + info.nbytes for info in exe.tensors), default=0)
    return total


def collect_chips(
    pipeline: ChipPipeline, timings: Sequence[TimingResult], mapped: Sequence[MappedWork | None] = ()
) -> dict[str, Any]:
    """All figures of a run as a JSON-serialisable table: of the pipeline, and under `of_chip` those of each chip."""
    when = pipeline_schedule(pipeline, timings)
    chip = pipeline.chip
    # Each chip counts copies on its own host link; for a copy from another chip, the link of the source is added here.
    fetched = sum(copy.nbytes for one in enumerate(timings) for _, copy in _fetches(pipeline, *one))
    work = mapped or [None] * len(timings)
    each: list[dict[str, Any]] = [
        {
            "number": number,
            "start": when.start[number],
            "utilisation": when.cycles[number] / max(when.interval, 1),
            **collect(exe, timing, one),
        }
        for number, (exe, timing, one) in enumerate(zip(pipeline.chips, timings, work, strict=True))
    ]
    return {
        "chip": chip.name,
        "chips": len(timings),
        "interval_cycles": when.interval,
        "interval_us": when.interval / (chip.clock_ghz * 1e3),
        "latency_cycles": when.latency,
        "latency_us": when.latency / (chip.clock_ghz * 1e3),
        "load_cycles": max(timing.load_cycles for timing in timings),
        "energy_pj": sum(one["energy_pj"]["total"] for one in each) + chip.energy.host_byte * fetched,
        "peak_host": host_bytes(pipeline, when),
        "of_chip": each,
    }
