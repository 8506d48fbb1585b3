"""Tests of names of values that end in numbers: each is defined once, and texts compile to the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from dense_networks import dense_layers
from meshloom.tools import compile as compile_tool
from meshloom.tools import opt
from onnx import ModelProto
from xdsl.ir import SSAValue


def numbered(names: dict[str, str]) -> ModelProto:
    """Four equal layers, with values renamed by `names`."""
    model = dense_layers([96] * 5)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    return model


@pytest.mark.parametrize("name", ["x", "x_", "x_1", "x_1_2", "x__12_0_3", "_1", "_1_2", "_", "$1_2", "x.1_2"])
def test_names_are_stable_when_read_again(name: str) -> None:
    found = SSAValue.extract_valid_name(name)
    assert found
    for printed in (found, f"{found}_1", f"{found}_23"):
        assert SSAValue.extract_valid_name(printed) == found


def test_no_value_is_defined_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values whose names without numbers would be `a_1`, `a` and `a` have different names."""
    text = """
func.func @main(%a_1_0: tensor<4xf32>) -> tensor<4xf32> {
  %a = dataflow.relu %a_1_0 : (tensor<4xf32>) -> tensor<4xf32>
  %a_0 = dataflow.neg %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a_0 : tensor<4xf32>
}
"""
    given, once, again = tmp_path / "given.mlir", tmp_path / "once.mlir", tmp_path / "again.mlir"
    given.write_text(text)
    assert opt.main([str(given), "-o", str(once)]) == 0
    assert opt.main([str(once), "-o", str(again)]) == 0
    assert again.read_text() == once.read_text()
    assert capsys.readouterr().err == ""


def test_names_of_tensors_between_chips_are_the_same_from_network_and_texts(tmp_path: Path) -> None:
    names = {"r0": "conv__7:0", "r1": "conv__120:0", "r2": "conv_1_2", "g1": "conv", "g2": "conv_3"}
    model, expected, stages = tmp_path / "model.onnx", tmp_path / "expected.mlx", tmp_path / "stages"
    model.write_bytes(numbered(names).SerializeToString())
    options = ["--chip=tiny", "--chips=2", "-q"]
    given = [str(model), *options, "-o", str(expected), "--print-ir-after-all", str(stages)]
    assert compile_tool.main(given) == 0
    texts = sorted(stages.glob("*.mlir"))
    assert len(texts) >= 5
    for text in texts:
        again = tmp_path / f"{text.stem}.mlx"
        above = text.stem.endswith(("import", "simplify"))
        assert compile_tool.main([str(text), *(options if above else options[::2]), "-o", str(again)]) == 0
        assert again.read_bytes() == expected.read_bytes(), text.name
