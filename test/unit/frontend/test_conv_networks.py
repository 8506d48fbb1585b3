"""The bench's convolutional networks: shapes, and the results of a small one, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from conv_networks import NETWORKS, ConvNet, build
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle, compare


@pytest.mark.parametrize("name", NETWORKS)
def test_declared_shapes_equal_onnx_runtimes(name: str) -> None:
    model, inputs = build(name)
    declared = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in model.graph.output}
    found = Oracle(model.SerializeToString()).run(inputs)
    assert {key: list(value.shape) for key, value in found.items()} == declared
    assert all(np.isfinite(value).all() and float(np.abs(value).max()) < 1e3 for value in found.values())


def test_a_small_network_equals_onnx_runtime() -> None:
    """The network has split channels, a depthwise convolution, a channel shuffle and squeeze-and-excitation."""
    net = ConvNet((1, 6, 9, 7), seed=1)
    left, right = net.part("x", 0, 3), net.part("x", 3, 6)
    joined = net.shuffle(net.concat(net.conv(left, 3, 3, groups=3), right), 2)
    model, inputs = net.model(net.squeeze_excite(net.conv(joined, 8, 3, 2, act="Swish")))
    data = model.SerializeToString()
    outputs = compile(data, "tiny").run(inputs).outputs
    for name, expected in Oracle(data).run(inputs).items():
        assert compare(name, outputs[name], expected).equal
