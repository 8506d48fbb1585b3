"""Test that networks that are part of ONNX (without weights) are imported as valid modules of the declared shapes."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "inception_v1", "inception_v2", "densenet121"])
def test_import(name: str) -> None:
    module = import_onnx(FOLDER / f"light_{name}.onnx")
    module.verify()
    assert "tensor<1x3x224x224xf32>" in str(module).partition("\n")[2].partition("\n")[0]
