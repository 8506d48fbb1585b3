"""Tests of `dataflow-roll-loops`: unrolled loops are restored, and networks written out step by step become loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import AddOp, Along, Dataflow, LoopOp, MatmulOp, MulOp, TanhOp, YieldOp
from meshloom.dialects.dataflow.entry_function import find_main, main_function
from meshloom.dialects.dataflow.types import shape_of, tensor
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle
from meshloom.transforms.canonicalize import CanonicalizePass
from meshloom.transforms.dataflow_roll_loops import DataflowRollLoopsPass, reroll_loops
from meshloom.transforms.dataflow_unroll_loops import DataflowUnrollLoopsPass
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from recurrent_networks import Recurrent, build
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

ROW = (2, 3)


def _context() -> Context:
    context = Context()
    context.load_dialect(Dataflow)
    return context


def _canonical(module: ModuleOp) -> str:
    """The text of the canonicalised module, in which names of values are numbers."""
    CanonicalizePass().apply(_context(), module)
    for op in module.walk():
        for value in (
            *op.results,
            *(argument for region in op.regions for block in region.blocks for argument in block.args),
        ):
            value.name_hint = None
    return str(module)


def _random_loop(seed: int) -> tuple[ModuleOp, dict[str, NDArray[Any]]]:
    """A loop that multiplies a carried value by weights; other carried values are random values of a step."""
    generator = np.random.default_rng(seed)
    pick = generator.integers
    steps = int(pick(3, 7))
    inputs = {"w": generator.standard_normal((3, 3)).astype(np.float32)}
    states = [f"h{number}" for number in range(pick(1, 4))]
    scans = {f"x{number}": Along(int(pick(3)), bool(pick(2))) for number in range(pick(1, 3))}
    inputs |= {name: generator.standard_normal(ROW).astype(np.float32) for name in [*states, "b"]}
    inputs |= {
        name: generator.standard_normal(one.of_all(ROW, steps)).astype(np.float32) for name, one in scans.items()
    }
    entry = Block(arg_types=[tensor(f32, array.shape) for array in inputs.values()])
    values = dict(zip(inputs, entry.args, strict=True))
    body = Block(arg_types=[tensor(f32, ROW)] * (len(states) + len(scans)))
    insert = Builder(InsertPoint.at_end(body)).insert
    known: list[SSAValue] = [*body.args, values["b"]]
    total = insert(AddOp(insert(MatmulOp(body.args[0], values["w"])), body.args[len(states)])).result
    known.append(total)
    for _ in range(pick(1, 6)):
        a, b = (known[int(pick(len(known)))] for _ in range(2))
        known.append(insert((AddOp, MulOp)[pick(2)](a, b)).result if pick(3) else insert(TanhOp(a)).result)
    stacks = [Along(int(pick(3)), bool(pick(2))) for _ in range(pick(1, 3))]
    last = insert(TanhOp(insert(AddOp(known[-1], total)))).result
    chosen = [last, *(known[int(pick(len(states), len(known)))] for _ in range(len(states) + len(stacks) - 1))]
    insert(YieldOp(chosen))
    scanned = [(values[name], one) for name, one in scans.items()]
    loop = LoopOp(steps, [values[name] for name in states], scanned, stacks, Region(body))
    entry.add_op(loop)
    names = list(inputs), [f"r{number}" for number in range(len(loop.outputs))]
    return ModuleOp([main_function(entry, list(loop.outputs), names)]), inputs


@pytest.mark.parametrize("seed", range(60))
def test_unrolled_random_loops_are_restored_with_the_same_results(seed: int) -> None:
    """
    A loop that is unrolled and rolled again gives the same bits, as one loop.

    It has all steps, unless canonicalisation removes operations of some steps.
    """
    module, inputs = _random_loop(seed)
    CanonicalizePass().apply(_context(), module)
    (loop,) = (op for op in module.walk() if isinstance(op, LoopOp))
    steps = loop.step_count
    expected = run_main(module, inputs)
    DataflowUnrollLoopsPass().apply(_context(), module)
    if seed % 2:
        CanonicalizePass().apply(_context(), module)
    reroll_loops(find_main(module), 2)
    module.verify()
    found = run_main(module, inputs)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    loops = [op for op in module.walk() if isinstance(op, LoopOp)]
    assert len(loops) == 1
    if not seed % 2:
        assert [op.step_count for op in loops] == [steps]
        assert sum(isinstance(op, MatmulOp) for op in module.walk()) == 1


@pytest.mark.parametrize("text", ["LSTM:1:8:4:6", "GRU:1:8:4:5", "RNN:2:8:4:7", "LSTM:1:8:4:4:both", "Scan:1:8:4:6"])
def test_unrolled_layers_are_restored(text: str) -> None:
    module = import_onnx(build(Recurrent.parse(text)))
    before = _canonical(module)
    assert "dataflow.loop" in before
    DataflowUnrollLoopsPass().apply(_context(), module)
    assert "dataflow.loop" not in str(module)
    DataflowRollLoopsPass().apply(_context(), module)
    assert _canonical(module) == before


def _written_out(steps: int, reverse: bool, every: bool) -> tuple[onnx.ModelProto, dict[str, NDArray[Any]]]:
    """An Elman cell over x [steps, 2, 3], written out for each step as by tracing exporters."""
    rng = np.random.default_rng(steps)
    weights = {"w": rng.standard_normal((3, 4)), "r": rng.standard_normal((4, 4)) * 0.5, "b": rng.standard_normal(4)}
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    tensors.append(numpy_helper.from_array(np.array([0], np.int64), "zero"))
    nodes: list[onnx.NodeProto] = []
    state = "h"
    for step in range(steps):
        place = steps - 1 - step if reverse else step
        tensors.append(numpy_helper.from_array(np.array(place, np.int64), f"t{step}"))
        nodes += [
            helper.make_node("Gather", ["x", f"t{step}"], [f"x{step}"], axis=0),
            helper.make_node("MatMul", [f"x{step}", "w"], [f"p{step}"]),
            helper.make_node("MatMul", [state, "r"], [f"q{step}"]),
            helper.make_node("Add", [f"p{step}", f"q{step}"], [f"s{step}"]),
            helper.make_node("Add", [f"s{step}", "b"], [f"z{step}"]),
            helper.make_node("Tanh", [f"z{step}"], [f"h{step}"]),
            helper.make_node("Unsqueeze", [f"h{step}", "zero"], [f"u{step}"]),
        ]
        state = f"h{step}"
    rows = [f"u{step}" for step in range(steps)]
    nodes.append(helper.make_node("Concat", rows[::-1] if reverse else rows, ["y"], axis=0))
    nodes.append(helper.make_node("Identity", [state], ["last"]))
    outputs = [helper.make_tensor_value_info("last", TensorProto.FLOAT, [2, 4])]
    outputs += [helper.make_tensor_value_info("y", TensorProto.FLOAT, [steps, 2, 4])] * every
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, 2, 3]),
        helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, 4]),
    ]
    graph = helper.make_graph(nodes, "written_out", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    values = {"x": rng.standard_normal((steps, 2, 3)), "h": rng.standard_normal((2, 4))}
    return model, {name: array.astype(np.float32) for name, array in values.items()}


@pytest.mark.parametrize("text", ["Cells:3:8:8:6", "Cells:2:8:4:5"])
def test_each_layer_of_written_out_cells_becomes_one_loop_of_all_steps(text: str) -> None:
    """Each loop includes the first step, although its state is zero; layers of equal sizes remain separate loops."""
    network = Recurrent.parse(text)
    module = import_onnx(build(network))
    DataflowRollLoopsPass().apply(_context(), module)
    loops = [op.step_count for op in module.walk() if isinstance(op, LoopOp)]
    assert loops == [network.steps] * network.layers
    assert sum(isinstance(op, MatmulOp) for op in module.walk()) == 2 * network.layers


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("every", [False, True])
def test_networks_that_are_written_out_become_loops(reverse: bool, every: bool) -> None:
    model, inputs = _written_out(9, reverse, every)
    module = import_onnx(model)
    CanonicalizePass().apply(_context(), module)
    DataflowRollLoopsPass().apply(_context(), module)
    CanonicalizePass().apply(_context(), module)
    (loop,) = (op for op in module.walk() if isinstance(op, LoopOp))
    assert loop.step_count == 9
    assert [shape_of(value) for value in loop.initial] == [(2, 4)]
    assert [shape_of(value) for value in loop.scanned] == [(9, 2, 3)]
    assert len(loop.stacked) == every
    found = run_main(module, inputs)
    for name, expected in Oracle(model.SerializeToString()).run(inputs).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)


def test_rolled_networks_compile_and_keep_their_results() -> None:
    model, inputs = _written_out(4, False, True)
    module = import_onnx(model)
    CanonicalizePass().apply(_context(), module)
    assert reroll_loops(find_main(module)) == 1
    outputs = compile(module, "tiny").run(inputs).outputs
    for name, expected in Oracle(model.SerializeToString()).run(inputs).items():
        np.testing.assert_allclose(outputs[name], expected, rtol=1e-4, atol=1e-5)


def test_text_of_written_out_networks_does_not_grow_with_their_steps() -> None:
    lines: list[int] = []
    for steps in (8, 64):
        module = import_onnx(_written_out(steps, False, True)[0])
        CanonicalizePass().apply(_context(), module)
        reroll_loops(find_main(module))
        lines.append(len(_canonical(module).splitlines()))
    assert lines[0] == lines[1]


@pytest.mark.slow
def test_compiled_code_of_written_out_networks_does_not_grow_with_their_steps() -> None:
    instructions: list[int] = []
    for steps in (32, 64):
        model, inputs = _written_out(steps, False, True)
        compiled = compile(model.SerializeToString(), "tiny")
        instructions.append(sum(len(one.words) for one in compiled.executable.programs))
        outputs = compiled.run(inputs).outputs
        for name, expected in Oracle(model.SerializeToString()).run(inputs).items():
            np.testing.assert_allclose(outputs[name], expected, rtol=1e-4, atol=1e-5)
    assert instructions[1] < 1.2 * instructions[0]


def test_equal_but_independent_operations_are_no_loop() -> None:
    generator = np.random.default_rng(0)
    inputs = {f"x{number}": generator.standard_normal((2, 3)).astype(np.float32) for number in range(9)}
    nodes = [helper.make_node("MatMul", [name, "w"], [f"p{name}"]) for name in inputs]
    nodes += [helper.make_node("Tanh", [f"p{name}"], [f"y{name}"]) for name in inputs]
    graph = helper.make_graph(
        nodes,
        "branches",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in inputs],
        [helper.make_tensor_value_info(f"y{name}", TensorProto.FLOAT, [2, 4]) for name in inputs],
        [numpy_helper.from_array(generator.standard_normal((3, 4)).astype(np.float32), "w")],
    )
    module = import_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    before = str(module)
    DataflowRollLoopsPass().apply(_context(), module)
    assert str(module) == before


def test_networks_without_equal_steps_are_not_changed() -> None:
    model, _ = _written_out(2, False, True)
    module = import_onnx(model)
    before = str(module)
    DataflowRollLoopsPass().apply(_context(), module)
    assert str(module) == before
