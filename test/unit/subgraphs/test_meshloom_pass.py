"""Tests of the pass `meshloom`: the compiler's search in one pass, with dense and with encoded weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dense_networks import dense_layers
from meshloom.lowering.ir.replace_module import replace_module
from meshloom.tools import compile as compile_tool
from meshloom.tools import opt
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.oracle import Oracle, compare
from meshloom.tools.read_module import read_module

import meshloom


@pytest.mark.parametrize("option", ["", " sparse=true"])
def test_its_output_compiles_to_the_network(option: str, tmp_path: Path) -> None:
    model, text, program = (tmp_path / name for name in ("net.onnx", "net.mlir", "net.mlx"))
    model.write_bytes(dense_layers([64] * 3).SerializeToString())
    assert opt.main([str(model), "-p", f"meshloom{{chip=tiny{option}}}", "-o", str(text)]) == 0
    assert compile_tool.main([str(text), "-q", "-o", str(program)]) == 0
    network = meshloom.load(program)
    assert isinstance(network, CompiledNetwork)
    inputs = {"x": np.random.default_rng(0).standard_normal((2, 64)).astype(np.float32)}
    expected = Oracle(model).run(inputs)
    for name, value in network.run(inputs, check=True).outputs.items():
        assert compare(name, value, expected[name]).equal


def test_replacing_a_module_by_itself_changes_nothing(tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    model.write_bytes(dense_layers([16] * 2).SerializeToString())
    module = read_module(model, {})
    before = str(module)
    replace_module(module, module)
    assert str(module) == before
