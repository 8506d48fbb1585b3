"""The inputs of `--calibrate`, on which the compiler measures the activations of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ...dialects.dataflow.entry_function import argument_names, find_main
from ...support.errors import InputError
from ...support.npy import read_arrays

RANDOM = "random"


def calibration_inputs(module: ModuleOp, options: Sequence[str]) -> dict[str, NDArray[Any]]:
    """
    A value for each argument of `@main`, in storage form, from `NAME=FILE.npy` options; `random` gives the others
    the values that `meshloom-run --random 0` gives them.

    Raises InputError for files that do not match their input, and for inputs without a value.
    """
    given = read_arrays([option for option in options if option != RANDOM], "--calibrate")
    return calibration_values(module, given, RANDOM in options)


def calibration_values(
    module: ModuleOp, given: Mapping[str, NDArray[Any]], random: bool = False
) -> dict[str, NDArray[Any]]:
    """
    The given values by name, checked; with `random`, random values for the other inputs, too.

    Raises InputError for values that do not match their input, and for inputs without a value.
    """
    # Only here: interpreters take a third of a second to import.
    from ...analysis.execution.interpret import InputDraw, draw_inputs
    from ...dialects.dataflow.interpreter import check_input

    main = find_main(module)
    names = argument_names(main)
    if unknown := sorted(set(given) - set(names)):
        raise InputError(f"calibration: no input is named {', '.join(unknown)}; the inputs are {', '.join(names)}")
    others = draw_inputs(module, 0, InputDraw(integers=(0, 2))) if random else {}
    if missing := [name for name in names if name not in given and name not in others]:
        raise InputError(f"calibration has no value for {', '.join(missing)}: name a file, or add --calibrate random")
    for name, argument in zip(names, main.body.block.args, strict=True):
        if name in given:
            check_input(name, given[name], argument.type)
    return others | dict(given)
