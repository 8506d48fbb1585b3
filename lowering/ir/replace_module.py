"""One module in the place of another."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp


def replace_module(module: ModuleOp, other: ModuleOp) -> None:
    """Make a module, whose name stays, what another one is, which is left empty. One that is itself stays."""
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
