"""Read a network from a file as a `dataflow` module: ONNX or textual IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ..support.errors import InputError
from ..support.input_files import open_regular
from ..support.warn import warn
from .diagnostics import in_file
from .verify_input import verify_input

if TYPE_CHECKING:
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable

NOT_FOR_TEXT = "{} is for ONNX models: textual IR declares its own inputs"


def read_module(
    path: str | Path,
    shapes: Mapping[str, tuple[int, ...]],
    on_note: Callable[[str], None] = warn,
    values: Mapping[str, Any] | None = None,
    most_steps: int | None = None,
) -> ModuleOp:
    """
    The module in `path` (`.onnx` or `.mlir`). Only for ONNX: `shapes` of the inputs with symbolic dimensions, `values`
    of inputs that become constants, and the largest number of steps of dynamic loops.

    `on_note` is called with assumptions of the import. Raises InputError (or xDSL's ParseError, which has the location)
    if the file cannot be read or is not valid.
    """
    match Path(path).suffix.lower():
        case ".onnx":
            from ..frontend.onnx_import import import_onnx

            return import_onnx(path, dict(shapes), values, on_note, most_steps)
        case ".mlir":
            if shapes or values:
                raise InputError(NOT_FOR_TEXT.format("--shape" if shapes else "--value"))
            if most_steps is not None:
                raise InputError(NOT_FOR_TEXT.format("--max-steps"))
            return _parse(path)
        case suffix:
            raise InputError(f"{path}: unknown kind of file '{suffix}', expected .onnx or .mlir")


def _parse(path: str | Path) -> ModuleOp:
    from .opt import MeshloomOpt

    driver = MeshloomOpt([str(path)])
    with open_regular(path) as file:
        module = driver.parse_text(file)
    try:
        verify_input(module, str(path))
    except VerifyException as error:
        raise InputError(in_file(str(path), error)) from error
    return module


def read_executable_ir(path: str | Path) -> Executable | ChipPipeline:
    """The executable of a module at the level of instructions, for one chip or several. Raises as `read_module`."""
    from ..lowering.multi_chip.assembled import assembled, is_assembled

    module = read_module(path, {})
    if not is_assembled(module):
        raise InputError(f"{path} has no 'coreasm.controller': it is not at level 'coreasm': compile it")
    return assembled(module, str(path))
