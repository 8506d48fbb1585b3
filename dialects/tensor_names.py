"""
The network's names of the tensors inside it, from the import down to the instructions.

Passes replace a value by an equal one and hand on its name (`name_hint`); the text of a module has it, too. So the
import gives each tensor of the network a name of its own in the IR, and notes which tensor that is (`TENSORS`). Tasks
over buffers say themselves which tensors lie in their result (`NAMED`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from .module_notes import add_note

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

TENSORS = "tensors"
"""Key of the note: a JSON object from names of values to [type, names of tensors...]."""
NAMED = "dataflow.tensors"
"""Attribute of tasks over buffers: a dictionary from names of tensors to their types."""

_NUMBERS = re.compile(r"(?:_\d+)+$")


def value_name_of(tensor: str, taken: Mapping[str, object]) -> str:
    """
    A name for a value that is a tensor of the network: as like the tensor's as the IR allows, the same after a text was
    printed and read (see `value_names`), and none of those that are taken.
    """
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter == "_") else "_" for letter in tensor)
    name = _NUMBERS.sub(lambda found: found[0].replace("_", "."), name)
    if not name or name[0].isdigit() or name[0] == ".":
        name = f"tensor.{name.lstrip('.')}"
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}.{number}", number + 1
    return unique


def note_tensors(module: ModuleOp, values: Mapping[str, SSAValue]) -> None:
    """Note which values are which tensors of the network (by name); values without a name are left out."""
    found: dict[str, list[str]] = {}
    for tensor, value in values.items():
        if value.name_hint:
            found.setdefault(value.name_hint, [type_text(value.type)]).append(tensor)
    if found:
        add_note(module, TENSORS, json.dumps(found, ensure_ascii=False, separators=(",", ":")))


def noted_tensors(notes: Mapping[str, str]) -> dict[str, list[str]]:
    """Name of a value -> [type, names of tensors...]; empty where nothing of the kind is noted."""
    try:
        found: object = json.loads(notes.get(TENSORS, "{}"))
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    given = cast("dict[str, Any]", found)
    return {
        name: cast("list[str]", entry)
        for name, entry in given.items()
        if isinstance(entry, list) and all(isinstance(one, str) for one in cast("list[object]", entry)) and entry
    }


def type_text(type: Attribute) -> str:
    """A tensor's type as in IR, without the rest of its syntax: `1x28x22x22xf32`."""
    if not isinstance(type, TensorType):
        return ""
    given = cast("TensorType[Attribute]", type)
    return "x".join([*map(str, given.get_shape()), str(given.element_type)])


def name_result(
    task: Operation, values: Iterable[tuple[str, TensorType[Attribute]]], known: Mapping[str, list[str]]
) -> None:
    """
    Let a task over buffers say which tensors of the network its result is. `values`: names and types of the values that
    it is; `known`: see `noted_tensors`.
    """
    named: dict[str, Attribute] = {}
    for name, type in values:
        text, *tensors = known.get(name, [""])
        if text == type_text(type):
            named.update((tensor, type) for tensor in tensors)
    if named:
        task.attributes[NAMED] = DictionaryAttr(named)


def named_tensors(task: Operation) -> dict[str, TensorType[Attribute]]:
    """The tensors of the network that the result of a task over buffers is, with their types."""
    given = task.attributes.get(NAMED)
    if not isinstance(given, DictionaryAttr):
        return {}
    return {
        name: cast("TensorType[Attribute]", type) for name, type in given.data.items() if isinstance(type, TensorType)
    }
