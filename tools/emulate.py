"""
Target `emulate`: instead of printing a module, compile (or assemble) it, run the binary in the emulator and print the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from .interpret import check_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable


@dataclass(frozen=True)
class EmulateTarget(Target):
    """
    Results of the executable on inputs made from a seed, printed as target `interpret` prints those of the module.

    Options: `chip`, a name or the path of a `.toml` (default: the module's `manycore.chip`); `seed`, `inputs` and
    `precision` as for `interpret`; `cycles=true` also prints the cycles of the run. A module of buffers and
    launches, or of instructions, runs as it is.
    """

    name = "emulate"
    chip: str | None = None
    seed: int = 0
    inputs: Literal["random", "iota"] = "random"
    precision: int = 6
    cycles: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for numbers below 0."""
        check_numbers(self.seed, self.precision)

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """
        Compile, run with all checks, print. Raises InputError without a chip, and the exceptions of compiler and
        emulator.
        """
        from ..analysis.execution.interpret import make_inputs, result_types
        from ..dialects.coreasm.interpreter import lines_named
        from ..emulator.executable.encoded_interface import HostInterface
        from ..emulator.executable.executable import Executable
        from ..formats.sparse.encode import decode
        from .interpret import print_results

        types = result_types(module)
        arrays = make_inputs(module, self.seed, self.inputs)
        found = self._executable(module)
        # By position: the executable numbers unnamed tensors differently.
        interface = HostInterface.of(found)
        given = dict(zip((info.name for info in interface.inputs), arrays.values(), strict=True))
        inputs = list(interface.in_memory(given).values())
        with lines_named(module):
            outputs, cycles = _run_one(found, inputs) if isinstance(found, Executable) else _run_chips(found, inputs)
        named = dict(zip((info.name for info in interface.outputs), outputs, strict=True))
        shown = {**named, **{name: decode(value) for name, value in interface.encoded.unpack(named).items()}}
        print_results(dict(zip(types, shown.values(), strict=True)), types, self.precision, output)
        if self.cycles:
            print(cycles(), file=output)

    def _executable(self, module: ModuleOp) -> Executable | ChipPipeline:
        from ..chips import load_chip
        from ..dialects.manycore import chip_of
        from ..lowering.driver.chips_compilation import ChipsCompilation
        from ..lowering.driver.compile_network import CompileOptions, compile_network
        from ..lowering.linker.read_program import is_program
        from ..lowering.memory_to_coreasm import select_instructions
        from ..lowering.multi_chip.assembled import assembled, is_assembled
        from ..support.errors import InputError

        chip = load_chip(self.chip) if self.chip is not None else chip_of(module)
        if chip is None:
            raise InputError("no chip is given: use -t 'emulate{chip=NAME}', or module attribute manycore.chip")
        if is_program(module):
            select_instructions(module, chip)
        if not is_assembled(module):
            made = compile_network(module.clone(), chip, CompileOptions()).compilation
            return made.pipeline if isinstance(made, ChipsCompilation) else made.executable
        found = assembled(module)
        if found.chip != chip:
            raise InputError(f"the module is for chip '{found.chip.name}': it cannot run on '{chip.name}'")
        return found


Run: TypeAlias = "tuple[list[NDArray[Any]], Callable[[], str]]"
"""The outputs in storage form, and a line about cycles."""


def _run_one(exe: Executable, arrays: Sequence[NDArray[Any]]) -> Run:
    from ..dialects.coreasm.interpreter import run_executable
    from ..emulator.timing.engine import run_timing

    outputs, functional = run_executable(exe, arrays, check=True)
    return outputs, lambda: f"cycles: {run_timing(exe, mapped=functional.mapped).cycles}"


def _run_chips(pipeline: ChipPipeline, arrays: Sequence[NDArray[Any]]) -> Run:
    from ..dialects.coreasm.interpreter import from_storage, to_storage
    from ..emulator.run_chip_pipeline import pipeline_schedule, run_chip_pipeline, time_chip_pipeline

    tensors = pipeline.input_tensors()
    given = {info.name: from_storage(array, info) for info, array in zip(tensors, arrays, strict=True)}
    values = run_chip_pipeline(pipeline, given, check=True)
    outputs = [to_storage(values.outputs[info.name], info) for info in pipeline.output_tensors()]

    def cycles() -> str:
        timings = time_chip_pipeline(pipeline, values.mapped)
        when = pipeline_schedule(pipeline, timings)
        return f"cycles: {when.latency}, one input every {when.interval}"

    return outputs, cycles
