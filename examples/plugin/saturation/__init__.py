"""
A plug-in with one extension of each kind: an operation that saturates values between two bounds, its instruction, a
sparse format, a compressed format for offloaded tensors, a chip with an additional key, and methods of placement and
ordering.

    meshloom-compile net.onnx --plugin examples/plugin/saturation --chip quick -o net.mlx

or, once it is installed (`pip install examples/plugin`), without an option.
"""

from __future__ import annotations

from pathlib import Path

from meshloom import plugins

from . import operator as operator
from .byte_to_six import ByteToSix, pack_bytes, unpack_bytes
from .find_saturation import FindSaturationPass
from .instructions import BOUNDS, CLAMP, HAS_CLAMP, bounds, clamp, select_bounds, select_clamp
from .methods import best_of_a_few, make_first_two, place_mirrored, serpentine
from .operations import BoundsOp, ClampOp, Saturate
from .two_level import TwoLevelKind

plugins.add_dialect(Saturate)
plugins.add_instruction(CLAMP, clamp)
plugins.add_kernel(ClampOp, select_clamp)
plugins.add_instruction(BOUNDS, bounds)
plugins.add_kernel(BoundsOp, select_bounds)
plugins.add_pass(FindSaturationPass, before="dataflow-merge-constants")
plugins.add_chip_key(HAS_CLAMP)
plugins.add_chip(Path(__file__).parent / "quick.toml")
plugins.add_placement_method("mirrored", place_mirrored)
plugins.add_mapping_method("serpentine", serpentine)
plugins.add_order_search("a-few", best_of_a_few)
plugins.add_fusion_strategy("first-two", make_first_two)
plugins.add_sparse_format(TwoLevelKind())
plugins.add_compression(ByteToSix(), pack_bytes, unpack_bytes)
