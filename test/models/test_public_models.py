"""Tests of every public model, from ONNX through the executable to the emulator, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import pytest
from meshloom.tools.api import CompiledNetwork, compile, load
from meshloom.tools.oracle import Oracle, compare
from public_models import PUBLIC_MODELS, PublicModel

QUICK = ("rnet", "pnet", "onet", "magika", "vad", "vad-rates", "vad-half", "vad-openvino")
CASES = [
    pytest.param(name, chip, marks=[] if quick else [pytest.mark.slow], id=f"{name}-{chip}")
    for chip in ("edge", "tiny", "cloud")
    for name in PUBLIC_MODELS
    for quick in ((chip == "edge" and name in QUICK) or (name, chip) == ("rnet", "tiny"),)
]


def check(model: PublicModel, network: CompiledNetwork, seed: int, validate: bool = False) -> None:
    """Run on random inputs; every output must equal that of ONNX Runtime without optimisations."""
    inputs = model.inputs(seed)
    result = network.run(inputs, check=validate)
    expected = Oracle(model.path).run({**inputs, **model.constants()})
    assert [name for name, value in expected.items() if not compare(name, result.outputs[name], value).equal] == []
    assert result.cycles > 0


@pytest.mark.parametrize(("name", "chip"), CASES)
def test_equals_onnx_runtime_without_races(name: str, chip: str) -> None:
    model = PUBLIC_MODELS[name]
    network = compile(model.path, chip, model.shapes, values=model.values)
    check(model, network, seed=1)
    check(model, network, seed=2, validate=chip == "edge" and name != "ocr-det")


def test_a_saved_executable_gives_the_same(tmp_path: Path) -> None:
    model = PUBLIC_MODELS["rnet"]
    network = compile(model.path, "edge", model.shapes)
    network.save(tmp_path / "rnet.mlx")
    again = load(tmp_path / "rnet.mlx")
    inputs = model.inputs(0)
    first, second = network.run(inputs), again.run(inputs)
    assert first.cycles == second.cycles
    assert {k: v.tobytes() for k, v in first.outputs.items()} == {k: v.tobytes() for k, v in second.outputs.items()}
