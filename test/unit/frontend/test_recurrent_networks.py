"""Small instances of the bench's recurrent networks, compiled, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.dialects.dataflow import Dataflow
from meshloom.emulator.reports.recurrent_layers import NOTE, layers_from_json
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.simplify import simplifying_passes
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle, compare
from recurrent_networks import NETWORKS, Recurrent, build
from xdsl.context import Context


@pytest.mark.parametrize(
    "text", ["LSTM:2:8:4:3", "GRU:1:8:4:3:both", "RNN:1:8:4:5", "Scan:1:8:4:3", "Loop:1:8:4:3", "LSTM:1:8:4:1"]
)
def test_recurrent_networks_equal_onnx_runtime(text: str) -> None:
    network = Recurrent.parse(text)
    model = build(network, seed=3).SerializeToString()
    inputs = {"x": np.random.default_rng(4).standard_normal((network.steps, 1, network.inputs)).astype(np.float32)}
    compiled = compile(model, "tiny")
    outputs = compiled.run(inputs).outputs
    for name, expected in Oracle(model).run(inputs).items():
        assert compare(name, outputs[name], expected).equal
    noted = compiled.executable.notes.get(NOTE)
    layers = [] if noted is None else layers_from_json(noted)
    assert [layer.steps for layer in layers] == [network.steps] * network.layers * (network.steps > 1)


def test_recurrent_weights_of_a_layer_include_all_directions() -> None:
    """A GRU of hidden size 8 has 3 * 8 x 8 recurrent weights in f32 for each direction."""
    exe = compile(build(Recurrent.parse("GRU:1:8:4:3:both")).SerializeToString(), "tiny").executable
    (layer,) = layers_from_json(exe.notes[NOTE])
    assert layer.weight_bytes == 2 * 3 * 8 * 8 * 4
    assert layer.carried_bytes == 2 * 8 * 4


def test_parsing_of_networks() -> None:
    assert Recurrent.parse("GRU:2:192:128:100:both") == NETWORKS["bigru"]
    for text in (
        "LSTM",
        "LSTM:1:2:3",
        "CNN:1:2:3:4",
        "Scan:2:3:4:5",
        "Loop:1:2:3:4:both",
        "LSTM:1:0:3:4",
        "LSTM:a:1:1:1",
    ):
        with pytest.raises(ValueError, match=r"is not KIND|invalid literal"):
            Recurrent.parse(text)


@pytest.mark.parametrize("text", ["Scan:1:8:4:3", pytest.param("GRU:1:8:4:3:both", marks=pytest.mark.slow)])
def test_compiling_after_each_pass_on_loops_gives_the_same_executable(text: str, tmp_path: Path) -> None:
    model = build(Recurrent.parse(text))
    compile(model.SerializeToString(), "tiny").save(tmp_path / "whole.mlx")
    expected = (tmp_path / "whole.mlx").read_bytes()
    module = import_onnx(model)
    for one in list(simplifying_passes())[:4]:
        one.apply(context(), module)
        compile(module.clone(), "tiny").save(tmp_path / "part.mlx")
        assert (tmp_path / "part.mlx").read_bytes() == expected, one.name


def context() -> Context:
    """A context with the dialect `dataflow`."""
    made = Context()
    made.load_dialect(Dataflow)
    return made
