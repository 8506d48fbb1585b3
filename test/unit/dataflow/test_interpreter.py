"""Interpretation of whole functions, directly and by xDSL's interpreter, and errors for wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.interpreter import DataflowFunctions, interpret_function
from meshloom.formats import weights
from meshloom.support.errors import InputError, MeshloomError
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


LAYER = """
func.func @main(%x: tensor<2x3xf32> {dataflow.name = "x"}) -> (tensor<2x1xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[1.0], [2.0], [-3.0]]> : tensor<3x1xf32>
  %0 = dataflow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  %1 = dataflow.relu %0 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  func.return %1 : tensor<2x1xf32>
}
"""


def test_by_name_and_by_xdsl() -> None:
    module, x = parse(LAYER), np.array([[1, 2, 3], [3, 2, 1]], np.float32)
    assert interpret_function(module, {"x": x})["y"].tolist() == [[0], [4]]
    interpreter = Interpreter(module)
    interpreter.register_implementations(DataflowFunctions())
    interpreter.register_implementations(FuncFunctions())
    assert interpreter.call_op("main", (x,))[0].tolist() == [[0], [4]]


def test_weights_by_reference() -> None:
    array = np.array([[1, -2]], np.float32)
    ref = weights.STORE.put(array)
    module = parse(
        f"""
        func.func @main() -> (tensor<1x2xf32> {{dataflow.name = "y"}}) {{
          %w = dataflow.weight @w {{source = "{ref.source}", offset = 0 : i64, bytes = 8 : i64, sha256 = "{ref.sha256}"}} : tensor<1x2xf32>
          %0 = dataflow.neg %w : (tensor<1x2xf32>) -> tensor<1x2xf32>
          func.return %0 : tensor<1x2xf32>
        }}
        """  # noqa: E501
    )
    assert interpret_function(module, {})["y"].tolist() == [[-1, 2]]


def test_wrong_inputs() -> None:
    module, x = parse(LAYER), np.zeros((2, 3), np.float32)
    with pytest.raises(InputError, match="no value given for input x"):
        interpret_function(module, {})
    with pytest.raises(InputError, match="no input is named z; the inputs are x"):
        interpret_function(module, {"x": x, "z": x})
    with pytest.raises(InputError, match=r"input 'x' has shape \[3, 2\]: expected \[2, 3\]"):
        interpret_function(module, {"x": x.T})
    with pytest.raises(InputError, match="input 'x' has type float64: expected float32"):
        interpret_function(module, {"x": x.astype(np.float64)})
    with pytest.raises(MeshloomError, match="no function @main"):
        interpret_function(parse(LAYER.replace("@main", "@other")), {"x": x})
