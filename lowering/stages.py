"""What the stages of a compilation share: who is told of them, and the function that is compiled."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..support.errors import InputError

Progress = Callable[[str], None]
"""Told the name of each stage as it begins."""

Observer = Callable[[str, ModuleOp], None]
"""Told the name of a level, and the module there, where compilation itself works on other data."""


def main_function(module: ModuleOp) -> FuncOp:
    """The function that is compiled. Raises InputError if the module has none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            if not op.body.blocks:
                raise InputError("@main has no body: give the module with the function's definition")
            return op
    raise InputError("the module has no function @main: name the entry function 'main'")
