"""The error of passes that work above the level of launches."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...dialects.locations import located
from ...dialects.manycore import LaunchOp
from ...support.errors import InputError


def refuse_launches(module: ModuleOp, name: str) -> None:
    """Raises InputError, located, for a module that has launches already, to which pass `name` does not apply."""
    for op in module.walk():
        if isinstance(op, LaunchOp):
            error = InputError(f"the module already consists of launches: run {name} before manycore-to-memory")
            raise located(error, op)
