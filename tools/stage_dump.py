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

    The texts carry locations: what each operation was made for. The compiler says when a stage begins; what is there
    then, the stage before has made.
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
        if (text := _text_of(self.module)) != self.text:
            self._save(self.stage, text)
            self.text = text
        self.stage = stage

    def write(self, level: str, module: ModuleOp) -> None:
        """Write the module, or another one, that shows the program at a level of its own."""
        text = _text_of(module)
        self._save(level, text)
        if module is self.module:
            self.text = text

    def _save(self, name: str, text: str) -> None:
        write_atomically(self.folder / f"{self.number:02d}-{name.replace(' ', '-')}.mlir", text)
        self.number += 1


def _text_of(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream=stream, print_debuginfo=True).print_op(module)
    return stream.getvalue() + "\n"
