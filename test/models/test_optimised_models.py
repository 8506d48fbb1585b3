"""Tests of models optimised by ONNX Runtime at its extended level: results equal those of the original model."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import onnx
import pytest
from light_models import LIGHT_MODELS, light_model
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle, compare
from public_models import PUBLIC_MODELS

QUICK = ("vad-half", "vad-openvino")
FUSED = {
    "vad-half": {"FusedConv"},
    "ocr-rec": {"FusedConv", "FusedMatMul", "QuickGelu"},
    "minilm": {"FusedMatMul", "SkipLayerNormalization"},
    "vgg19": {"FusedConv", "FusedGemm"},
}
"""ONNX Runtime's own operators that each optimised model must have, so that the test is meaningful."""


def optimised(model: bytes, path: Path) -> onnx.ModelProto:
    """The model as optimised by ONNX Runtime at its extended level, through a file."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return onnx.load_model_from_string(path.read_bytes())


def check(name: str, model: bytes, path: Path, inputs: dict[str, Any], shapes: Any = None) -> None:
    """Compile the optimised model; its outputs must equal those of the original model."""
    fused = {node.op_type for node in optimised(model, path).graph.node if node.domain == "com.microsoft"}
    assert fused >= FUSED.get(name, set())
    result = compile(path, "edge", shapes).run(inputs)
    for output, expected in Oracle(model).run(inputs).items():
        assert compare(output, result.outputs[output], expected).equal
    assert result.cycles > 0


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in PUBLIC_MODELS]
)
def test_public_model(name: str, tmp_path: Path) -> None:
    model = PUBLIC_MODELS[name]
    check(name, model.as_bytes(), tmp_path / "optimised.onnx", model.inputs(seed=1), model.shapes)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_light_model(name: str, tmp_path: Path) -> None:
    model, inputs = light_model(name)
    check(name, model.SerializeToString(), tmp_path / "optimised.onnx", inputs)
