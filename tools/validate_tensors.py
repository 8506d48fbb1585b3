"""`meshloom-run --validate=tensors`: comparison of the results of tasks and steps of loops with the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError, MeshloomError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..analysis.execution.compare_results import Comparison
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from ..emulator.functional.record_results import ResultRecorder

SHOWN = 3
"""Number of tasks that are listed: with wrong results, and not compared."""


def modules_of(target: Executable | ChipPipeline, path: Path) -> tuple[ModuleOp, ...]:
    """
    The modules of the `memory` level in a file, one for each chip. Raises InputError if it is at another level, or of
    another program.
    """
    from ..dialects.manycore import LaunchOp
    from ..dialects.manycore.stage import stages_of
    from ..emulator.executable.executable import Executable
    from ..emulator.executable.task_results import NOTE, results_as_json
    from ..lowering.linker.read_program import is_program
    from ..lowering.linker.result_notes import task_results
    from .read_module import read_module

    whole = read_module(path, {})
    modules = tuple(stage.module for stage in stages_of(whole)) or (whole,)
    if not all(map(is_program, modules)):
        raise InputError(f"--ir {path} is not at the memory level: it has no launches over buffers")
    chips = (target,) if isinstance(target, Executable) else target.chips
    if len(chips) != len(modules):
        raise InputError(f"--ir {path} is for {_chips(len(modules))}, and the executable for {_chips(len(chips))}")
    for number, (exe, module) in enumerate(zip(chips, modules, strict=True)):
        launches = [op for op in module.walk() if isinstance(op, LaunchOp)]
        if results_as_json(list(task_results(launches))) != exe.notes.get(NOTE):
            where = f" on chip {number}" if len(chips) > 1 else ""
            raise InputError(
                f"--ir {path} is not the module of this executable: its tasks or their results{where} differ"
            )
    return modules


def recorder_of(exe: Executable, module: ModuleOp) -> ResultRecorder:
    """A recorder of the results of all tasks and steps of a chip, also of tasks with merged instructions."""
    from ..emulator.functional.record_results import ResultRecorder
    from ..lowering.linker.execution_order import execution_orders

    return ResultRecorder(exe, all_steps=True, order_of=execution_orders(module, exe.chip))


def check_results(
    modules: Sequence[ModuleOp], inputs: Sequence[Mapping[str, Any]], recorders: Sequence[ResultRecorder]
) -> str:
    """
    A line about a run with correct results; `inputs` are those of each chip, in storage form. Raises
    MeshloomError naming the tasks with wrong results, with chip, step, core and first byte.
    """
    from ..analysis.execution.compare_results import compare_results

    found = [
        compare_results(module, values, recorder, number if len(modules) > 1 else None)
        for number, (module, values, recorder) in enumerate(zip(modules, inputs, recorders, strict=True))
    ]
    wrong = [str(one) for each in found for one in each.differences]
    if not wrong:
        return _summary(found)
    if len(wrong) > SHOWN:
        wrong[SHOWN:] = [f"and {len(wrong) - SHOWN} more tasks"]
    raise MeshloomError("results differ from the interpreter's:\n  " + "\n  ".join([*wrong, *_omissions(found)]))


def _summary(found: Sequence[Comparison]) -> str:
    tasks, steps = sum(one.tasks for one in found), sum(one.steps for one in found)
    loops = f", step by step in loops ({steps:,} steps)" if steps else ""
    where = f" on {_chips(len(found))}" if len(found) > 1 else ""
    line = f"OK: the results of {tasks} task{'s' if tasks != 1 else ''}{where} equal the interpreter's{loops}"
    return "\n  ".join([line, *_omissions(found)])


def _omissions(found: Sequence[Comparison]) -> Iterator[str]:
    """Lines about tasks that were not compared."""
    for words, names in (
        ("not compared, because their tiles are not an even grid", [name for one in found for name in one.left_out]),
        ("not compared, because repeated tasks share instructions", [name for one in found for name in one.shared]),
        ("compared in the last step only, because the number of instructions differs between steps",
         [name for one in found for name in one.only_last]),
    ):  # fmt: skip
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            count = f"{len(names)} task{'s were' if len(names) > 1 else ' was'}"
            yield f"{count} {words}: {', '.join(names[:SHOWN])}{more}"


def _chips(count: int) -> str:
    return f"{count} chip{'s' if count != 1 else ''}"
