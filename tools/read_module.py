"""Read a network from a file as a `dataflow` module: ONNX or textual IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ..support.errors import InputError
from .diagnostics import in_file, verify

NOT_FOR_TEXT = "{} is for ONNX models: textual IR says itself what it takes"


def read_module(
    path: str | Path, shapes: Mapping[str, tuple[int, ...]], tell: Callable[[str], None] = lambda line: None
) -> ModuleOp:
    """
    The module in `path` (`.onnx` or `.mlir`); `shapes` of the inputs with symbolic dimensions concern ONNX only.

    `tell` is told what the import assumes. Raises InputError (or xDSL's ParseError, which names the place) if the file
    cannot be read or is not valid.
    """
    match Path(path).suffix.lower():
        case ".onnx":
            from ..frontend.onnx_import import import_onnx

            return import_onnx(path, dict(shapes), tell=tell)
        case ".mlir":
            if shapes:
                raise InputError(NOT_FOR_TEXT.format("--shape"))
            return _parse(path)
        case suffix:
            raise InputError(f"{path}: unknown kind of file '{suffix}', expected .onnx or .mlir")


def _parse(path: str | Path) -> ModuleOp:
    from .opt import MeshloomOpt

    driver = MeshloomOpt([str(path)])
    with Path(path).open("rb") as file:
        module = driver.parse_text(file)
    try:
        verify(module)
    except VerifyException as error:
        raise InputError(in_file(str(path), error)) from error
    return module
