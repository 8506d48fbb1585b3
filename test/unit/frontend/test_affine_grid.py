"""AffineGrid against ONNX Runtime: any batch, either alignment, two and three dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from reference import check_node, ints, random


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("spatial", [(4, 5), (4, 5, 6), (1, 3)])
@pytest.mark.parametrize("corners", [None, 0, 1])
def test_affine_grid(batch: int, spatial: tuple[int, ...], corners: int | None) -> None:
    if 1 in spatial and corners:
        return  # the corners coincide, and ONNX Runtime divides by 0
    theta = random(batch, len(spatial), len(spatial) + 1)
    attributes = {} if corners is None else {"align_corners": corners}
    check_node("AffineGrid", [theta], {1: ints(batch, 2, *spatial)}, opset=20, **attributes)


def test_affine_grid_in_double_precision() -> None:
    check_node("AffineGrid", [random(1, 2, 3).astype(np.float64)], {1: ints(1, 1, 3, 2)}, opset=20)


@pytest.mark.parametrize("op", ["Celu", "Elu", "Shrink", "HardSigmoid", "ThresholdedRelu", "Gelu", "HannWindow"])
def test_omitted_attributes_have_their_defaults(op: str) -> None:
    """Omitted attributes have their defaults, also in operators that ONNX defines as functions of others."""
    operand = {0: np.asarray(7, np.int64)} if op == "HannWindow" else {}
    check_node(op, [] if operand else [random(2, 9) * 3], operand, opset=20)
