"""Tests of ONNX's light models with random weights, against ONNX Runtime without optimisations."""

from __future__ import annotations

import pytest
from light_models import LIGHT_MODELS, light_model
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle, compare


@pytest.mark.slow
@pytest.mark.matrix(together=1, name=LIGHT_MODELS, chip=("edge", "cloud"))
def test_equals_onnx_runtime(name: str, chip: str) -> None:
    model, inputs = light_model(name)
    data = model.SerializeToString()
    result = compile(data, chip).run(inputs)
    for output, value in Oracle(data).run(inputs).items():
        assert compare(output, result.outputs[output], value).equal


def test_random_weights_give_different_scores() -> None:
    model, inputs = light_model("squeezenet")
    (scores,) = Oracle(model.SerializeToString()).run(inputs).values()
    assert len(set(scores.ravel().tolist())) > 500
