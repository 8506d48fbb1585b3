"""Tests of `meshloom-compile --try`, and of the hint for weights that are mostly zero, on small networks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from meshloom.emulator.executable.executable import read_executable
from meshloom.emulator.timing.engine import run_timing
from meshloom.tools import compile
from onnx import TensorProto, helper, numpy_helper


def network(density: float, frames: int | str = "n") -> bytes:
    """y = x w, with weights of the given density."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((64, 64)) * (random.random((64, 64)) < density)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [frames, 64]) for name in "xy"]
    tensor = numpy_helper.from_array(weight.astype(np.float32), "w")
    graph = helper.make_graph([node], "layer", ends[:1], ends[1:], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


@pytest.mark.parametrize(("density", "hinted"), [(0.6, False), (0.1, True)])
def test_the_hint(density: float, hinted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(network(density))
    arguments = [str(path), "--chip", "tiny", "--shape", "x=4x64", "-o", str(tmp_path / "net.mlx")]
    assert compile.main(arguments) == 0
    hint = "of the weights are zero: --sparse encodes them where that is faster"
    assert (hint in capsys.readouterr().err) == hinted
    assert compile.main([*arguments, "--sparse"]) == 0
    assert hint not in capsys.readouterr().err


def test_reported_cycles_equal_those_with_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "net.onnx", tmp_path / "net.mlx"
    path.write_bytes(network(0.1))
    arguments = [str(path), "--chip", "tiny", "--shape", "x=4x64", "-o", str(output)]
    assert compile.main([*arguments, "--try"]) == 0
    found = re.findall(r"^  (.*?): ([\d,]+) cycles", capsys.readouterr().out, re.MULTILINE)
    cycles = {option: int(number.replace(",", "")) for option, number in found}
    assert set(cycles) == {"--sparse", "--effort high", "a batch 8 times as large"}
    written = output.read_bytes()
    assert compile.main(arguments) == 0
    assert output.read_bytes() == written
    assert compile.main([*arguments, "--sparse"]) == 0
    assert run_timing(read_executable(output)).cycles == cycles["--sparse"]
    batch = [part if part != "x=4x64" else "x=32x64" for part in arguments]
    assert compile.main(batch) == 0
    assert run_timing(read_executable(output)).cycles == cycles["a batch 8 times as large"]


def test_no_larger_batch_is_tried_for_networks_of_a_fixed_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(network(1.0, frames=4))
    arguments = [str(path), "--chip", "tiny", "-o", str(tmp_path / "net.mlx"), "--try", "--effort", "fast"]
    assert compile.main(arguments) == 0
    assert "--try: no other option may reduce the cycles of this network" in capsys.readouterr().out
