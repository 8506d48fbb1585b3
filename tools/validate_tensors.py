"""`meshloom-run --validate=tensors`: the result of each task against the interpreter of its IR."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError, MeshloomError
from .inside_options import only_chip

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from ..emulator.functional.record_results import ResultRecorder

SHOWN = 3
"""Tasks with a wrong result that are named."""


def module_of(target: Executable | ChipPipeline, path: Path) -> ModuleOp:
    """
    The module of the `memory` level in a file. Raises InputError if it is at another level, or that of another program.
    """
    from ..dialects.manycore import LaunchOp
    from ..emulator.executable.task_results import NOTE, results_as_json
    from ..lowering.linker.read_program import is_program
    from ..lowering.linker.result_notes import task_results
    from .read_module import read_module

    exe = only_chip(target, "--validate=tensors")
    module = read_module(path, {})
    if not is_program(module):
        raise InputError(f"--ir {path} is not at the memory level: it has no launches over buffers")
    launches = [op for op in module.walk() if isinstance(op, LaunchOp)]
    if results_as_json(list(task_results(launches))) != exe.notes.get(NOTE):
        raise InputError(f"--ir {path} is not what the executable was made of: its tasks and their results are others")
    return module


def check_results(module: ModuleOp, inputs: Mapping[str, Any], recorder: ResultRecorder) -> str:
    """
    A line about a run with correct results. Raises MeshloomError naming the tasks with wrong results, with core and
    first byte.
    """
    from ..analysis.execution.compare_results import differing_results

    found = differing_results(module, inputs, recorder)
    if not found:
        count = len(recorder.recorded)
        return f"OK: the results of {count} task{'s' if count != 1 else ''} equal the interpreter's"
    lines = [str(one) for one in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"and {len(found) - SHOWN} more tasks")
    raise MeshloomError("results differ from the interpreter's:\n  " + "\n  ".join(lines))
