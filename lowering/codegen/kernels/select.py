"""The table of instruction selection: operation class -> kernel."""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.dataflow.contraction import ConvOp, MatmulOp
from ....dialects.dataflow.elementwise import BitcastOp, ElementwiseOp
from ....dialects.dataflow.movement import BroadcastOp, ConcatOp, GatherOp, IotaOp, PadOp, SliceOp, TransposeOp
from ....dialects.dataflow.partial_conv import PartialConvOp
from ....dialects.dataflow.partial_matmul import PartialMatmulOp
from ....dialects.dataflow.quantize import QuantizeOp
from ....dialects.dataflow.reduction import ArgReduceOp, CumsumOp, ReduceOp, ReduceWindowOp
from ....dialects.dataflow.reshape import ReshapeOp
from ....dialects.dataflow.scatter import ScatterOp
from ....dialects.dataflow.tiling import TilingInterface
from ....dialects.memory.packing import PackingOp
from ....dialects.sparse.block_ops import (
    PanelCombineOp,
    PanelCompactOp,
    PanelConnectionsOp,
    PanelDecodeOp,
    PanelEncodeOp,
)
from ....dialects.sparse.encoded_matmul import EncodedMatmulOp
from ....dialects.sparse.fill_panels import FillPanelsOp
from ....dialects.sparse.panel_ops import PanelOp
from ....support.errors import MeshloomError
from .blocks import (
    select_encoded_matmul,
    select_panel_combine,
    select_panel_compact,
    select_panel_connections,
    select_panel_decode,
    select_panel_encode,
)
from .common import Kernel
from .contraction import select_conv, select_matmul, select_partial_conv, select_partial_matmul
from .elementwise import select_bitcast, select_elementwise, select_quantize
from .fill_panels import select_fill_panels
from .movement import (
    select_concat,
    select_copy,
    select_gather,
    select_iota,
    select_pad,
    select_reshape,
    select_transpose,
)
from .packing import select_packing
from .panels import select_panels
from .reduction import select_arg_reduce, select_cumsum, select_reduce, select_reduce_window
from .scatter import select_scatter

KERNELS: dict[type[Operation], Kernel] = {
    BitcastOp: select_bitcast,
    QuantizeOp: select_quantize,
    ElementwiseOp: select_elementwise,
    MatmulOp: select_matmul,
    ConvOp: select_conv,
    PanelOp: select_panels,
    FillPanelsOp: select_fill_panels,
    PanelEncodeOp: select_panel_encode,
    PanelDecodeOp: select_panel_decode,
    PanelConnectionsOp: select_panel_connections,
    PanelCombineOp: select_panel_combine,
    PanelCompactOp: select_panel_compact,
    EncodedMatmulOp: select_encoded_matmul,
    PackingOp: select_packing,
    PartialConvOp: select_partial_conv,
    PartialMatmulOp: select_partial_matmul,
    ReduceOp: select_reduce,
    ReduceWindowOp: select_reduce_window,
    ArgReduceOp: select_arg_reduce,
    CumsumOp: select_cumsum,
    ReshapeOp: select_reshape,
    TransposeOp: select_transpose,
    SliceOp: select_copy,
    BroadcastOp: select_copy,
    ConcatOp: select_concat,
    PadOp: select_pad,
    GatherOp: select_gather,
    ScatterOp: select_scatter,
    IotaOp: select_iota,
}
"""Kernels by operation class; a class includes its subclasses."""

_PLACELESS = frozenset[Kernel]({
    select_bitcast,
    select_elementwise,
    select_matmul,
    select_partial_conv,
    select_partial_matmul,
    select_reduce,
    select_reduce_window,
    select_arg_reduce,
    select_cumsum,
    select_transpose,
    select_copy,
})  # fmt: skip
"""Kernels that do not depend on the position of a tile in the iteration space."""

DRAM_OPERANDS: dict[type[Operation], frozenset[int]] = {GatherOp: frozenset({0})}
"""Operands that kernels also accept in DRAM."""


def kernel_of(op: Operation) -> Kernel:
    """The kernel for an operation. Raises MeshloomError if there is none."""
    for kind in type(op).__mro__:
        kernel = KERNELS.get(kind)
        if kernel is not None:
            return kernel
    raise MeshloomError(
        f"no instructions are known for '{op.name}': "
        "lower it to other operations, or add a kernel to lowering/codegen/kernels"
    )


def placed_dims(op: TilingInterface) -> tuple[int, ...]:
    """
    The dimensions of an operation's iteration space along which its kernel depends on the position of a tile. Tiles
    that differ only in other dimensions get the same instructions for the same views.
    """
    if isinstance(op, ConvOp) and op.group_count == 1:
        return (2 + op.spatial,)  # input channels may be split
    return () if kernel_of(op) in _PLACELESS else tuple(range(len(op.iteration_space())))
