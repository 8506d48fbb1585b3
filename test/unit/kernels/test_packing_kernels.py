"""Conversions to bytes of narrow formats and back, tile by tile on a core, against the formats' own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from meshloom.dialects.memory import PackOp, UnpackOp, formats
from meshloom.support.errors import MeshloomError

VALUES = np.random.default_rng(0).standard_normal((3, 10, 7)).astype(np.float32) * 100


@pytest.mark.parametrize(
    ("format", "spread"),
    [*((one, False) for one in formats.FLOATS), (formats.F8E4M3, True), (formats.F8E5M2, True)],
)
def test_pack_and_unpack(
    format: formats.FloatFormat, spread: bool, run_tiles: Callable[..., Any], ssa: Callable[..., tuple[Any, ...]]
) -> None:
    packed = format.pack(VALUES)
    found = run_tiles(PackOp(ssa(VALUES)[0], format), [VALUES], parts=(1, 3, 2), spread=spread)
    np.testing.assert_array_equal(found, packed)
    back = run_tiles(UnpackOp(ssa(packed)[0], format), [packed], parts=(3, 2, 1), spread=spread)
    np.testing.assert_array_equal(back, format.unpack(packed))


def test_bytes_of_an_element_must_be_contiguous(
    run_tiles: Callable[..., Any], ssa: Callable[..., tuple[Any, ...]]
) -> None:
    with pytest.raises(MeshloomError, match="are not contiguous"):
        run_tiles(PackOp(ssa(VALUES)[0], formats.F24), [VALUES], spread=True)
