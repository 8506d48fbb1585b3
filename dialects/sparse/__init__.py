"""Tensors encoded as stored elements and an index of their positions (see docs/rationale/sparse.md)."""

from xdsl.ir import Dialect

from .attributes import IndexAttr
from .block_ops import (
    BlockOp,
    PanelCombineOp,
    PanelCompactOp,
    PanelConnectionsOp,
    PanelDecodeOp,
    PanelEncodeOp,
)
from .compute import ConvOp, MatmulOp
from .encoded_matmul import EncodedMatmulOp
from .fill_panels import FillPanelsOp
from .ops import CombineOp, CompactOp, ConnectionsOp, DecodeOp, EncodeOp
from .panel_attribute import PanelsAttr
from .panel_ops import PanelConvOp, PanelMatmulOp, PanelOp
from .prune import PruneGroupsOp

Sparse = Dialect(
    "sparse",
    [
        EncodeOp,
        DecodeOp,
        ConnectionsOp,
        CombineOp,
        CompactOp,
        MatmulOp,
        ConvOp,
        PruneGroupsOp,
        PanelMatmulOp,
        PanelConvOp,
        FillPanelsOp,
        PanelEncodeOp,
        PanelDecodeOp,
        PanelConnectionsOp,
        PanelCombineOp,
        PanelCompactOp,
        EncodedMatmulOp,
    ],
    [IndexAttr, PanelsAttr],
)

__all__ = [
    "BlockOp",
    "CombineOp",
    "CompactOp",
    "ConnectionsOp",
    "ConvOp",
    "DecodeOp",
    "EncodeOp",
    "EncodedMatmulOp",
    "FillPanelsOp",
    "IndexAttr",
    "MatmulOp",
    "PanelCombineOp",
    "PanelCompactOp",
    "PanelConnectionsOp",
    "PanelConvOp",
    "PanelDecodeOp",
    "PanelEncodeOp",
    "PanelMatmulOp",
    "PanelOp",
    "PanelsAttr",
    "PruneGroupsOp",
    "Sparse",
]
