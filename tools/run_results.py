"""Results of `meshloom-run`, on one chip or several: values, figures, traces and reports."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .chips import file_of_chip, run_summary
from .report.summary import summary

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from ..emulator.functional.record_results import ResultRecorder
    from ..emulator.machine.mapped_work import MappedWork
    from ..emulator.timing.engine import TimingResult
    from ..formats.sparse.encode import Encoded


@dataclass
class Results:
    """All results to write or print."""

    outputs: dict[str, NDArray[Any]]
    stats: dict[str, Any]
    summary: str
    encoded: dict[str, Encoded] = field(default_factory=dict[str, "Encoded"])
    """Encoded outputs; in `outputs` they are dense."""
    files: dict[Path, bytes | str] = field(default_factory=dict[Path, "bytes | str"])
    """Traces and reports by the name of the file."""
    recorders: tuple[ResultRecorder, ...] = ()
    """Recorded results of tasks, by chip."""
    inputs: tuple[Mapping[str, NDArray[Any]], ...] = ()
    """The inputs of each chip, in storage form."""

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The recorded intermediate tensors, by name."""
        return {name: value for one in self.recorders for name, value in one.tensors().items()}


def records(options: argparse.Namespace) -> bool:
    """Whether the options request intermediate tensors."""
    return options.save_tensors is not None or options.check_tensors or options.validate_tensors


def recorders_of(
    chips: Sequence[Executable], options: argparse.Namespace, modules: Sequence[ModuleOp]
) -> tuple[ResultRecorder, ...]:
    """
    Recorders of the results of tasks, one for each chip; none if no option requests them. `modules`: those of
    `--validate=tensors`, one for each chip.
    """
    if not records(options):
        return ()
    from ..emulator.functional.record_results import ResultRecorder
    from .validate_tensors import recorder_of

    if options.validate_tensors:
        return tuple(recorder_of(exe, module) for exe, module in zip(chips, modules, strict=True))
    return tuple(ResultRecorder(exe) for exe in chips)


def recorded_tensors(target: Executable | ChipPipeline, inputs: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Intermediate tensors of a run, by name; none for executables without their locations."""
    from ..emulator.executable.encoded_interface import HostInterface
    from ..emulator.executable.executable import Executable
    from ..emulator.functional.engine import run_functional
    from ..emulator.functional.record_results import ResultRecorder
    from ..emulator.run_chip_pipeline import run_chip_pipeline
    from ..support.errors import InputError

    chips = [target] if isinstance(target, Executable) else target.chips
    arrays = HostInterface.of(target).in_memory(inputs)
    try:
        recorders = [ResultRecorder(exe) for exe in chips]
    except InputError:
        return {}
    if isinstance(target, Executable):
        run_functional(target, arrays, observer=recorders[0])
    else:
        run_chip_pipeline(target, arrays, observers=recorders)
    return {name: value for one in recorders for name, value in one.tensors().items()}


def run(
    target: Executable | ChipPipeline,
    inputs: Mapping[str, Any],
    options: argparse.Namespace,
    progress: Callable[[str], None],
    modules: Sequence[ModuleOp] = (),
) -> Results:
    """Run on one chip or on several; `options` as `meshloom-run` takes them, `modules` as `recorders_of` does."""
    from ..emulator.executable.executable import Executable

    if isinstance(target, Executable):
        return run_one(target, inputs, options, progress, modules)
    return run_chips(target, inputs, options, progress, modules)


def run_one(
    exe: Executable,
    inputs: Mapping[str, Any],
    options: argparse.Namespace,
    progress: Callable[[str], None],
    modules: Sequence[ModuleOp] = (),
) -> Results:
    """As `run`, on one chip."""
    from ..emulator.executable.encoded_interface import HostInterface
    from ..emulator.functional.engine import run_functional
    from ..emulator.reports.stats import collect

    progress("compute")
    interface = HostInterface.of(exe)
    recorders = recorders_of([exe], options, modules)
    observer = recorders[0] if recorders else None
    arrays = interface.in_memory(inputs)
    functional = run_functional(exe, arrays, check=options.validate, observer=observer)
    outputs, encoded = interface.read(functional.outputs, arrays)
    progress("time")
    timing = _timed(exe, options, functional.mapped)
    stats = collect(exe, timing, functional.mapped)
    results = Results(outputs, stats, summary(options.executable.name, exe, stats), encoded, recorders=recorders)
    results.inputs = (arrays,)
    _explain(results, exe, timing, functional.mapped, options, results.stats)
    _add_files(results, _Run(exe, timing, stats, functional.mapped), options, lambda path: path)
    return results


def run_chips(
    pipeline: ChipPipeline,
    inputs: Mapping[str, Any],
    options: argparse.Namespace,
    progress: Callable[[str], None],
    modules: Sequence[ModuleOp] = (),
) -> Results:
    """As `run`, on several chips; a trace and a report for each."""
    from ..emulator.executable.encoded_interface import HostInterface
    from ..emulator.run_chip_pipeline import collect_chips, run_chip_pipeline

    progress("compute")
    interface = HostInterface.of(pipeline)
    recorders = recorders_of(pipeline.chips, options, modules)
    arrays = interface.in_memory(inputs)
    values = run_chip_pipeline(pipeline, arrays, options.validate, recorders)
    outputs, encoded = interface.read(values.outputs, arrays)
    progress("time")
    timings = [_timed(exe, options, mapped) for exe, mapped in zip(pipeline.chips, values.mapped, strict=True)]
    stats = collect_chips(pipeline, timings, values.mapped)
    text = run_summary(options.executable.name, pipeline, stats)
    results = Results(outputs, stats, text, encoded, recorders=recorders, inputs=values.inputs)
    for number, (exe, timing, mapped) in enumerate(zip(pipeline.chips, timings, values.mapped, strict=True)):

        def file(path: Path, number: int = number) -> Path:
            return file_of_chip(path, number)

        _explain(results, exe, timing, mapped, options, stats["of_chip"][number], f"chip {number}: ")
        _add_files(results, _Run(exe, timing, stats["of_chip"][number], mapped), options, file)
    return results


@dataclass(frozen=True)
class _Run:
    """Of one chip."""

    exe: Executable
    timing: TimingResult
    stats: dict[str, Any]
    mapped: MappedWork | None


def _add_files(results: Results, run: _Run, options: argparse.Namespace, file: Callable[[Path], Path]) -> None:
    """The trace and the report of a chip's run; `file` returns the chip's own path for a requested one."""
    if options.trace is not None:
        from ..emulator.reports.trace import trace_content

        results.files[file(options.trace)] = trace_content(run.exe, run.timing, options.trace)
    if options.report is not None:
        from .report.run_report import run_facts, run_report

        facts = run_facts(run.exe, run.timing, run.stats, run.mapped)
        results.files[file(options.report)] = run_report(options.executable.name, facts)


def _explain(
    results: Results,
    exe: Executable,
    timing: TimingResult,
    mapped: MappedWork | None,
    options: argparse.Namespace,
    stats: dict[str, Any],
    chip: str = "",
) -> None:
    """Add the limits of a chip's run to the summary and the figures, if requested."""
    if options.explain:
        from ..emulator.reports.explain import explain

        explanation = explain(exe, timing)
        results.summary += f"\n{chip}{explanation}"
        stats["explanation"] = explanation.figures()
    if options.what_if:
        from ..emulator.reports.what_if import what_if, what_if_text

        found = what_if(exe, mapped)
        results.summary += f"\n{chip}{what_if_text(timing.cycles, found)}"
        stats["what_if"] = [asdict(one) for one in found]


def _timed(exe: Executable, options: argparse.Namespace, mapped: MappedWork | None) -> TimingResult:
    """Run the timing engine, with a trace if requested; a report has no trace of a run that is too long."""
    from ..emulator.timing.engine import run_timing

    traced = options.trace is not None or options.explain
    if options.report is not None and not traced:
        from .report.trace_sums import is_traceable

        traced = is_traceable(exe)
    return run_timing(exe, trace=traced, mapped=mapped)
