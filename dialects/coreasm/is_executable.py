"""A test of whether a module is at the level `coreasm`, which does not import the operations of that level."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

CONTROLLERS = "coreasm.controller", "coreasm.unpacked_controller"
"""Names of the operations that contain a controller's program."""


def is_executable(module: ModuleOp) -> bool:
    """Whether a module is at the level `coreasm`, that is, contains a controller's program."""
    return any(op.name in CONTROLLERS for op in module.ops)
