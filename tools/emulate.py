"""
Target `emulate`: instead of printing a module, compile (or assemble) it, run the binary in the emulator and print the
results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from .interpret import check_numbers

if TYPE_CHECKING:
    from ..emulator.executable import Executable


@dataclass(frozen=True)
class EmulateTarget(Target):
    """
    Results of the executable on inputs made from a seed, printed as target `interpret` prints those of the module.

    Options: `chip`, a name or the path of a `.toml` (default: the module's `manycore.chip`); `seed`, `inputs` and
    `precision` as for `interpret`; `cycles=true` also prints how long the cores took. A module of buffers and
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
        """Compile, run with all checks, print. Raises InputError without a chip, else as compiler and emulator do."""
        from ..analysis.interpret import make_inputs, result_types
        from ..dialects.coreasm.interpreter import lines_named, run_executable
        from ..emulator.timing import run_timing
        from .interpret import print_results

        types = result_types(module)
        arrays = make_inputs(module, self.seed, self.inputs)
        executable = self._executable(module)
        # By position: where the network gives no names, the executable numbers its tensors in its own way.
        with lines_named(module):
            outputs, functional = run_executable(executable, list(arrays.values()), check=True)
        print_results(dict(zip(types, outputs, strict=True)), types, self.precision, output)
        if self.cycles:
            print(f"cycles: {run_timing(executable, mapped=functional.mapped).cycles}", file=output)

    def _executable(self, module: ModuleOp) -> Executable:
        from ..chips import load_chip
        from ..dialects.coreasm.interpreter import is_executable
        from ..dialects.manycore import chip_of
        from ..lowering.coreasm_to_executable import coreasm_to_executable
        from ..lowering.pipeline import compile_module
        from ..lowering.read_program import is_program, read_program
        from ..support.errors import InputError

        chip = load_chip(self.chip) if self.chip is not None else chip_of(module)
        if chip is None:
            raise InputError("no chip is given: use -t 'emulate{chip=NAME}', or module attribute manycore.chip")
        if is_program(module):
            return read_program(module, chip)
        if not is_executable(module):
            return compile_module(module.clone(), chip).executable
        executable = coreasm_to_executable(module)
        if executable.chip != chip:
            raise InputError(f"the module is for chip '{executable.chip.name}': it cannot run on '{chip.name}'")
        return executable
