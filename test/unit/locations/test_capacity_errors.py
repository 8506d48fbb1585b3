"""A network that does not fit a chip: the error names the node of the network, as other errors do."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from meshloom.support.errors import ResourceError
from meshloom.tools.api import compile
from meshloom.tools.diagnostics import report
from onnx import TensorProto, helper, numpy_helper


def unpooling(size: int) -> onnx.ModelProto:
    """A network that moves all elements to constant positions by one scatter, which is never split."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, size, size])
    places = np.arange(size * size)[::-1].reshape(1, 1, size, size)
    node = helper.make_node("MaxUnpool", ["x", "places"], ["y"], "unpool", kernel_shape=[1, 1])
    y = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "g", [x], [y], [numpy_helper.from_array(np.ascontiguousarray(places), "places")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_an_operator_that_does_not_fit_in_parts_is_named_by_its_node() -> None:
    with pytest.raises(ResourceError, match=r"operator '\w+' \(dataflow.scatter\) does not fit chip 'tiny'") as caught:
        compile(unpooling(64), "tiny")
    assert report(str(caught.value), caught.value).startswith('loc("unpool"): error: operator ')


def test_an_operator_that_fits_is_computed() -> None:
    x = np.arange(100, dtype=np.float32).reshape(1, 1, 10, 10)
    got = compile(unpooling(10), "tiny").run({"x": x}).outputs["y"]
    np.testing.assert_array_equal(got, x.reshape(-1)[::-1].reshape(x.shape))
