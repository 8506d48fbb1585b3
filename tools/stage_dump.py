"""The module after each stage of a compilation, one file a stage (`--print-ir-after-all`)."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ..support.errors import MeshloomError
from ..support.files import write_atomically


class StageDump:
    """
    Writes `NN-STAGE.mlir` for each stage that changed the module.

    The compiler says when a stage begins; what is there then, the stage before has made.
    """

    def __init__(self, folder: Path, module: ModuleOp, first: str = "import") -> None:
        self.folder = folder
        self.module = module
        self.stage = first
        self.number = 0
        self.text = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MeshloomError(f"cannot make folder {folder}: {error.strerror}") from error

    def begin(self, stage: str) -> None:
        """Write the module if the stage that ends here changed it; `stage` is the next one's name."""
        stream = StringIO()
        Printer(stream=stream).print_op(self.module)
        if (text := stream.getvalue() + "\n") != self.text:
            name = f"{self.number:02d}-{self.stage.replace(' ', '-')}.mlir"
            write_atomically(self.folder / name, text)
            self.number += 1
            self.text = text
        self.stage = stage
