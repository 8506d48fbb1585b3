"""Target `interpret`: instead of printing a module, run its `@main` and print the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target


@dataclass(frozen=True)
class InterpretTarget(Target):
    """
    Results of `@main` on inputs made from a seed, one `name: type = values` each.

    Options: `seed` of the random inputs; `inputs=iota` for small whole numbers instead; `precision`, digits of floats.
    """

    name = "interpret"
    seed: int = 0
    inputs: Literal["random", "iota"] = "random"
    precision: int = 6

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Run and print. Raises MeshloomError as the interpreter does."""
        import numpy as np

        from ..analysis.interpret import make_inputs, numbers, result_types, run_main

        types = result_types(module)
        for name, array in run_main(module, make_inputs(module, self.seed, self.inputs)).items():
            values = np.array2string(
                numbers(array, types[name]),
                separator=", ",
                precision=self.precision,
                suppress_small=True,
                max_line_width=120,
                threshold=200,
            )
            print(f"{name}: {types[name]} = {values}", file=output)
