"""Tests of concat forwarding: on the IR against the interpreter, and end to end on a chip with little DRAM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.tasks.operator_parts import choose_parts, data_bytes
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import ConcatOp, Dataflow, SliceOp
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.dialects.dataflow.tiling import TilingInterface
from meshloom.dialects.dataflow.types import shape_of
from meshloom.dialects.manycore import HostConcatOp, Manycore
from meshloom.dialects.manycore.interpreter import ManycoreFunctions
from meshloom.emulator.executable.executable import from_bytes, to_bytes
from meshloom.emulator.functional.engine import run_functional
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import Compilation, compile_module
from meshloom.support.errors import ResourceError
from meshloom.tools.oracle import Oracle, compare
from meshloom.transforms.shared.concat_forwarding import OperatorSplit, forward_concat, split_slice
from meshloom.transforms.shared.split_operator import Splitter
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser

import meshloom

# ---- in the IR ----


def parsed(lines: str, arguments: str, result: str, types: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Manycore):
        context.load_dialect(dialect)
    text = f"func.func @main({arguments}) -> ({types}) {{\n{lines}\nfunc.return {result} : {types}\n}}"
    return Parser(context, text).parse_module()


def unique() -> Callable[[str], str]:
    return Splitter(set()).unique


def halves(op: TilingInterface) -> tuple[int, ...]:
    whole = data_bytes(op, tuple(dim.size for dim in op.iteration_space()))
    return choose_parts(op, whole // 2, "operator")


def find(module: ModuleOp, kind: type[Operation]) -> Operation:
    return next(op for op in module.walk() if isinstance(op, kind))


def values() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    return {f"arg{number}": rng.standard_normal((6, 4)).astype(np.float32) for number in (0, 1)}


def forward_first(module: ModuleOp, most: int = 200) -> bool:
    """Forward the first concatenation, check that the module computes the same values; whether it was forwarded."""
    names = unique()
    inputs = values()
    expected = interpret_function(module, inputs, [ManycoreFunctions()])
    concat = find(module, ConcatOp)
    assert isinstance(concat, ConcatOp)
    replaced = forward_concat(concat, OperatorSplit(lambda: Splitter(set()), halves, most, names))
    module.verify()
    for name, value in interpret_function(module, inputs, [ManycoreFunctions()]).items():
        np.testing.assert_array_equal(value, expected[name])
    assert replaced is None or concat.parent is None
    return replaced is not None


TWO = "%x: tensor<6x4xf32>, %w: tensor<6x4xf32>"
JOINED = (
    "%c = dataflow.concat %x, %w, %x axis 1 : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x12xf32>"
)
READERS = {
    "an operator": "%y = dataflow.tanh %c : (tensor<6x12xf32>) -> tensor<6x12xf32>",
    "a slice": "%y = dataflow.slice %c starts [1, 2] sizes [4, 7] steps [1, 1] : (tensor<6x12xf32>) -> tensor<4x7xf32>",
    "a slice with steps": "%y = dataflow.slice %c starts [5, 11] sizes [3, 4] steps [-2, -3] : "
    "(tensor<6x12xf32>) -> tensor<3x4xf32>",
    "a concatenation along it": "%y = dataflow.concat %c, %x axis 1 : (tensor<6x12xf32>, tensor<6x4xf32>) "
    "-> tensor<6x16xf32>",
    "a concatenation across it": "%d = dataflow.tanh %c : (tensor<6x12xf32>) -> tensor<6x12xf32>\n"
    "%y = dataflow.concat %d, %c axis 0 : (tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<12x12xf32>",
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_of_a_concatenation_read_its_operands(reader: str) -> None:
    text = READERS[reader]
    assert forward_first(parsed(f"{JOINED}\n{text}", TWO, "%y", text[text.rindex("tensor<") :]))


def test_an_output_is_joined_by_the_host() -> None:
    module = parsed(JOINED, TWO, "%c", "tensor<6x12xf32>")
    assert forward_first(module)
    (joined,) = [op for op in module.walk() if isinstance(op, HostConcatOp)]
    assert [shape_of(operand) for operand in joined.operands] == [(3 * 12,)] * 2


def test_a_concatenation_within_an_output_is_joined_by_the_host() -> None:
    """A concatenation among the operands of a `host_concat` is forwarded: the host joins its operands."""
    lines = """%a = dataflow.concat %v, %v axis 0 : (tensor<24xf32>, tensor<24xf32>) -> tensor<48xf32>
      %y = manycore.host_concat %v, %a, %v :
        (tensor<24xf32>, tensor<48xf32>, tensor<24xf32>) -> tensor<96xf32>"""
    reshaped = "%v = dataflow.reshape %x : (tensor<6x4xf32>) -> tensor<24xf32>"
    module = parsed(f"{reshaped}\n{lines}", TWO, "%y", "tensor<96xf32>")
    assert forward_first(module)
    (joined,) = [op for op in module.walk() if isinstance(op, ConcatOp | HostConcatOp)]
    assert [shape_of(operand) for operand in joined.operands] == [(24,)] * 4
    assert isinstance(joined, HostConcatOp)


@pytest.mark.parametrize("shape", ["1x9x4x2", "1x8x9", "72", "2x1x36"])
def test_reshapes_in_blocks(shape: str) -> None:
    """A reshape of a concatenation is done in blocks, which consist of several rows or of part of a row."""
    text = f"%y = dataflow.reshape %c : (tensor<6x12xf32>) -> tensor<{shape}xf32>"
    assert forward_first(parsed(f"{JOINED}\n{text}", TWO, "%y", f"tensor<{shape}xf32>"), most=100)


@given(
    st.tuples(st.integers(0, 5), st.integers(0, 3)),
    st.sampled_from([1, 2, -1, -2]),
    st.sampled_from([1, 3, -1]),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_slices_in_parts(start: tuple[int, int], row: int, column: int, data: st.DataObject) -> None:
    """Slices of a concatenation along both dimensions keep their values, also if they are split themselves."""
    sizes = [
        data.draw(st.integers(1, 1 + (extent - 1 - low) // step if step > 0 else 1 + low // -step))
        for low, step, extent in zip(start, (row, column), (12, 8), strict=True)
    ]
    both = "(tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x8xf32>"
    lines = f"""%a = dataflow.concat %x, %w axis 1 : {both}
      %b = dataflow.concat %w, %x axis 1 : {both}
      %c = dataflow.concat %a, %b axis 0 : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<12x8xf32>
      %y = dataflow.slice %c starts {list(start)} sizes {sizes} steps {[row, column]} :
        (tensor<12x8xf32>) -> tensor<{sizes[0]}x{sizes[1]}xf32>"""
    module = parsed(lines, TWO, "%y", f"tensor<{sizes[0]}x{sizes[1]}xf32>")
    inputs = values()
    (expected,) = interpret_function(module, inputs).values()
    cut = find(module, SliceOp)
    assert isinstance(cut, SliceOp)
    split_slice(cut, [data.draw(st.integers(1, size)) for size in sizes], unique())
    last = [op for op in module.walk() if isinstance(op, ConcatOp) and shape_of(op.result) == (12, 8)]
    forward_concat(last[0], OperatorSplit(lambda: Splitter(set()), halves, 10_000, unique()))
    module.verify()
    (value,) = interpret_function(module, inputs).values()
    np.testing.assert_array_equal(value, expected)
    assert all(shape_of(op.result) != (12, 8) for op in module.walk() if isinstance(op, ConcatOp))


# ---- on a chip ----

SMALL = replace(load_chip("tiny"), name="small", dram_bytes=1 << 16, sram_bytes=1 << 14)
RNG = np.random.default_rng(0)


def network(nodes: list[NodeProto], x: list[int], y: list[int], **constants: NDArray[Any]) -> ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", x), ("y", y))]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(kind: str, operands: str, result: str, **attributes: Any) -> NodeProto:
    return helper.make_node(kind, operands.split(), [result], **attributes)


COLUMNS = {"starts": np.array([1]), "ends": np.array([159]), "axes": np.array([1])}
WEIGHTS = RNG.standard_normal((32, 400)).astype(np.float32)
NETWORKS = {
    "more than the DRAM between operators": network(
        [node("MatMul", "x w", "v"), node("Relu", "v", "r"), node("ReduceSum", "r axes", "y", keepdims=0)],
        [48, 32], [48], w=WEIGHTS, axes=np.array([1]),
    ),
    "turned round": network(
        [
            node("MatMul", "x w", "v"), node("Transpose", "v", "t", perm=[1, 0]),
            node("ReduceSum", "t axes", "y", keepdims=0),
        ],
        [48, 32], [400], w=WEIGHTS, axes=np.array([1]),
    ),
    "an input of twice the DRAM": network(
        [node("Tanh", "x", "a"), node("ReduceSum", "a axes", "y", keepdims=0)], [64, 512], [64], axes=np.array([1])
    ),
    "five times the DRAM in and out": network(
        [node("Tanh", "x", "a"), node("Add", "a x", "y")], [1, 320, 256], [1, 320, 256]
    ),
    "a slice of nearly all, as output": network(
        [node("Tanh", "x", "a"), node("Slice", "a starts ends axes", "y")], [64, 160], [64, 158], **COLUMNS
    ),
    "in another shape, as output": network(
        [node("Tanh", "x", "a"), node("Concat", "a x", "c", axis=1), node("Reshape", "c flat", "y")],
        [64, 128], [64 * 256], flat=np.array([-1]),
    ),
    "a concatenation as large as DRAM, as output": network(
        [node("Tanh", "x", "a"), node("Concat", "a x", "y", axis=1)], [64, 128], [64, 256]
    ),
    "in another shape without common blocks, as output": network(
        [node("Tanh", "x", "a"), node("Concat", "a x", "c", axis=1), node("Reshape", "c shape", "y")],
        [127, 64], [128, 127], shape=np.array([128, 127]),
    ),
    "an input in another shape, turned round": network(
        [node("Reshape", "x shape", "a"), node("Transpose", "a", "t", perm=[1, 0]), node("Relu", "t", "y")],
        [127, 140], [127, 140], shape=np.array([140, 127]),
    ),
    "rows larger than the DRAM": network([node("Tanh", "x", "y")], [2, 20_000], [2, 20_000]),
    "a slice of another shape": network(
        [node("Relu", "x", "a"), node("Reshape", "a shape", "b"), node("MatMul", "b w", "y")],
        [7, 11, 30, 8], [2310, 2], shape=np.array([-1, 8]), w=WEIGHTS[:8, :2],
    ),
}  # fmt: skip


SLOW = (
    "turned round",
    "an input of twice the DRAM",
    "an input in another shape, turned round",
    "more than the DRAM between operators",
    "in another shape, as output",
    "five times the DRAM in and out",
    "in another shape without common blocks, as output",
    "a slice of another shape",
)


def compiled(model: ModelProto) -> Compilation:
    return compile_module(import_onnx(model.SerializeToString(), {}), SMALL)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in NETWORKS]
)
def test_values_as_large_as_dram(name: str) -> None:
    model = NETWORKS[name]
    compilation = compiled(model)
    exe = from_bytes(to_bytes(compilation.executable))
    assert len(exe.launches) > 1
    inputs = {info.name: RNG.standard_normal(info.shape).astype(np.float32) for info in exe.inputs}
    outputs = run_functional(exe, inputs, check=True).outputs
    for output, value in Oracle(model.SerializeToString()).run(inputs).items():
        assert compare(output, outputs[output], value).equal
    # Operators of different parts have different names, so that the log is readable.
    tasks = [task for part in compilation.parts for task in (part.first, part.last)]
    assert len(set(tasks)) > len(compilation.parts) // 2


@pytest.mark.slow
def test_on_several_chips() -> None:
    model = NETWORKS["a concatenation as large as DRAM, as output"]
    network = meshloom.compile(model, SMALL, chips=2)
    inputs = {"x": RNG.standard_normal((64, 128)).astype(np.float32)}
    outputs = network.run(inputs, check=True).outputs
    for output, value in Oracle(model.SerializeToString()).run(inputs).items():
        assert compare(output, outputs[output], value).equal


def test_an_input_that_is_an_output_as_it_is_and_reshaped() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [101, 200])
    shapes = {"y": [101, 200], "z": [100, 202], "t": [101, 200]}
    nodes = [node("Identity", "x", "y"), node("Reshape", "x shape", "z"), node("Tanh", "x", "t")]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    graph = helper.make_graph(nodes, "graph", [x], outputs, [numpy_helper.from_array(np.array([100, 202]), "shape")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    inputs = {"x": RNG.standard_normal((101, 200)).astype(np.float32)}
    found = run_functional(compiled(model).executable, inputs, check=True).outputs
    for output, value in Oracle(model.SerializeToString()).run(inputs).items():
        assert compare(output, found[output], value).equal


def test_a_row_that_is_reduced_and_larger_than_dram_is_refused() -> None:
    model = network([node("Softmax", "x", "y")], [2, 20_000], [2, 20_000])
    with pytest.raises(ResourceError, match=r"'reduce' \(dataflow.reduce\) does not fit chip 'small', not even alone"):
        compiled(model)
