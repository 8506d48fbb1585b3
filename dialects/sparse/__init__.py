"""Tensors of which only what counts is stored, with an index of where it belongs (see docs/rationale/sparse.md)."""

from xdsl.ir import Dialect

from .attributes import IndexAttr
from .compute import ConvOp, MatmulOp
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
    ],
    [IndexAttr, PanelsAttr],
)

__all__ = [
    "CombineOp",
    "CompactOp",
    "ConnectionsOp",
    "ConvOp",
    "DecodeOp",
    "EncodeOp",
    "FillPanelsOp",
    "IndexAttr",
    "MatmulOp",
    "PanelConvOp",
    "PanelMatmulOp",
    "PanelOp",
    "PanelsAttr",
    "PruneGroupsOp",
    "Sparse",
]
