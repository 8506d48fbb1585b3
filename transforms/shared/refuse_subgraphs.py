"""The error of passes that work on the operations of `@main` only, for functions with subgraphs."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...dialects.manycore import SubgraphOp
from ...support.errors import InputError


def refuse_subgraphs(module: ModuleOp, name: str) -> None:
    """
    Raises InputError for a module with subgraphs, whose contents pass `name` would silently ignore.
    """
    for op in module.walk():
        if isinstance(op, SubgraphOp):
            raise InputError(
                f"{name} does not work inside subgraphs such as @{op.sym_name.data}: run it before "
                f"manycore-outline-subgraphs, or manycore-inline-subgraphs before it"
            )
