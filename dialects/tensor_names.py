"""
The names of the network's tensors, from the import to the instructions.

When passes replace a value by an equal one, they keep its name (`name_hint`), which is also in the text of a module.
Therefore the import gives each tensor of the network a unique value name in the IR, and records the tensor of each name
in a note (`TENSORS`). Tasks over buffers have an attribute with the tensors in their result (`NAMED`).
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
"""Key of the note: a JSON object that maps names of values to [type, names of tensors...]."""
NAMED = "dataflow.tensors"
"""Attribute of tasks over buffers: a dictionary that maps names of tensors to their types."""

_NUMBERS = re.compile(r"(?:_\d+)+$")


def value_name_of(tensor: str, taken: Mapping[str, object]) -> str:
    """
    A value name for a tensor of the network: as similar to the tensor's name as the IR allows, unchanged when a text is
    printed and read (see `value_names`), and not in `taken`.
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
    """Add the note of `values`, by names of the network's tensors; values without a name are skipped."""
    found: dict[str, list[str]] = {}
    for tensor, value in values.items():
        if value.name_hint:
            found.setdefault(value.name_hint, [type_text(value.type)]).append(tensor)
    if found:
        add_note(module, TENSORS, json.dumps(found, ensure_ascii=False, separators=(",", ":")))


def noted_tensors(notes: Mapping[str, str]) -> dict[str, list[str]]:
    """The note: name of a value -> [type, names of tensors...]; empty if there is no valid note."""
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
    """Shape and element type of a tensor in the syntax of the IR: `1x28x22x22xf32`."""
    if not isinstance(type, TensorType):
        return ""
    given = cast("TensorType[Attribute]", type)
    return "x".join([*map(str, given.get_shape()), str(given.element_type)])


def name_result(
    task: Operation, values: Iterable[tuple[str, TensorType[Attribute]]], known: Mapping[str, list[str]]
) -> None:
    """
    Set the attribute of a task over buffers that lists the network's tensors in its result. `values`: names and types
    of the values that the result holds; `known`: as from `noted_tensors`.
    """
    named: dict[str, Attribute] = {}
    for name, type in values:
        text, *tensors = known.get(name, [""])
        if text == type_text(type):
            named.update((tensor, type) for tensor in tensors)
    if named:
        task.attributes[NAMED] = DictionaryAttr(named)


def named_tensors(task: Operation) -> dict[str, TensorType[Attribute]]:
    """The network's tensors in the result of a task over buffers, with their types."""
    given = task.attributes.get(NAMED)
    if not isinstance(given, DictionaryAttr):
        return {}
    return {
        name: cast("TensorType[Attribute]", type) for name, type in given.data.items() if isinstance(type, TensorType)
    }
