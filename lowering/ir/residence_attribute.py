"""The attribute `manycore.residence`: the memory of arguments and results of `@main`."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp

from ...dialects.dataflow.entry_function import result_names
from ...dialects.locations import located
from ...dialects.memory.attributes import Space, SpaceAttr
from ...support.errors import InputError

RESIDENCE = "manycore.residence"
"""
Of an argument: the memory that keeps it between the subgraphs that read it. Of a result: `host`, to which it is copied,
or `dram`, where it stays until another chip has copied it.
"""


def spaces_of_arguments(function: FuncOp) -> list[Space | None]:
    """The memory of each argument, None if it is not specified. Raises InputError as `spaces_of_results` does."""
    names = [f"argument {number}" for number in range(len(function.body.block.args))]
    return _spaces(function, function.arg_attrs, names)


def spaces_of_results(function: FuncOp) -> list[Space | None]:
    """The memory of each result, None if it is not specified. Raises InputError if it is neither DRAM nor host."""
    return _spaces(function, function.res_attrs, [f"result '{name}'" for name in result_names(function)])


def _spaces(function: FuncOp, attributes: Iterable[DictionaryAttr] | None, what: list[str]) -> list[Space | None]:
    found: list[Space | None] = [None] * len(what)
    for number, one in enumerate(attributes or ()):
        attribute = one.data.get(RESIDENCE)
        if attribute is None:
            continue
        if not isinstance(attribute, SpaceAttr) or attribute.data is Space.SRAM:
            message = f"{what[number]} of @main has {RESIDENCE} {attribute}: expected #memory.space<dram> or <host>"
            raise located(InputError(message), function)
        found[number] = attribute.data
    return found


def set_result_spaces(function: FuncOp, spaces: dict[str, Space]) -> None:
    """Write the memory of each result to its attribute, by name; other results are left as they are."""
    entries = function.res_attrs or ArrayAttr([DictionaryAttr({})] * len(function.function_type.outputs))
    function.res_attrs = ArrayAttr(
        [
            DictionaryAttr({**one.data, RESIDENCE: SpaceAttr(spaces[name])}) if name in spaces else one
            for name, one in zip(result_names(function), entries, strict=True)
        ]
    )
