"""The Python API: compile a model, run it, inspect the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

from ..chips import Chip, chip_names, load_chip
from ..dialects.coreasm.encoding import TYPES
from ..support.arguments import check_argument, check_names
from ..support.errors import InputError
from ..support.garbage import rare_collections
from ..support.plugins import load_plugins
from ..support.sizes import UpTo
from .describe import described
from .inputs import network_inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass, PassPipeline

    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from ..emulator.machine.mapped_work import MappedWork
    from ..emulator.reports.explain import Explanation
    from ..emulator.reports.what_if import WhatIf
    from ..emulator.timing.engine import TimingResult
    from ..formats.sparse.encode import Encoded
    from ..lowering.driver.chips_compilation import ChipsCompilation
    from ..lowering.driver.compile_module import Compilation
    from ..lowering.driver.compile_network import CompileOptions
    from ..lowering.offload.compile_launches import Budget
    from ..lowering.options.subgraph_options import SubgraphOptions
    from .chips_api import CompiledPipeline


@dataclass(frozen=True, repr=False)
class RunResult:
    """
    The result of one run. Notebooks display it with figures and a timeline.

        result = network.run({"input": array})
        result.outputs["scores"], result.cycles      # an array, a number
        result.tensors["relu1"]                      # a value inside the network
        print(result.explain())                      # composition of the cycles
    """

    outputs: dict[str, NDArray[Any]]
    """The outputs by name, as in the model."""
    timing: TimingResult
    stats: dict[str, Any]
    """The figures of `meshloom-run --stats`."""
    encoded: dict[str, Encoded] = field(default_factory=dict[str, "Encoded"])
    """Encoded outputs, as index and values; in `outputs` they are dense."""

    executable: Executable | None = field(default=None, repr=False, compare=False)
    """The executable; None for results that do not come from a run."""
    mapped: MappedWork | None = field(default=None, repr=False, compare=False)
    """Cycles of sparse instructions, which depend on the values."""
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    """The inputs in storage form."""

    @property
    def cycles(self) -> int:
        """Cycles from the start of the first launch to the end of the last."""
        return self.timing.cycles

    @cached_property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """
        Intermediate tensors by name, as in the model, in the order in which they are computed: those of which all
        elements are in memory at the end of the task that computes them. The first access runs the network again.
        Raises InputError if the executable is not known or has no addresses of its tensors.
        """
        from ..emulator.functional.engine import run_functional
        from ..emulator.functional.record_results import ResultRecorder

        exe = self._known()
        recorder = ResultRecorder(exe)
        run_functional(exe, self.inputs, observer=recorder)
        return recorder.tensors()

    def __repr__(self) -> str:
        outputs = ", ".join(described(name, value.dtype, value.shape) for name, value in self.outputs.items())
        return f"<RunResult: {self.cycles:,} cycles; {outputs or 'no outputs'}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from ..emulator.timing.engine import run_timing
        from .report.notebook import result_card
        from .report.run_report import run_facts
        from .report.trace_sums import is_traceable

        exe = self._known()
        timing = run_timing(exe, trace=True, mapped=self.mapped) if is_traceable(exe) else self.timing
        return result_card(run_facts(exe, timing, self.stats, self.mapped), self.outputs)

    def explain(self) -> Explanation:
        """
        Composition of the cycles: the critical path, and the operations with the most cycles above their bound; `print`
        shows it as `meshloom-run --explain` does. Raises InputError if the executable is not known.
        """
        from ..emulator.reports.explain import explain

        exe = self._known()
        return explain(exe, self._timed(exe))

    def what_if(self) -> list[WhatIf]:
        """
        Cycles of the same program with one number of the chip changed, fewest first (`meshloom-run --what-if`). Raises
        InputError if the executable is not known.
        """
        from ..emulator.reports.what_if import what_if

        return what_if(self._known(), self.mapped)

    def _known(self) -> Executable:
        if self.executable is None:
            raise InputError("this result has no executable: use a result that run() returned")
        return self.executable

    def _timed(self, exe: Executable) -> TimingResult:
        from ..emulator.timing.engine import run_timing

        return run_timing(exe, trace=True, mapped=self.mapped)


@dataclass(frozen=True, repr=False)
class CompiledNetwork:
    """
    An executable that can be run in the emulator. Notebooks show it with its tasks and its cycles.

        network = meshloom.compile("model.onnx", chip="edge")
        network.inputs                               # {"input": (1, 3, 224, 224)}
        result = network.run({"input": array})
        network.save("model.mlx")
    """

    executable: Executable
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    """Facts about the compilation: stages and their seconds, memory, tilings."""

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs by name."""
        from ..emulator.executable.encoded_interface import HostInterface

        return {one.name: tuple(one.shape) for one in HostInterface.of(self.executable).inputs}

    def __repr__(self) -> str:
        from ..emulator.executable.encoded_interface import HostInterface

        exe = self.executable
        inputs, outputs = (
            ", ".join(described(one.name, TYPES[one.dtype].name, one.shape) for one in tensors)
            for tensors in (HostInterface.of(exe).inputs, HostInterface.of(exe).outputs)
        )
        return f"<CompiledNetwork for {exe.chip.name}, {len(exe.source_names):,} tasks: {inputs} -> {outputs}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from ..emulator.executable.task_results import NOTE, task_results
        from .report.notebook import network_card
        from .report.tasks import task_notes

        exe = self.executable
        return network_card(exe, self._stats, task_notes(exe), task_results(exe) if NOTE in exe.notes else [])

    @cached_property
    def timing(self) -> TimingResult:
        """
        Cycles. Programs have no data-dependent branches, so one run of the timing engine is valid for all inputs. Only
        cycles of sparse instructions depend on values: here they are the compiler's estimates; the timing that `run`
        returns has the counted cycles.
        """
        from ..emulator.timing.engine import run_timing

        return run_timing(self.executable)

    @cached_property
    def _stats(self) -> dict[str, Any]:
        from ..emulator.reports.stats import collect

        return collect(self.executable, self.timing)

    def run(self, inputs: Mapping[str, NDArray[Any] | Encoded], check: bool = False) -> RunResult:
        """
        Run on `inputs` (by name): arrays, which are dense also for encoded inputs, or encoded tensors
        (`RunResult.encoded` of another run). With `check`, races and reads of unwritten memory are errors, too.

        Raises InputError for inputs that are missing, unknown or of another shape or type, EmulationError for a program
        with an illegal access.
        """
        from ..emulator.executable.encoded_interface import HostInterface
        from ..emulator.functional.engine import run_functional
        from ..emulator.reports.stats import collect
        from ..emulator.timing.engine import depends_on_values, run_timing

        interface = HostInterface.of(self.executable)
        arrays = interface.in_memory(network_inputs(interface, inputs))
        functional = run_functional(self.executable, arrays, check=check)
        outputs, encoded = interface.read(functional.outputs, arrays)
        if not depends_on_values(self.executable):
            return RunResult(outputs, self.timing, deepcopy(self._stats), encoded, self.executable, inputs=arrays)
        timing = run_timing(self.executable, mapped=functional.mapped)
        stats = collect(self.executable, timing, functional.mapped)
        return RunResult(outputs, timing, stats, encoded, self.executable, functional.mapped, arrays)

    def save(self, path: str | Path) -> None:
        """Write the executable (`.mlx`); an incomplete file is never left behind."""
        from ..emulator.executable.executable import write_executable

        check_argument("path", path, (str, PathLike), "the path of the .mlx file to write")
        write_executable(self.executable, Path(path))


Model: TypeAlias = "str | Path | bytes | ModelProto | ModuleOp"


@overload
def compile(
    model: Model,
    chip: str | Chip = "edge",
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    progress: Callable[[str], None] | None = None,
    subgraphs: SubgraphOptions | None = None,
    budget: float | Budget | None = None,
    *,
    values: Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    sparse: bool = False,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    effort: str = "default",
    order: str = "searched",
    stop_at: float | None = None,
    placement: str = "searched",
    passes: str | Sequence[ModulePass] = (),
    pipeline: str | Sequence[ModulePass] | None = None,
    plugins: Sequence[str] = (),
) -> CompiledNetwork: ...


@overload
def compile(
    model: Model,
    chip: str | Chip = "edge",
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    progress: Callable[[str], None] | None = None,
    subgraphs: SubgraphOptions | None = None,
    budget: float | Budget | None = None,
    *,
    chips: int,
    values: Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    sparse: bool = False,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    effort: str = "default",
    order: str = "searched",
    stop_at: float | None = None,
    placement: str = "searched",
    passes: str | Sequence[ModulePass] = (),
    pipeline: str | Sequence[ModulePass] | None = None,
    plugins: Sequence[str] = (),
) -> CompiledPipeline: ...


@rare_collections()
def compile(
    model: Model,
    chip: str | Chip = "edge",
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    progress: Callable[[str], None] | None = None,
    subgraphs: SubgraphOptions | None = None,
    budget: float | Budget | None = None,
    chips: int | None = None,
    values: Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    sparse: bool = False,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    effort: str = "default",
    order: str = "searched",
    stop_at: float | None = None,
    placement: str = "searched",
    passes: str | Sequence[ModulePass] = (),
    pipeline: str | Sequence[ModulePass] | None = None,
    plugins: Sequence[str] = (),
) -> CompiledNetwork | CompiledPipeline:
    """
    Compile a network for a chip.

        network = meshloom.compile("model.onnx", chip="edge", shapes={"input": (1, 3, 224, 224)})

    Model and target:

    - `model`: an ONNX model (path, bytes or protobuf), or a module at any level, which is compiled from there on.
    - `chip`: a name, the path of a `.toml`, or a `Chip`.
    - `shapes`: of inputs with symbolic dimensions; a batch without a size is 1 otherwise, with a MeshloomWarning. The
      size `"1..64"` of one axis of an input stands for any length in a run.
    - `values`: inputs that are replaced by constants.
    - `max_steps`: the largest number of steps of dynamic loops.

    How:

    - `subgraphs`: how the network is compiled in parts; by default, it is split where it does not fit
      (docs/capacity.md).
    - `budget`: the largest device memory in use, in bytes, or up to 1 as a share of the network's peak; or a `Budget`,
      which also lists the allowed kinds of offloading (docs/memory-saving.md).
    - `chips`: the largest number of such chips for the stages of a pipeline, each within the budget (docs/chips.md).
    - `sparse`: encode weights that have zeros where that is faster; with `calibration`, values for the inputs, zeros of
      activations are left out, too (docs/sparse.md).
    - `effort` of the search: fast (no emulation), default or high.
    - `order` of tasks: program, searched (taken where it is faster) or a method by which to search; the first variant
      of a part that takes `stop_at` cycles or fewer is taken (docs/orders.md).
    - `placement` of tiles: searched, or by a method of pass `manycore-place` alone (docs/mapping.md).
    - `passes`, the text of `-p` or objects, run before the compiler's own (docs/extend.md); with `sparse`, weights are
      encoded before those that make tasks or subgraphs.
    - `pipeline`: all passes, instead of the compiler's own, as `meshloom-compile --print-pipeline` prints them; they
      end at the level of instructions, and take the place of the options above.
    - `plugins`: files, folders of packages or modules that add passes, operators, chips or methods (docs/plugins.md).
    - `progress`: called with the name of each stage as it begins.

    Raises InputError for arguments of a wrong type or that do not go together, and for models and chips that cannot be
    used, MeshloomError if the network does not fit the chip or a pass fails.
    """
    check_argument("plugins", plugins, (list, tuple), "a list of files or names of modules")
    load_plugins(plugins)
    if pipeline is not None:
        _check_alone(
            subgraphs=subgraphs, budget=budget, chips=chips, sparse=sparse or None, calibration=calibration,
            stop_at=stop_at, passes=passes or None, effort=None if effort == "default" else effort,
            order=None if order == "searched" else order, placement=None if placement == "searched" else placement,
        )  # fmt: skip
        passes = pipeline
    progress = progress or _silent
    compiler = _Compiler(_chip(chip), chip, calibration, progress)
    _check_arguments(progress, subgraphs, budget, chips)
    given = _pipeline(passes)
    check_argument("max_steps", max_steps, (int, type(None)), "a number of steps")
    fixed = check_names("values", values or {}, "a mapping to numbers")
    module = _module(model, _shapes(shapes), fixed, progress, max_steps)
    from ..lowering.driver.compile_network import CompileOptions

    asked = CompileOptions(_search(subgraphs, effort, order, stop_at, placement), _limit(budget), chips, sparse)
    encoded = given is not None and compiler.apply(given, module, asked)
    if pipeline is not None:
        return compiler.executable_of(module)
    return compiler.compile(module, asked, encoded)


@dataclass(frozen=True)
class _Compiler:
    """The compilation of a module for a chip."""

    chip: Chip
    given: str | Chip
    """The chip as it was given."""
    calibration: Mapping[str, NDArray[Any]] | None
    progress: Callable[[str], None]

    def apply(self, pipeline: PassPipeline, module: ModuleOp, asked: CompileOptions) -> bool:
        """Apply passes. Returns whether weights were encoded between two of them."""
        from .pass_pipeline import apply_passes

        if not asked.sparse:
            apply_passes(pipeline, module, self.progress)
            return False
        from ..lowering.driver.search_options import SearchOptions
        from .encoding_passes import EncodeAsCompiled, encoding_passes

        name = _name_of(self.given)
        encode = EncodeAsCompiled(
            SearchOptions(name), lambda module: self.chip, asked, self._inputs, self.progress, lambda line: None
        )
        unnamed = self.chip if name is None else None
        apply_passes(pipeline, module, self.progress, before_tasks=encoding_passes(encode, unnamed))
        return bool(encode.found)

    def executable_of(self, module: ModuleOp) -> CompiledNetwork | CompiledPipeline:
        """
        The executables that result from a complete pipeline. Raises InputError unless the module is at the level of
        instructions and for the chip.
        """
        from ..emulator.executable.executable import Executable
        from ..lowering.multi_chip.assembled import assembled, is_assembled

        if not is_assembled(module):
            raise InputError("the pipeline does not end at level 'coreasm': its last pass must be memory-to-coreasm")
        made = assembled(module)
        one = made if isinstance(made, Executable) else made.chips[0]
        if one.chip != self.chip:
            raise InputError(
                f"the pipeline names chip '{one.chip.name}', option chip is '{self.chip.name}': give the same chip"
            )
        return _of(made)

    def compile(self, module: ModuleOp, asked: CompileOptions, encoded: bool) -> CompiledNetwork | CompiledPipeline:
        """The executables of a module at any level; `encoded`: its weights are encoded already."""
        from ..lowering.driver.compile_function import Compilation
        from ..lowering.driver.compile_network import compile_network
        from ..lowering.linker.read_program import is_program
        from ..lowering.memory_to_coreasm import select_instructions
        from ..lowering.multi_chip.assembled import assembled, is_assembled

        needs_encoding = asked.sparse and not encoded
        if needs_encoding and (is_program(module) or is_assembled(module)):
            from ..lowering.driver.compile_sparse import check_operators

            check_operators(module)
        if is_program(module):
            select_instructions(module, self.chip)
        if is_assembled(module):
            return _of(assembled(module))
        calibration = None if encoded else self._inputs(module)
        asked = replace(asked, sparse=needs_encoding, calibration=calibration)
        compilation = compile_network(module, self.chip, asked, self.progress).compilation
        return _on_chip(compilation) if isinstance(compilation, Compilation) else _on_chips(compilation)

    def _inputs(self, module: ModuleOp) -> dict[str, NDArray[Any]] | None:
        """The input values for calibration; None if none were given."""
        from ..lowering.driver.calibration import calibration_values

        return None if self.calibration is None else calibration_values(module, self.calibration)


def _search(
    subgraphs: SubgraphOptions | None, effort: str, order: str, stop_at: float | None, placement: str
) -> SubgraphOptions:
    """The options of the search. Raises InputError for unknown efforts and methods."""
    from ..lowering.options.effort import find_effort, with_order, with_placement
    from ..lowering.options.subgraph_options import SubgraphOptions

    options = SubgraphOptions() if subgraphs is None else subgraphs
    if effort != "default":
        options = replace(options, effort=find_effort(effort))
    if order != "searched" or stop_at is not None:
        options = replace(options, effort=with_order(options.effort, order, stop_at))
    if placement != "searched":
        options = replace(options, effort=with_placement(options.effort, placement))
    return options


def _on_chip(compilation: Compilation) -> CompiledNetwork:
    """A network on one chip, with facts about its compilation."""
    report: dict[str, Any] = {
        "tasks": compilation.tasks,
        "subgraphs": len(compilation.parts),
        "log": compilation.log.lines(),
    }
    if compilation.saving is not None:
        from ..lowering.offload.figures import saving_figures

        report["memory"] = saving_figures(compilation.saving)
    return CompiledNetwork(compilation.executable, report)


def _silent(stage: str) -> None:
    """Ignores the stage."""


def _check_alone(**options: object) -> None:
    """Raises InputError for options of `compile` that cannot be combined with a pipeline."""
    for name, value in options.items():
        if value is not None:
            raise InputError(
                f"pipeline replaces the option {name}: leave out {name}, or give passes instead of a pipeline"
            )


def _chip(chip: object) -> Chip:
    check_argument("chip", chip, (str, PathLike, Chip), "the name of a chip, a path of a .toml file, or a Chip")
    return chip if isinstance(chip, Chip) else load_chip(str(chip))


def _shapes(shapes: object) -> dict[str, tuple[int, ...]]:
    """The shapes as tuples of int. Raises InputError for anything else."""
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in check_names("shapes", {} if shapes is None else shapes, "a mapping to shapes").items():
        try:
            found[name] = tuple(_size(size) for size in shape)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the shape of {name!r} is {shape!r}, expected integers such as (1, 3, 224, 224), or '1..64' for a "
                "length"
            ) from error
        if any(size < 0 for size in found[name]):
            raise InputError(f"the shape of {name!r} is {shape!r}: a size is negative")
    return found


def _size(size: object) -> int:
    """A size, or the range of sizes of a text. Raises TypeError or ValueError."""
    return size if isinstance(size, UpTo) else UpTo.parse(size) if isinstance(size, str) else index(cast("Any", size))


def _limit(budget: float | Budget | None) -> Budget | None:
    if not isinstance(budget, int | float):
        return budget
    from ..lowering.offload.compile_launches import Budget

    return Budget(budget)


def _check_arguments(progress: object, subgraphs: object, budget: object, chips: object) -> None:
    """Raises InputError for options of `compile` with a wrong type."""
    if not callable(progress):
        raise InputError(
            f"progress is of type {type(progress).__name__}, expected a function that takes the name of a stage"
        )
    if subgraphs is not None:
        from ..lowering.options.subgraph_options import SubgraphOptions

        check_argument("subgraphs", subgraphs, (SubgraphOptions,), "SubgraphOptions")
    if budget is not None:
        from ..lowering.offload.compile_launches import Budget

        check_argument("budget", budget, (int, float, Budget), "bytes, a share up to 1, or a Budget")
    check_argument("chips", chips, (int,), "a number of chips", none=True)


def _pipeline(passes: object) -> PassPipeline | None:
    """Passes to run first; None if there are none. Raises InputError for an object that is not a pass."""
    check_argument("passes", passes, (str, Sequence), "text as for -p, or a list of passes")
    if isinstance(passes, str):
        from .pass_pipeline import read_passes
        from .universe import all_passes

        return read_passes(passes, all_passes()) if passes.strip() else None
    from xdsl.passes import ModulePass, PassPipeline

    given = tuple(cast("Sequence[ModulePass]", passes))
    for one in given:
        check_argument("an element of passes", one, (ModulePass,), "a pass: an object, not its class")
    return PassPipeline(given) if given else None


def _name_of(chip: str | Chip) -> str | None:
    """The name or the file by which a module refers to a chip; None if the chip has neither."""
    if not isinstance(chip, Chip):
        return str(chip)
    return chip.name if chip.name in chip_names() and load_chip(chip.name) == chip else None


def _module(
    model: object,
    shapes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, Any],
    progress: Callable[[str], None],
    most_steps: int | None,
) -> ModuleOp:
    """The network as a new module. Raises InputError for an object that is not a network."""
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

    expected = "the path of an .onnx file, its bytes, an onnx.ModelProto or a module"
    check_argument("model", model, (str, PathLike, bytes, ModelProto, ModuleOp), expected)
    if isinstance(model, ModuleOp):
        if shapes or values or most_steps is not None:
            raise InputError("shapes, values and max_steps are for ONNX models: a module declares its inputs")
        return model.clone()
    from ..frontend.onnx_import import import_onnx

    progress("import")
    return import_onnx(cast("Any", model), shapes, values, most_steps=most_steps)


def _on_chips(compilation: ChipsCompilation) -> CompiledPipeline:
    from ..lowering.offload.figures import saving_figures
    from .chips_api import CompiledPipeline

    report: dict[str, Any] = {"chips": len(compilation.chips), "note": compilation.note, "log": compilation.log.lines()}
    saved = [saving_figures(one.saving) for one in compilation.chips if one.saving is not None]
    if saved:
        report["memory"] = saved
    return CompiledPipeline(compilation.pipeline, report)


def load(path: str | Path) -> CompiledNetwork | CompiledPipeline:
    """Read an executable, for one chip or for several. Raises InputError if it is damaged or of another version."""
    check_argument("path", path, (str, PathLike), "the path of an .mlx file")
    from ..emulator.executable.chip_pipeline_file import read_any

    return _of(read_any(path))


def _of(found: Executable | ChipPipeline) -> CompiledNetwork | CompiledPipeline:
    from ..emulator.executable.executable import Executable
    from .chips_api import CompiledPipeline

    return CompiledNetwork(found) if isinstance(found, Executable) else CompiledPipeline(found)
