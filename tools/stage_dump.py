"""The module after each stage of a compilation, one file a stage (`--print-ir-after-all`)."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ..dialects.weight_references import SideFile
from ..support.errors import InputError
from ..support.files import write_atomically

WEIGHTS = "weights.bin"
"""File in the folder for weights that are not in the model file."""


class StageDump:
    """
    Writes `NN-STAGE.mlir` for each stage that changed the module.

    The texts contain locations: the nodes for which operations were created. The compiler announces the beginning of
    each stage; the module is then the result of the previous stage.
    """

    def __init__(self, folder: Path, module: ModuleOp) -> None:
        self.folder = folder
        self.module = module
        self.stage = "import"
        self.number = 0
        self.text = self.written = ""
        self.weights = SideFile(folder / WEIGHTS)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make folder {folder}: {error.strerror}") from error

    def begin(self, stage: str) -> None:
        """Write the module if the stage that ends here changed it; `stage` is the next one's name."""
        if (text := str(self.module)) != self.text:
            self.write(self.stage, self.module)
            self.text = text
        self.stage = stage

    def write(self, level: str, module: ModuleOp) -> None:
        """Write a module of the program at one of the levels, unless it equals the last one."""
        if (text := str(module)) == self.written:
            return
        self.written = text
        copy = module.clone()
        self.weights.take(copy)
        path = self.folder / f"{self.number:02d}-{level.replace(' ', '-')}.mlir"
        stream = StringIO()
        Printer(stream=stream, print_debuginfo=True).print_op(copy)
        write_atomically(path, stream.getvalue() + "\n")
        self.number += 1
