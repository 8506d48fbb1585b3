"""Names of the tasks of a launch, and of its buffers, which are named after them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import SSAValue

from ...dialects.manycore import ExecuteOp, LaunchOp
from ...dialects.memory import SliceTransferOp


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, with a number appended to repeated ones."""
    seen: dict[str, int] = {}
    given, found = set(names), list[str]()
    for name in names:
        unique = name
        while unique in seen:  # numbers of original names are not reused
            number = seen[name]
            seen[name] += 1
            unique = f"{name}.{number}" if f"{name}.{number}" not in given else name
        seen.setdefault(unique, 1)
        found.append(unique)
    return found


def rename_tasks(launch: LaunchOp, names: Sequence[str]) -> None:
    """Rename the tasks of a launch, in their order; buffers are named after the tasks that use them."""
    new: dict[str, str] = {}
    for task, name in zip(launch.tasks.values(), names, strict=True):
        new[task.sym_name.data] = name
        task.sym_name = StringAttr(name)
        name_buffers(task)
    for op in launch.body.walk():
        if isinstance(op, SliceTransferOp):
            op.task = SymbolRefAttr(new[op.task_name])


def name_buffers(task: ExecuteOp) -> None:
    """Name the buffers of a task, except those that an earlier task shares with it."""
    base = value_name(task.sym_name.data)
    task.target.name_hint = base
    for read in range(len(task.slots.get_values())):
        _number(task.read_buffers(read), f"{base}_read{read}")
    _number(task.staging, f"{base}_staging")
    for number, value in enumerate(task.temporaries):
        value.name_hint = f"{base}_temporary{number}"


def _number(values: Sequence[SSAValue], name: str) -> None:
    for number, value in enumerate(values):
        if value.name_hint is None:
            value.name_hint = f"{name}_slot{number}" if number else name


def value_name(text: str, kind: str = "task") -> str:
    """A name of the network (of a task or another `kind`) as a valid name of an SSA value."""
    name = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in text)
    return name if name[:1].isalpha() else f"{kind}_{name}"
