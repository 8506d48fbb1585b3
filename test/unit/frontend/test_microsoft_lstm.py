"""DynamicQuantizeLSTM against ONNX Runtime's own kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Array, check_node, random

check_microsoft = partial(check_node, domain="com.microsoft")
OPTIONS = settings(deadline=None, max_examples=40, derandomize=True)
STEPS, BATCH, WIDTH, SIZE = 3, 2, 5, 4


@OPTIONS
@given(
    direction=st.sampled_from(["forward", "reverse", "bidirectional"]),
    dtype=st.sampled_from([np.uint8, np.int8]),
    by_column=st.booleans(),
    bias=st.booleans(),
    lengths=st.booleans(),
    states=st.booleans(),
    peepholes=st.booleans(),
    clip=st.sampled_from([None, 0.5]),
    coupled=st.booleans(),
    activations=st.sampled_from([None, ("HardSigmoid", "Relu", "Softsign")]),
    seed=st.integers(0, 99),
)
def test_dynamic_quantize_lstm(
    direction: str,
    dtype: Any,
    by_column: bool,
    bias: bool,
    lengths: bool,
    states: bool,
    peepholes: bool,
    clip: float | None,
    coupled: bool,
    activations: tuple[str, str, str] | None,
    seed: int,
) -> None:
    count = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(seed)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    columns = (count, 4 * SIZE) if by_column else (count,)
    zero = 0 if dtype == np.int8 else 120
    given: dict[int, Array] = {
        1: rng.integers(low, high, (count, WIDTH, 4 * SIZE), dtype, endpoint=True),
        2: rng.integers(low, high, (count, SIZE, 4 * SIZE), dtype, endpoint=True),
        8: rng.uniform(0.002, 0.01, columns).astype(np.float32),
        9: np.full(columns, zero, dtype),
        10: rng.uniform(0.002, 0.01, columns).astype(np.float32),
        11: np.full(columns, zero, dtype),
    }
    if bias:
        given[3] = random(count, 8 * SIZE, seed=seed)
    if lengths:
        given[4] = np.asarray([STEPS, STEPS - 1], np.int32)
    if states:
        given |= {5: random(count, BATCH, SIZE, seed=seed + 1), 6: random(count, BATCH, SIZE, seed=seed + 2)}
    if peepholes:
        given[7] = random(count, 3 * SIZE, seed=seed + 3)
    attributes: dict[str, Any] = {} if clip is None else {"clip": clip}
    if activations is not None:
        attributes["activations"] = list(activations * count)
    check_microsoft(
        "DynamicQuantizeLSTM",
        [random(STEPS, BATCH, WIDTH, seed=seed)],
        given,
        outputs=3,
        tolerance=1e-4,
        hidden_size=SIZE,
        direction=direction,
        input_forget=int(coupled),
        **attributes,
    )
