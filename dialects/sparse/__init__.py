"""Tensors of which only what counts is stored, with an index of where it belongs (see docs/rationale/sparse.md)."""

from xdsl.ir import Dialect

from .attributes import IndexAttr
from .compute import ConvOp, MatmulOp
from .ops import CombineOp, CompactOp, ConnectionsOp, DecodeOp, EncodeOp
from .prune import PruneGroupsOp

Sparse = Dialect(
    "sparse", [EncodeOp, DecodeOp, ConnectionsOp, CombineOp, CompactOp, MatmulOp, ConvOp, PruneGroupsOp], [IndexAttr]
)

__all__ = [
    "CombineOp",
    "CompactOp",
    "ConnectionsOp",
    "ConvOp",
    "DecodeOp",
    "EncodeOp",
    "IndexAttr",
    "MatmulOp",
    "PruneGroupsOp",
    "Sparse",
]
