"""Folding, shapes, errors and weights of the importer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from meshloom.dialects import weight_references
from meshloom.dialects.dataflow import WeightOp
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.formats import weights
from meshloom.frontend.onnx_import import ValuesNeededError, import_onnx
from meshloom.support.errors import InputError
from onnx import TensorProto, helper
from reference import check, ints, model_of, ops_of, random
from xdsl.dialects.builtin import ModuleOp

from meshloom.backend import MeshloomBackend

SAVE = cast(Any, onnx).save


def weights_of(module: ModuleOp) -> list[WeightOp]:
    """All weights of a module."""
    return [op for op in module.walk() if isinstance(op, WeightOp)]


def test_shape_arithmetic_is_folded() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axes"], ["row"]),
        helper.make_node("Concat", ["row", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    inputs = {"x": random(2, 3, 4)}
    constants = {"zero": np.asarray(0, np.int64), "axes": ints(0), "rest": ints(-1)}
    assert ops_of(check(model_of(nodes, inputs, ["y"], constants), inputs)) == ["reshape"]


def test_batch_normalisation_folds_into_convolution() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["y"]),
    ]
    inputs = {"x": random(1, 2, 5, 5)}
    constants = {"w": random(3, 2, 3, 3, seed=1), "scale": random(3, seed=2), "shift": random(3, seed=3)}
    constants |= {"mean": random(3, seed=4), "var": np.abs(random(3, seed=5)) + 0.5}
    module = check(model_of(nodes, inputs, ["y"], constants), inputs)
    assert [name for name in ops_of(module) if name != "constant"] == ["conv", "add"]


def test_batch_normalisation_leaves_a_convolution_with_other_users() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "one", "zero", "zero", "one"], ["n"]),
        helper.make_node("Add", ["n", "c"], ["y"]),
    ]
    inputs = {"x": random(1, 2, 5, 5)}
    constants = {"w": random(3, 2, 3, 3), "one": np.full(3, 2, np.float32), "zero": np.zeros(3, np.float32)}
    assert ops_of(check(model_of(nodes, inputs, ["y"], constants), inputs)).count("conv") == 1


def branch(op: str) -> onnx.GraphProto:
    """A branch that applies one operator to the outer value x."""
    output = helper.make_tensor_value_info("out_" + op, TensorProto.FLOAT, [3])
    return helper.make_graph([helper.make_node(op, ["x"], ["out_" + op])], op, [], [output])


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_if(flag: bool, known: bool) -> None:
    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("Relu"), else_branch=branch("Neg"))
    inputs = {"x": random(3)} if known else {"x": random(3), "flag": np.asarray(flag)}
    module = check(model_of([node], inputs, ["y"], {"flag": np.asarray(flag)} if known else {}), inputs)
    assert ("select" in ops_of(module)) == (not known)


def test_nodes_may_read_values_of_later_nodes() -> None:
    """The branches of an If may read a value that is computed after it, as in models of quantisers."""
    nodes = [
        helper.make_node("If", ["flag"], ["s"], then_branch=branch("Sin"), else_branch=branch("Cos")),
        helper.make_node("Add", ["s", "late"], ["y"]),
        helper.make_node("Neg", ["x"], ["late"]),
    ]
    inputs = {"flag": np.asarray(True), "x": random(3)}
    assert ops_of(check(model_of(nodes, inputs, ["y"]), inputs)) == ["sin", "cos", "select", "neg", "add"]
    nodes[0].attribute[0].g.node[0].input[0] = "late"
    assert ops_of(check(model_of(nodes, inputs, ["y"]), inputs)) == ["neg", "sin", "cos", "select", "add"]


def test_local_functions_are_inlined() -> None:
    function = helper.make_function(
        "mine",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["s"]), helper.make_node("LeakyRelu", ["s"], ["b"])],
        [helper.make_opsetid("", 18)],
    )
    model = model_of([helper.make_node("Twice", ["x"], ["y"], domain="mine")], {"x": random(3)}, ["y"])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    check(model, {"x": random(3)})


def symbolic(*dims: str | int) -> onnx.ModelProto:
    """A model of Relu of an input with this declared shape."""
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [info], [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_symbolic_batch_is_one_and_others_must_be_given() -> None:
    notes: list[str] = []
    assert "tensor<1x3xf32>" in str(import_onnx(symbolic("N", 3), on_note=notes.append))
    (note,) = notes
    assert note.startswith(
        "g: input 'x' is [N, 3], dimension 'N' is taken as 1; set it with --shape x=1x3 (in Python: shapes=)"
    )
    assert "tensor<2x7xf32>" in str(import_onnx(symbolic("N", "width"), {"x": (2, 7)}, on_note=notes.append))
    assert len(notes) == 1
    with pytest.raises(InputError, match=r"--shape x=1x\?"):
        import_onnx(symbolic("N", "width"))


def twice(inputs: int, nodes: int, outputs: int) -> onnx.ModelProto:
    """A model that contains its input, node and output this number of times."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])] * nodes, "g", [x] * inputs, [y] * outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (twice(2, 1, 1), "g: value 'x' is defined twice"),
        (twice(1, 2, 1), "g: value 'y' is defined twice"),
    ],
)
def test_names_are_unique(model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_onnx(model)


def test_an_output_declared_twice_is_computed_once() -> None:
    x = np.array([-1, 0, 1, 2], np.float32)
    assert {
        name: value.tolist() for name, value in interpret_function(import_onnx(twice(1, 1, 2)), {"x": x}).items()
    } == {"y": [0, 0, 1, 2]}
    first, second = cast(Any, MeshloomBackend).run_model(twice(1, 1, 2), [x])
    assert first.tolist() == second.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(("shapes", "message"), [({"z": (1, 3)}, "no input 'z'"), ({"x": (1, 4)}, "does not fit")])
def test_wrong_shapes(shapes: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_onnx(symbolic("N", 3), shapes)


def test_all_unsupported_operators_are_named_at_once() -> None:
    nodes = [
        helper.make_node("MaxRoiPool", ["x", "x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="allowed"),
        helper.make_node("Nonsense", ["b"], ["y"], name="second", domain="com.example"),
    ]
    model = model_of(nodes, {"x": random(3, 3)}, ["y"])
    with pytest.raises(InputError) as caught:
        import_onnx(model)
    message = str(caught.value)
    assert "MaxRoiPool (domain ai.onnx, opset 18), node first" in message
    assert "Nonsense (domain com.example, opset 1), node second" in message
    assert "allowed" not in message


def test_unused_nodes_are_ignored() -> None:
    nodes = [helper.make_node("RandomNormalLike", ["x"], ["a"]), helper.make_node("Relu", ["x"], ["y"])]
    check(model_of(nodes, {"x": random(3, 3)}, ["y"]), {"x": random(3, 3)})


def test_inputs_whose_values_are_needed_are_named() -> None:
    inputs = {"x": random(2, 3), "shape": ints(3, 2)}
    model = model_of([helper.make_node("Reshape", ["x", "shape"], ["y"])], inputs, ["y"])
    with pytest.raises(ValuesNeededError) as caught:
        import_onnx(model)
    assert caught.value.inputs == ("shape",)
    module = import_onnx(model, values={"shape": inputs["shape"]})
    result = interpret_function(module, {"x": inputs["x"]})["y"]
    np.testing.assert_array_equal(result, inputs["x"].reshape(3, 2))


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    data = symbolic(1, 3).SerializeToString()
    for bad in (b"", b"no model at all", data[: len(data) // 2]):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"net\.onnx"):
            import_onnx(path)
    with pytest.raises(InputError, match="cannot read"):
        import_onnx(tmp_path / "absent.onnx")


def big_model() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model with a weight that is too large to be printed in textual IR."""
    inputs = {"x": random(2, 64)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    return model_of(nodes, inputs, ["y"], {"w": random(64, 64, seed=1)}), inputs


def test_weights_stay_in_the_onnx_file(tmp_path: Path) -> None:
    model, inputs = big_model()
    path = tmp_path / "net.onnx"
    SAVE(model, path)
    module = import_onnx(path)
    (weight,) = weights_of(module)
    assert weight.source.data == str(path)
    before = interpret_function(module, inputs)["y"]
    np.testing.assert_allclose(before, np.maximum(inputs["x"] @ random(64, 64, seed=1), 0), rtol=1e-5, atol=1e-5)
    data = bytearray(path.read_bytes())
    data[weight.offset.value.data + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="has changed"):
        interpret_function(module, inputs)
    path.unlink()
    with pytest.raises(InputError, match="is missing"):
        interpret_function(module, inputs)


def test_weights_in_external_data_files(tmp_path: Path) -> None:
    model, inputs = big_model()
    path = tmp_path / "net.onnx"
    SAVE(model, path, save_as_external_data=True, location="net.data", size_threshold=0)
    module = import_onnx(path)
    assert [weight.source.data for weight in weights_of(module)] == [str(tmp_path / "net.data")]
    interpret_function(module, inputs)


def test_side_file(tmp_path: Path) -> None:
    model, inputs = big_model()
    module = import_onnx(model)
    (weight,) = weights_of(module)
    assert weight.source.data == "mem"
    before = interpret_function(module, inputs)["y"]
    side = tmp_path / "net.weights"
    assert weight_references.externalise(module, side) == 64 * 64 * 4
    assert weight.source.data == str(side)
    np.testing.assert_array_equal(interpret_function(module, inputs)["y"], before)
    assert weight_references.externalise(module, tmp_path / "again") == 0
    side.write_bytes(side.read_bytes()[:-1])
    with pytest.raises(InputError, match="too short"):
        interpret_function(module, inputs)


def test_unknown_bytes_in_memory() -> None:
    with pytest.raises(InputError, match="not in this process"):
        weights.STORE.get(weights.WeightRef("mem", 0, 4, "0" * 64))


def test_large_uniform_constants_are_broadcast() -> None:
    inputs = {"x": random(64, 64)}
    constants = {"c": np.full((64, 64), 3, np.float32)}
    module = check(model_of([helper.make_node("Add", ["x", "c"], ["y"])], inputs, ["y"], constants), inputs)
    assert not weights_of(module)
