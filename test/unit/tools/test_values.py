"""Tests of constant inputs: `--value` on command lines, `values=` in Python; and of branches that need one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import ValuesNeededError, import_onnx
from meshloom.support.errors import InputError
from meshloom.tools import compile as compile_tool
from meshloom.tools import opt as opt_tool
from meshloom.tools import plan as plan_tool
from meshloom.tools import run as run_tool
from meshloom.tools import sparsity as sparsity_tool
from meshloom.tools.oracle import Oracle
from meshloom.tools.values import parse_values
from onnx import TensorProto, helper, numpy_helper

import meshloom

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def two_rates() -> onnx.ModelProto:
    """y = x w with weights [576, 3] for rate 16000, or [288, 3] for rate 8000: only one of them fits x."""
    random = np.random.default_rng(0)
    rates = {16000: random.standard_normal((576, 3)), 8000: random.standard_normal((288, 3))}
    branches = {
        rate: helper.make_graph(
            [helper.make_node("MatMul", ["x", f"w{rate}"], [f"y{rate}"])],
            f"at_{rate}",
            [],
            [helper.make_tensor_value_info(f"y{rate}", F32, ["n", 3])],
            [numpy_helper.from_array(weights.astype(np.float32), f"w{rate}")],
        )
        for rate, weights in rates.items()
    }
    nodes = [
        helper.make_node("Equal", ["sr", "rate"], ["is"]),
        helper.make_node("If", ["is"], ["y"], "choice", then_branch=branches[16000], else_branch=branches[8000]),
    ]
    graph = helper.make_graph(
        nodes,
        "two_rates",
        [helper.make_tensor_value_info("x", F32, ["n", "samples"]), helper.make_tensor_value_info("sr", I64, [])],
        [helper.make_tensor_value_info("y", F32, ["n", 3])],
        [numpy_helper.from_array(np.asarray(16000, np.int64), "rate")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.onnx").write_bytes(two_rates().SerializeToString())
    return Path("net.onnx")


@pytest.mark.parametrize(("rate", "samples"), [(16000, 576), (8000, 288)])
def test_a_known_condition_takes_one_branch(rate: int, samples: int, path: Path) -> None:
    network = meshloom.compile(path, "tiny", {"x": (1, samples)}, values={"sr": rate})
    assert isinstance(network, meshloom.CompiledNetwork)
    x = np.random.default_rng(1).standard_normal((1, samples)).astype(np.float32)
    expected = Oracle(path).run({"x": x, "sr": np.asarray(rate, np.int64)})
    np.testing.assert_allclose(network.run({"x": x}).outputs["y"], expected["y"], rtol=1e-4, atol=1e-4)


def test_the_error_of_a_condition_at_run_time_names_the_input(path: Path) -> None:
    with pytest.raises(ValuesNeededError) as caught:
        import_onnx(path, {"x": (1, 576)})
    assert caught.value.inputs == ("sr",)
    assert "node choice: a branch cannot be imported" in str(caught.value)
    assert "fixing an input may help: --value sr=... (in Python: values=)" in str(caught.value)


def test_the_command_lines(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = ["--shape", "x=1x576", "--value", "sr=16000"]
    assert opt_tool.main(["net.onnx", *given]) == 0
    assert plan_tool.main(["net.onnx", *given, "--units", "-q"]) == 0
    assert sparsity_tool.main(["net.onnx", *given]) == 0
    assert compile_tool.main(["net.onnx", *given, "--chip", "tiny", "-o", "net.mlx", "-q"]) == 0
    check = ["net.mlx", "--random", "0", "--check", "net.onnx"]
    assert run_tool.main([*check, "--value", "sr=16000"]) == 0
    capfd.readouterr()
    assert run_tool.main(check) == 2
    assert "has no input 'sr'" in capfd.readouterr().err
    assert run_tool.main(["net.mlx", "--random", "0", "--value", "sr=16000"]) == 2
    assert "give both" in capfd.readouterr().err
    Path("text.mlir").write_text("func.func @main() { func.return }")
    for main, more in ((opt_tool.main, []), (compile_tool.main, ["--chip", "tiny", "-o", "out.mlx"])):
        assert main(["text.mlir", "--value", "sr=1", *more]) == 2
        assert "--value is for ONNX models" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("a=3", np.asarray(3)),
        ("a=-1.5e3", np.asarray(-1500.0)),
        ("a=true", np.asarray(True)),
        ("a=1,2,3", np.asarray([1, 2, 3])),
        ("a=b=3", None),
        ("a=", None),
        ("=3", None),
        ("3", None),
        ("a=1,,2", None),
        ("a=0x10", None),
        ("a=missing.npy", None),
    ],
)
def test_syntax_of_values(option: str, value: Any) -> None:
    if value is None:
        with pytest.raises(InputError):
            parse_values([option])
    else:
        (got,) = parse_values([option]).values()
        assert (got.dtype, got.shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(got, value)


def test_values_from_a_file_and_twice(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.arange(3))
    np.testing.assert_array_equal(parse_values([f"a={tmp_path}/v.npy"])["a"], [0, 1, 2])
    with pytest.raises(InputError, match="given twice"):
        parse_values(["a=1", "a=2"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": 1}, "has no input 'rate'; its inputs are: sr, x"),
        ({"sr": 16000.5}, "the value of input 'sr' does not fit its type int64"),
        ({"sr": float("nan")}, "the value of input 'sr' does not fit its type int64"),
        ({"sr": [1, 2]}, "shape 2 does not fit input 'sr'"),
        ({"sr": "16000"}, "the value of input 'sr' is not an array of numbers"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, Any], message: str, path: Path) -> None:
    with pytest.raises(InputError, match=message):
        import_onnx(path, {"x": (1, 576)}, values)


def test_one_number_for_an_input_of_one_element() -> None:
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", F32, [2, 3]), helper.make_tensor_value_info("s", I64, [1])],
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert "tensor<6xf32>" in str(import_onnx(model, values=parse_values(["s=-1"])))
