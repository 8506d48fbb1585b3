"""The interpreter as reference for an executable's outputs if there is no ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..support.errors import InputError
from ..support.input_files import check_regular
from .oracle import Array

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class Interpreted:
    """`@main` of a module in textual IR, with the interface of `Oracle`."""

    def __init__(self, path: Path) -> None:
        """Raises InputError (or xDSL's exceptions, which have the location) if the file is not valid."""
        from .cli import check_is_file
        from .read_module import read_module

        check_regular(path)
        check_is_file(path)
        self.module = read_module(path, {})

    @property
    def inputs(self) -> list[str]:
        from ..dialects.dataflow.entry_function import argument_names, find_main

        return argument_names(find_main(self.module))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name, bf16 as f32. Raises InputError if the inputs are not the module's."""
        if missing := [name for name in self.inputs if name not in inputs]:
            raise InputError(f"the executable has no input '{missing[0]}', but the module to check against has")
        return run_module(self.module, {name: inputs[name] for name in self.inputs})


def run_module(module: ModuleOp, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of `@main` in the interpreter by name, bf16 as f32. Raises InputError for invalid inputs."""
    from ..analysis.execution.interpret import numbers, result_types, run_main

    results = run_main(module, dict(inputs))
    types = result_types(module)
    return {name: numbers(array, types[name]) for name, array in results.items()}
