"""The Python API for networks on several chips: run one, or one input after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dialects.coreasm.encoding import TYPES
from ..support.arguments import check_argument
from .describe import described
from .inputs import network_inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.run_chip_pipeline import PipelineSchedule
    from ..emulator.timing.engine import TimingResult
    from ..formats.sparse.encode import Encoded


@dataclass(frozen=True, repr=False)
class PipelineResult:
    """The result of one run on several chips."""

    outputs: dict[str, NDArray[Any]]
    """The outputs by name, as in the model."""
    schedule: PipelineSchedule
    """The start and end of each chip's work in a stream of inputs."""
    stats: dict[str, Any]
    """The figures of `meshloom-run --stats`."""
    encoded: dict[str, Encoded] = field(default_factory=dict[str, "Encoded"])
    """Encoded outputs, as index and values; in `outputs` they are dense."""

    def __repr__(self) -> str:
        outputs = ", ".join(described(name, value.dtype, value.shape) for name, value in self.outputs.items())
        return f"<PipelineResult: {self.cycles:,} cycles, one more every {self.interval:,}; {outputs or 'no outputs'}>"

    @property
    def cycles(self) -> int:
        """Cycles from the input to the outputs, through all chips."""
        return self.schedule.latency

    @property
    def interval(self) -> int:
        """Cycles after which the next input may follow."""
        return self.schedule.interval


@dataclass(frozen=True)
class StreamResult:
    """The result of a stream of inputs."""

    outputs: list[dict[str, NDArray[Any]]]
    """The outputs for each input."""
    cycles: int
    """Cycles from the first input to the last output."""


@dataclass(frozen=True, repr=False)
class CompiledPipeline:
    """A network on several chips that can be run in the emulator."""

    pipeline: ChipPipeline
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    """Facts about the compilation: chips in use, the reason for their number, the log."""

    def __repr__(self) -> str:
        from ..emulator.executable.encoded_interface import HostInterface

        inputs, outputs = (
            ", ".join(described(one.name, TYPES[one.dtype].name, one.shape) for one in tensors)
            for tensors in (HostInterface.of(self.pipeline).inputs, HostInterface.of(self.pipeline).outputs)
        )
        chips = self.pipeline.chips
        return f"<CompiledPipeline on {len(chips)} chips like {chips[0].chip.name}: {inputs} -> {outputs}>"

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs by name."""
        from ..emulator.executable.encoded_interface import HostInterface

        return {one.name: tuple(one.shape) for one in HostInterface.of(self.pipeline).inputs}

    @cached_property
    def timings(self) -> list[TimingResult]:
        """The timing of each chip; cycles of sparse instructions are the compiler's estimates."""
        from ..emulator.run_chip_pipeline import time_chip_pipeline

        return time_chip_pipeline(self.pipeline)

    @property
    def schedule(self) -> PipelineSchedule:
        """The start and end of each chip's work."""
        from ..emulator.run_chip_pipeline import pipeline_schedule

        return pipeline_schedule(self.pipeline, self.timings)

    def run(self, inputs: Mapping[str, NDArray[Any] | Encoded], check: bool = False) -> PipelineResult:
        """
        Run on `inputs` (by name), as `CompiledNetwork.run` takes them. With `check`, races and reads of unwritten
        memory are errors, too.

        Raises InputError for inputs that are missing, unknown or of another shape or type, EmulationError for a program
        with an illegal access.
        """
        from ..emulator.executable.encoded_interface import HostInterface
        from ..emulator.run_chip_pipeline import (
            collect_chips,
            pipeline_schedule,
            run_chip_pipeline,
            time_chip_pipeline,
        )

        interface = HostInterface.of(self.pipeline)
        arrays = interface.in_memory(network_inputs(interface, inputs))
        values = run_chip_pipeline(self.pipeline, arrays, check)
        depends = any(one is not None for one in values.mapped)
        timings = time_chip_pipeline(self.pipeline, values.mapped) if depends else self.timings
        when = pipeline_schedule(self.pipeline, timings)
        outputs, encoded = interface.read(values.outputs, arrays)
        return PipelineResult(outputs, when, collect_chips(self.pipeline, timings, values.mapped), encoded)

    def run_stream(self, inputs: Sequence[Mapping[str, NDArray[Any]]], check: bool = False) -> StreamResult:
        """
        Run on a sequence of inputs, pipelined over the chips: each input starts as early as the chips allow, while
        later chips work on earlier inputs. Raises the exceptions of `run`.
        """
        from ..emulator.run_chip_pipeline import stream_cycles

        check_argument("inputs", inputs, (Sequence,), "a list of mappings from the names of inputs to arrays")
        results = [self.run(one, check) for one in inputs]
        schedules = [result.schedule for result in results]
        cycles = stream_cycles(self.pipeline, [one.cycles for one in schedules], [one.fetched for one in schedules])
        return StreamResult([result.outputs for result in results], cycles)

    def save(self, path: str | Path) -> None:
        """Write all chips' executables as one `.mlx`; an incomplete file is never left behind."""
        from ..emulator.executable.chip_pipeline_file import write_chip_pipeline

        check_argument("path", path, (str, PathLike), "the path of the .mlx file to write")
        write_chip_pipeline(self.pipeline, path)
