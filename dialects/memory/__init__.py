"""Buffers in the memories of a chip, transfers between them, and offloaded tensors (see docs/rationale/memory.md)."""

from xdsl.ir import Dialect

from .attributes import BufferType, Space, SpaceAttr
from .formats import Format
from .ops import AllocOp, FreeOp
from .packing import PackOp, UnpackOp
from .stash import AwaitOp, CompletionOp, CompressOp, DecompressOp, MoveOp, RecomputeOp, SwapInOp, SwapOutOp, YieldOp
from .stash_types import StashType, TokenType
from .transfers import CopyOp, GatherOp, LoadOp, SliceTransferOp, StoreOp, WaitOp
from .values import GlobalOp, ViewOp

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
        GlobalOp,
        ViewOp,
        SwapOutOp,
        SwapInOp,
        CompressOp,
        DecompressOp,
        RecomputeOp,
        YieldOp,
        CompletionOp,
        AwaitOp,
        PackOp,
        UnpackOp,
    ],
    [SpaceAttr, BufferType, StashType, TokenType],
)

__all__ = [
    "AllocOp",
    "AwaitOp",
    "BufferType",
    "CompletionOp",
    "CompressOp",
    "CopyOp",
    "DecompressOp",
    "Format",
    "FreeOp",
    "GatherOp",
    "GlobalOp",
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
