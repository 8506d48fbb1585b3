"""Buffers in the chip's memories, and tensors that leave them for a while (see docs/rationale/memory.md)."""

from xdsl.ir import Dialect

from .attributes import BufferType, Space, SpaceAttr
from .formats import Format
from .ops import AllocOp, FreeOp
from .packing import PackOp, UnpackOp
from .stash import AfterOp, CompressOp, DecompressOp, DoneOp, MoveOp, RecomputeOp, SwapInOp, SwapOutOp, YieldOp
from .stash_types import StashType, TokenType
from .transfers import CopyOp, GatherOp, LoadOp, SliceTransferOp, StoreOp, WaitOp
from .values import HoldOp, ViewOp

Memory = Dialect(
    "memory",
    [
        AllocOp,
        FreeOp,
        LoadOp,
        GatherOp,
        StoreOp,
        CopyOp,
        WaitOp,
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
    "GatherOp",
    "HoldOp",
    "LoadOp",
    "Memory",
    "MoveOp",
    "PackOp",
    "RecomputeOp",
    "SliceTransferOp",
    "Space",
    "SpaceAttr",
    "StashType",
    "StoreOp",
    "SwapInOp",
    "SwapOutOp",
    "TokenType",
    "UnpackOp",
    "ViewOp",
    "WaitOp",
    "YieldOp",
]
