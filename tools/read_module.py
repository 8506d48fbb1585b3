"""Read a network from a file as a `dataflow` module: ONNX or textual IR."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ..support.errors import InputError


def read_module(path: str | Path, shapes: Mapping[str, tuple[int, ...]]) -> ModuleOp:
    """
    The module in `path` (`.onnx` or `.mlir`); `shapes` of the inputs with symbolic dimensions concern ONNX only.

    Raises InputError (or xDSL's exceptions, which name the place) if the file cannot be read or is not valid.
    """
    match Path(path).suffix.lower():
        case ".onnx":
            from ..frontend.onnx_import import import_onnx

            return import_onnx(path, dict(shapes))
        case ".mlir":
            if shapes:
                raise InputError("--shape is for ONNX models: textual IR states its shapes")
            return _parse(path)
        case suffix:
            raise InputError(f"{path}: unknown kind of file '{suffix}', expected .onnx or .mlir")


def _parse(path: str | Path) -> ModuleOp:
    from .opt import MeshloomOpt

    driver = MeshloomOpt([str(path)])
    with Path(path).open("rb") as file:
        module = driver.parse_text(file)
    module.verify()
    return module
