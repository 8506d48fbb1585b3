"""BitCast on the chip against views in numpy: every bit is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import helper
from reference import Array, model_of

from meshloom.backend import MeshloomBackend

PAIRS = [
    (np.float32, np.int32),
    (np.int32, np.float32),
    (np.float32, np.uint32),
    (np.uint16, np.float16),
    (np.int64, np.float64),
    (np.float64, np.uint64),
    (np.int8, np.uint8),
    (np.bool_, np.uint8),
    (np.bool_, np.int8),
]


def bit_cast(x: Array, to: Any) -> onnx.ModelProto:
    """A model of one BitCast."""
    node = helper.make_node("BitCast", ["x"], ["y"], name="b", to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    return model_of([node], {"x": x}, ["y"], opset=26)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda one: np.dtype(one).name)
def test_all_bits_are_kept(source: Any, target: Any) -> None:
    """Operands are random bits, including NaN with and without the quiet bit, infinities and the smallest numbers."""
    rng = np.random.default_rng(0)
    if source == np.bool_:
        x = rng.integers(0, 2, (6, 40)).astype(np.bool_)
    else:
        x = rng.integers(0, 256, (6, 40 * np.dtype(source).itemsize), np.uint8).view(source)
    if source == np.float32:
        x[0, :4] = np.asarray([0x7F800001, 0x7FC00001, 0xFF800000, 1], np.uint32).view(np.float32)
    got = MeshloomBackend.run_model(bit_cast(x, target), [x])[0]
    assert got.dtype == target
    assert got.tobytes() == x.view(target).tobytes()


def test_types_of_other_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="float32 has 32 bits, int64 has 64"):
        import_onnx(bit_cast(np.zeros(4, np.float32), np.int64))
