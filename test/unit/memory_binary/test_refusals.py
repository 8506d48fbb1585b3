"""Tests of the messages of rejected budgets: an operation that does not fit, and the smallest sufficient budget."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from meshloom.tools.compile import main
from onnx import TensorProto, helper, numpy_helper


def product(width: int, path: Path) -> None:
    """y = relu(x w) with 4 WIDTH^2 bytes of weights, which is split into products of parts of w if memory is small."""
    weights = np.random.default_rng(0).standard_normal((width, width)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, width])],
        [numpy_helper.from_array(weights, "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(made.SerializeToString())


@pytest.mark.slow
@pytest.mark.parametrize(("width", "budget"), [(24, 500), (48, 100), (48, 500), (48, 1000)])
def test_the_operation_that_does_not_fit_is_within_the_sufficient_budget(
    width: int, budget: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "product.onnx"
    product(width, path)
    options = [str(path), "--chip", "tiny", "--effort", "fast", "--jobs", "1", "-q"]
    options += ["-o", str(path.with_suffix(".mlx"))]
    assert main([*options, "--budget", str(budget)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    found = re.fullmatch(rf"error: a budget of {budget} bytes of DRAM is too small: (.*); (\d+) bytes are enough", line)
    assert found is not None
    enough = int(found[2])
    needed = [int(one) for one in re.findall(r"needs (\d+) bytes", found[1])]
    assert all(budget < one <= enough for one in needed), line
    assert needed or "cannot be split into launches for this budget" in line
    assert main([*options, "--budget", str(enough)]) == 0
