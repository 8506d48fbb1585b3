"""Test of networks without a computation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.tools.api import compile, load
from onnx import TensorProto, helper


@pytest.mark.parametrize("budget", [None, 1.0])
def test_an_input_that_is_the_output(budget: float | None, tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    model = helper.make_model(helper.make_graph([], "identity", [value], [value]))
    compile(model, "tiny", budget=budget).save(tmp_path / "identity.mlx")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert load(tmp_path / "identity.mlx").run({"x": x}).outputs["x"].tolist() == x.tolist()
