"""Replacement of the contents of a module."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp


def replace_module(module: ModuleOp, other: ModuleOp) -> None:
    """
    Move the contents of one module into another, which keeps its name. Nothing happens if both are the same module.
    """
    if other is module:
        return
    block = module.body.block
    for op in list(block.ops):
        op.detach()
        op.erase(safe_erase=False)
    for op in list(other.body.block.ops):
        op.detach()
        block.add_op(op)
    module.attributes = other.attributes
