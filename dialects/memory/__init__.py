"""Buffers in the chip's memories, and tensors that leave them for a while (see docs/rationale/memory.md)."""

from xdsl.ir import Dialect

from .attributes import BufferType, Space, SpaceAttr
from .formats import Format
from .ops import AllocOp, CopyOp, FreeOp, LoadOp, StoreOp, TransferOp
from .packing import PackOp, UnpackOp
from .stash import AfterOp, CompressOp, DecompressOp, DoneOp, MoveOp, RecomputeOp, SwapInOp, SwapOutOp, YieldOp
from .stash_types import StashType, TokenType
from .values import HoldOp, ViewOp

Memory = Dialect(
    "memory",
    [
        AllocOp,
        FreeOp,
        LoadOp,
        StoreOp,
        CopyOp,
        HoldOp,
        ViewOp,
        SwapOutOp,
        SwapInOp,
        CompressOp,
        DecompressOp,
        RecomputeOp,
        YieldOp,
        DoneOp,
        AfterOp,
        PackOp,
        UnpackOp,
    ],
    [SpaceAttr, BufferType, StashType, TokenType],
)

__all__ = [
    "AfterOp",
    "AllocOp",
    "BufferType",
    "CompressOp",
    "CopyOp",
    "DecompressOp",
    "DoneOp",
    "Format",
    "FreeOp",
    "HoldOp",
    "LoadOp",
    "Memory",
    "MoveOp",
    "PackOp",
    "RecomputeOp",
    "Space",
    "SpaceAttr",
    "StashType",
    "StoreOp",
    "SwapInOp",
    "SwapOutOp",
    "TokenType",
    "TransferOp",
    "UnpackOp",
    "ViewOp",
    "YieldOp",
]
