"""Target `interpret`: instead of printing a module, run its `@main` and print the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.target import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    def __post_init__(self) -> None:
        """Raises ValueError for numbers below 0."""
        check_numbers(self.seed, self.precision)

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Run and print. Raises MeshloomError as the interpreter does."""
        from ..analysis.execution.interpret import make_inputs, result_types, run_main

        results = run_main(module, make_inputs(module, self.seed, self.inputs))
        print_results(results, result_types(module), self.precision, output)


def check_numbers(seed: int, precision: int) -> None:
    """Raises ValueError where one of these options is below 0."""
    for name, value in (("seed", seed), ("precision", precision)):
        if value < 0:
            raise ValueError(f"{name}={value}: expected 0 or more")


def print_results(
    results: Mapping[str, NDArray[Any]], types: Mapping[str, Attribute], precision: int, output: IO[str]
) -> None:
    """Print results in storage form, one `name: type = values` each, floats with `precision` digits after the point."""
    import numpy as np

    from ..analysis.execution.interpret import numbers

    for name, array in results.items():
        values = np.array2string(
            numbers(array, types[name]),
            separator=", ",
            precision=precision,
            suppress_small=True,
            max_line_width=120,
            threshold=200,
        )
        print(f"{name}: {types[name]} = {values}", file=output)
