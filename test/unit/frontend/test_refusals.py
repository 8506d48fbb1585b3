"""Errors for models that cannot be imported: one line per operator, with a count, the first node and a remedy."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import helper
from reference import FLOAT, model_of, random


def refusal(model: onnx.ModelProto) -> list[str]:
    """The lines of the error, without the first, which names the model."""
    with pytest.raises(InputError) as caught:
        import_onnx(model)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def chain(nodes: list[onnx.NodeProto], opset: int = 18) -> onnx.ModelProto:
    """A model of nodes one after the other."""
    for index, node in enumerate(nodes):
        node.input[0], node.output[0] = f"x{index}", f"x{index + 1}"
    return model_of(nodes, {"x0": random(2, 3)}, [f"x{len(nodes)}"], opset=opset)


def test_nodes_of_one_operator_are_one_line() -> None:
    nodes = [helper.make_node("Lagrange", ["x"], ["y"], name=f"l{i}", domain="com.example") for i in range(40)]
    nodes.insert(3, helper.make_node("MaxRoiPool", ["x"], ["y"], name="regions"))
    first, second = refusal(chain(nodes))
    assert first.startswith("operator Lagrange (domain com.example, opset 1), 40 nodes, the first l0: ")
    assert "export the model with operators of ONNX" in first
    assert second.startswith("operator MaxRoiPool (domain ai.onnx, opset 18), node regions: ")
    assert "use RoiAlign" in second


def test_other_reasons_are_counted() -> None:
    axes = [7, 7, 8]
    nodes = [helper.make_node("Softmax", [f"x{i}"], [f"y{i}"], name=f"s{i}", axis=axis) for i, axis in enumerate(axes)]
    inputs = {f"x{i}": random(2, 3) for i in range(3)}
    (line,) = refusal(model_of(nodes, inputs, ["y0", "y1", "y2"]))
    assert line == (
        "operator Softmax (domain ai.onnx, opset 18), 3 nodes, the first s0: "
        "axis 7 is out of range for a tensor of rank 2 (1 of them for other reasons)"
    )


def test_an_operator_of_a_later_opset_says_how_to_convert() -> None:
    operands = [helper.make_tensor_value_info(name, FLOAT, [2, 4, 3]) for name in ("x", "s", "b")]
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], name="g", num_groups=2)
    graph = helper.make_graph([node], "g", operands, [helper.make_empty_tensor_value_info("y")])
    (line,) = refusal(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert "opset 18 GroupNormalization is: convert with onnx.version_converter.convert_version(model, 18)" in line


@pytest.mark.parametrize(
    ("domain", "remedy"),
    [
        ("com.microsoft", "write the model without ONNX Runtime's optimisations"),
        ("com.microsoft.nchwc", "let ONNX Runtime optimise up to ORT_ENABLE_EXTENDED only"),
        ("ai.onnx.ml", "end the model before it"),
        ("ai.onnx.preview.training", "the pass dataflow-differentiate computes gradients"),
    ],
)
def test_errors_name_a_remedy_for_the_domain(domain: str, remedy: str) -> None:
    (line,) = refusal(chain([helper.make_node("Wanting", ["x"], ["y"], domain=domain)]))
    assert f"operator Wanting (domain {domain}, opset 1)" in line
    assert remedy in line


def test_a_domain_without_a_version_is_refused() -> None:
    model = chain([helper.make_node("Gelu", ["x"], ["y"], name="g", domain="com.microsoft")])
    del model.opset_import[1:]
    (line,) = refusal(model)
    assert line.endswith("add com.microsoft to opset_import")


@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_scales_of_another_axis_are_named(op: str) -> None:
    x = random(4, 3) if op == "QuantizeLinear" else np.zeros((4, 3), np.uint8)
    node = helper.make_node(op, ["x", "s"], ["y"], axis=1)
    (line,) = refusal(model_of([node], {"x": x}, ["y"], {"s": np.ones((4, 1), np.float32)}))
    assert "a scale or zero point has shape [4, 1], expected 1 element or 3, the size of axis 1" in line


@pytest.mark.parametrize("kind", ["Loop", "Scan"])
def test_an_operator_in_the_body_of_a_loop_is_named(kind: str) -> None:
    """Neither the loop nor its unrolled form can be imported."""
    nodes = [
        helper.make_node("Lagrange", ["c"], ["d"], name="inside", domain="com.example"),
        helper.make_node("Identity", ["d"], ["e"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    c, d, e = (helper.make_tensor_value_info(name, FLOAT, [2, 3]) for name in "cde")
    number = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [])
    go, on = (helper.make_tensor_value_info(name, onnx.TensorProto.BOOL, []) for name in ("go", "on"))
    if kind == "Loop":
        body = helper.make_graph(nodes, "body", [number, go, c], [on, d])
        node = helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)
    else:
        row = helper.make_tensor_value_info("row", FLOAT, [2, 3])
        body = helper.make_graph(nodes[:2], "body", [c, row], [d, e])
        node = helper.make_node("Scan", ["x", "rows"], ["y", "z"], name="loop", body=body, num_scan_inputs=1)
    inputs = {"x": random(2, 3), "rows": random(4, 2, 3)}
    lines = refusal(model_of([node], inputs, ["y"], {"n": np.array(4)}))
    assert any("operator Lagrange (domain com.example" in line and "node inside" in line for line in lines), lines
