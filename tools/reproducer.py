"""
Errors that name the failed pass, and reproducers: files from which the failure can be repeated.

The file is textual IR as MLIR writes it for its own crashes: the module before the pass, and after it, in a section
`{-# external_resources: { mlir_reproducer: { pipeline: ... } } #-}`, the passes that were still to run.
`meshloom-opt FILE --run-reproducer` runs them.
"""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ShrinkException

from ..support.errors import MeshloomError, shortened
from .cli import NO_MEMORY
from .diagnostics import describe, one_line
from .report.versions import versions

SECTION = re.compile(
    r"\{-#\s*external_resources:\s*\{\s*mlir_reproducer:\s*\{\s*"
    r'pipeline:\s*"(?P<pipeline>(?:[^"\\]|\\.)*+)"[^{}]*\}\s*\}\s*#-\}\s*\Z'
)
"""The section at the end of a file; `pipeline` still has its quotation marks escaped."""


class PassFailure(MeshloomError):
    """A pass raised an unexpected exception, or left an invalid module."""


def reproducer_text(module: ModuleOp, passes: Sequence[ModulePass], reason: str) -> str:
    """Text of a reproducer: the module, the `passes` to apply, and versions and the `reason` as comments."""
    out = StringIO()
    Printer(out).print_op(module)
    pipeline = ",".join(str(one.spec()) for one in passes).replace("\\", "\\\\").replace('"', '\\"')
    return (
        f"// {one_line(reason)}\n"
        f"// {versions()}, Python {platform.python_version()}\n"
        f"{out.getvalue()}\n"
        "{-#\n"
        "  external_resources: {\n"
        "    mlir_reproducer: {\n"
        f'      pipeline: "builtin.module({pipeline})",\n'
        "      disable_threading: true,\n"
        "      verify_each: true\n"
        "    }\n"
        "  }\n"
        "#-}\n"
    )


def split_reproducer(text: str) -> tuple[str, str | None]:
    """The IR of a reproducer, and its passes in the syntax of `-p`; None if the file is not a reproducer."""
    found = SECTION.search(text) if "mlir_reproducer" in text else None
    if found is None:
        return text, None
    pipeline = re.sub(r"\\(.)", r"\1", found["pipeline"]).strip()
    return text[: found.start()], pipeline.removeprefix("builtin.module(").removesuffix(")")


@contextmanager
def reproduced(
    module: ModuleOp, passes: Sequence[ModulePass], output: Path | None, diagnostics: bool = False
) -> Generator[None]:
    """
    Around the first of `passes` (those still to run) and the verifier after it: errors name the pass.

    A MeshloomError is not changed. Any other exception becomes a PassFailure, and the present module is written to a
    reproducer in the folder of the file `output`, or in the temporary folder if there is no such file. `diagnostics`:
    xDSL's own errors are not changed, because the caller compares them.
    """
    name, before = passes[0].name, module.clone()
    try:
        yield
    except (BrokenPipeError, ShrinkException, PassFailure):
        raise
    except MeshloomError as error:
        error.args = (f"pass '{name}': {error}", *error.args[1:])
        raise
    except Exception as error:
        if diagnostics and isinstance(error, DiagnosticException):
            raise
        reason = f"pass '{name}' failed: {_words(error)}"
        note = "" if isinstance(error, DiagnosticException | MemoryError) else "; MESHLOOM_DEBUG=1 shows the traceback"
        where = _write(before, passes, reason, name, output)
        if os.environ.get("MESHLOOM_DEBUG"):
            error.add_note(f"{reason} ({where})")
            raise
        raise PassFailure(f"{reason} ({where}{note})") from error


def _words(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return NO_MEMORY
    return describe(error) or f"{type(error).__name__}: {shortened(one_line(str(error)))}"


def _write(module: ModuleOp, passes: Sequence[ModulePass], reason: str, name: str, output: Path | None) -> str:
    """Write the reproducer. Returns a sentence with its path, or the reason why there is none."""
    folders = [Path(tempfile.gettempdir())]
    if output is not None and (output.is_file() or not output.exists()):
        folders.insert(0, output.parent)
    problem = ""
    for folder in folders:
        try:
            handle, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".reproducer.mlir", dir=folder, text=True)
        except OSError as error:
            problem = error.strerror or str(error)
            continue
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                _keep_weights(module, path)
                file.write(reproducer_text(module, passes, reason))
            return f"reproducer: {path}"
        except Exception as error:  # Report the failure of the pass, not that of writing the reproducer.
            Path(path).unlink(missing_ok=True)
            problem = one_line(str(error)) or type(error).__name__
    return f"no reproducer could be written: {problem}"


def _keep_weights(module: ModuleOp, path: str) -> None:
    """Write weights that exist only in this process to a file beside the reproducer."""
    if any(op.name == "dataflow.weight" for op in module.walk()):
        from ..dialects.weight_references import externalise

        externalise(module, f"{path}.weights")
