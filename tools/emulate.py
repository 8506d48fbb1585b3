"""Target `emulate`: instead of printing a module, compile it, run the binary in the emulator and print the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from .interpret import check_numbers


@dataclass(frozen=True)
class EmulateTarget(Target):
    """
    Results of the executable on inputs made from a seed, printed as target `interpret` prints those of the module.

    Options: `chip`, a name or the path of a `.toml` (default: the module's `manycore.chip`); `seed`, `inputs` and
    `precision` as for `interpret`; `cycles=true` also prints how long the cores took.
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
        from ..chips import load_chip
        from ..dialects.manycore import chip_of
        from ..emulator.functional import run_functional
        from ..emulator.timing import run_timing
        from ..lowering.pipeline import compile_module
        from ..support.errors import InputError
        from .interpret import print_results

        chip = load_chip(self.chip) if self.chip is not None else chip_of(module)
        if chip is None:
            raise InputError("no chip is given: use -t 'emulate{chip=NAME}', or module attribute manycore.chip")
        types = result_types(module)
        arrays = make_inputs(module, self.seed, self.inputs)
        executable = compile_module(module.clone(), chip).executable
        # By position: where the network gives no names, the executable numbers its tensors in its own way.
        given = {tensor.name: array for tensor, array in zip(executable.inputs, arrays.values(), strict=True)}
        functional = run_functional(executable, given, check=True)
        outputs = functional.outputs
        results = dict(zip(types, (outputs[tensor.name] for tensor in executable.outputs), strict=True))
        print_results(results, types, self.precision, output)
        if self.cycles:
            print(f"cycles: {run_timing(executable, mapped=functional.mapped).cycles}", file=output)
