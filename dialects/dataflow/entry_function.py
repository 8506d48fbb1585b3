"""The function `@main` of a module, which contains the network, and the names of the network's inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Region, SSAValue

from ...support.errors import InputError

NAME = "dataflow.name"
"""Attribute of arguments and results of `@main`: their name in the network."""


def find_main(module: ModuleOp) -> func.FuncOp:
    """
    The function that is compiled. Raises InputError if the module has no `@main` with a body, if arguments or results
    have a wrong number of attribute dictionaries, or if two arguments or two results have the same name.
    """
    for op in module.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == "main":
            if op.is_declaration:
                raise InputError("@main has no body: give the module with the function's definition")
            _check_attributes(op)
            _check_names(argument_names(op), "arguments")
            _check_names(result_names(op), "results")
            return op
    raise InputError("the module has no function @main: name the entry function 'main'")


def main_function(
    block: Block, results: Sequence[SSAValue], names: tuple[Iterable[str], Iterable[str]] | None = None
) -> func.FuncOp:
    """
    `@main` with this body, which returns `results`; `names`: names of the arguments and of the results in the network.
    """
    block.add_op(func.ReturnOp(*results))
    attributes = (None, None) if names is None else tuple(map(name_attributes, names))
    types = [value.type for value in block.args], [value.type for value in results]
    return func.FuncOp("main", types, Region(block), arg_attrs=attributes[0], res_attrs=attributes[1])


def _check_attributes(function: func.FuncOp) -> None:
    """Raises InputError unless all arguments, and all results, have a dictionary of attributes, or none of them has."""
    for attributes, types, what in (
        (function.arg_attrs, function.function_type.inputs, "argument"),
        (function.res_attrs, function.function_type.outputs, "result"),
    ):
        if attributes is not None and len(attributes) != len(types):
            raise InputError(
                f"@{function.sym_name.data} has {len(types)} {what}s and attributes for {len(attributes)}: give each "
                f"{what} a dictionary"
            )


def _check_names(names: list[str], what: str) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"@main has two {what} named '{twice[0]}': give each a name of its own")


def argument_names(function: func.FuncOp) -> list[str]:
    """Names of a function's arguments in the network (`arg0`, `arg1`... for those without one)."""
    return _names(function.arg_attrs, len(function.body.block.args), "arg")


def result_names(function: func.FuncOp) -> list[str]:
    """Names of a function's results in the network (`result0`, `result1`... for those without one)."""
    return _names(function.res_attrs, len(function.function_type.outputs), "result")


def name_attributes(names: Iterable[str]) -> ArrayAttr[DictionaryAttr]:
    """The attributes that give arguments or results these names, in order."""
    return ArrayAttr([DictionaryAttr({NAME: StringAttr(name)}) for name in names])


def _names(attributes: ArrayAttr[DictionaryAttr] | None, count: int, prefix: str) -> list[str]:
    """The names of arguments or results; `prefix` and a number for those without one."""
    names = [f"{prefix}{number}" for number in range(count)]
    for number, entry in enumerate(attributes or ()):
        name = entry.data.get(NAME)
        if isinstance(name, StringAttr):
            names[number] = name.data
    return names
