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
Of an argument: where it lies between the subgraphs that read it. Of a result: `host`, to which it is copied, or `dram`,
where it stays until another chip has taken it.
"""


def said_of_arguments(function: FuncOp) -> list[Space | None]:
    """The memory of each argument, None if it is not specified. Raises InputError as `said_of_results` does."""
    names = [f"argument {number}" for number in range(len(function.body.block.args))]
    return _spaces(function, function.arg_attrs, names)


def said_of_results(function: FuncOp) -> list[Space | None]:
    """The memory of each result, None where it is not said. Raises InputError for another memory than DRAM and host."""
    return _spaces(function, function.res_attrs, [f"result '{name}'" for name in result_names(function)])


def _spaces(function: FuncOp, said: Iterable[DictionaryAttr] | None, what: list[str]) -> list[Space | None]:
    found: list[Space | None] = [None] * len(what)
    for number, one in enumerate(said or ()):
        attribute = one.data.get(RESIDENCE)
        if attribute is None:
            continue
        if not isinstance(attribute, SpaceAttr) or attribute.data is Space.SRAM:
            message = f"{what[number]} of @main has {RESIDENCE} {attribute}: expected #memory.space<dram> or <host>"
            raise located(InputError(message), function)
        found[number] = attribute.data
    return found


def let_results_say(function: FuncOp, spaces: dict[str, Space]) -> None:
    """Specify the memory of the results of these names."""
    entries = function.res_attrs or ArrayAttr([DictionaryAttr({})] * len(function.function_type.outputs))
    function.res_attrs = ArrayAttr(
        [
            DictionaryAttr({**one.data, RESIDENCE: SpaceAttr(spaces[name])}) if name in spaces else one
            for name, one in zip(result_names(function), entries, strict=True)
        ]
    )
