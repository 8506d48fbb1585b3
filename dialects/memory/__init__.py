"""Buffers in the chip's memories (see docs/rationale/memory.md)."""

from xdsl.ir import Dialect

from .attributes import BufferType, Space, SpaceAttr
from .ops import AllocOp, CopyOp, FreeOp, LoadOp, StoreOp, TransferOp
from .values import HoldOp, ViewOp

Memory = Dialect("memory", [AllocOp, FreeOp, LoadOp, StoreOp, CopyOp, HoldOp, ViewOp], [SpaceAttr, BufferType])

__all__ = [
    "AllocOp",
    "BufferType",
    "CopyOp",
    "FreeOp",
    "HoldOp",
    "LoadOp",
    "Memory",
    "Space",
    "SpaceAttr",
    "StoreOp",
    "TransferOp",
    "ViewOp",
]
