"""Loops that remain loops in the executable: results against ONNX Runtime; code does not grow with the steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.manycore import ExecuteOp, LaunchOp, RepeatOp
from meshloom.dialects.memory import LoadOp, Space
from meshloom.dialects.memory.ops import buffer_of
from meshloom.emulator.executable.executable import to_bytes
from meshloom.emulator.reports.stats import collect
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering import manycore_outline_to_fit
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.lowering.options.subgraph_options import SubgraphOptions, parse_subgraphs
from meshloom.tools.api import CompiledNetwork
from meshloom.transforms.shared import kept_loops
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from reference import run_reference

import meshloom

Array = NDArray[Any]
FLOAT = TensorProto.FLOAT
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.fixture(autouse=True)
def keep_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep loops even where unrolled steps would take fewer cycles."""
    monkeypatch.setattr(manycore_outline_to_fit, "MOST_COMPARED", 0)


def random(*shape: int) -> Array:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) / 2).astype(np.float32)


def info(name: str, shape: list[int] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, FLOAT, shape)


def model_of(
    nodes: list[NodeProto], inputs: dict[str, Array], outputs: list[str], constants: dict[str, Array]
) -> ModelProto:
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    graph = helper.make_graph(
        nodes,
        "loops",
        [helper.make_tensor_value_info(name, kinds[name], list(array.shape)) for name, array in inputs.items()],
        [info(name, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def compiled(
    model: ModelProto, inputs: dict[str, Array], chip: str, loops: int, tolerance: float = 2e-5
) -> CompiledNetwork:
    """The network that `with_repeats` returns."""
    return with_repeats(model, inputs, chip, loops, tolerance)[0]


def with_repeats(
    model: ModelProto, inputs: dict[str, Array], chip: str, loops: int, tolerance: float = 2e-5
) -> tuple[CompiledNetwork, list[RepeatOp]]:
    """Compile a network, check its number of loops and its results, and for races; return it and its loops."""
    found = compile_module(import_onnx(model), load_chip(chip))
    repeats = [op for op in found.module.walk() if isinstance(op, RepeatOp)]
    assert len(repeats) == loops
    network = CompiledNetwork(found.executable)
    result = network.run(inputs, check=True)
    for name, expected in run_reference(model, inputs).items():
        np.testing.assert_allclose(result.outputs[name], expected, rtol=tolerance, atol=tolerance)
    return network, repeats


def layer(
    kind: str, direction: str, steps: int, hidden: int = 20, size: int = 12
) -> tuple[ModelProto, dict[str, Array]]:
    ways, gates = 2 if direction == "bidirectional" else 1, GATES[kind] * hidden
    constants = {"w": random(ways, gates, size), "r": random(ways, gates, hidden) / 3, "b": random(ways, 2 * gates)}
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["y", "last"], hidden_size=hidden, direction=direction)
    inputs = {"x": random(steps, 1, size)}
    return model_of([node], inputs, ["y", "last"], constants), inputs


@pytest.mark.parametrize(
    "direction", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("forward", "reverse")), "bidirectional"]
)
@pytest.mark.parametrize(
    "kind", [kind if kind == "GRU" else pytest.param(kind, marks=pytest.mark.slow) for kind in GATES]
)
def test_recurrent_layers(kind: str, direction: str) -> None:
    """Both directions of a layer run in one loop."""
    compiled(*layer(kind, direction, 48), "edge", 1)


def test_directions_of_a_small_layer_run_on_different_cores() -> None:
    """Directions run on different cores, so that a step takes one direction's chain of vector operations, not two."""
    model, inputs = layer("GRU", "bidirectional", 48, 32)
    _, (loop,) = with_repeats(model, inputs, "edge", 1)
    first, second = {op.tiling.cores for op in loop.body.block.ops if isinstance(op, ExecuteOp)}
    assert not set(first) & set(second)


@pytest.mark.parametrize(
    "kind", [kind if kind == "RNN" else pytest.param(kind, marks=pytest.mark.slow) for kind in GATES]
)
def test_code_does_not_grow_with_the_steps(kind: str) -> None:
    sizes = [
        sum(len(program.words) for program in compiled(*layer(kind, "forward", steps), "tiny", 1).executable.programs)
        for steps in (48, 1000)
    ]
    assert sizes[1] <= sizes[0] + 200 < 1000


def test_sequence_lengths_peepholes_and_initial_states() -> None:
    constants = {"w": random(2, 16, 3), "r": random(2, 16, 4), "b": random(2, 32), "p": random(2, 12)}
    inputs = {
        "x": random(16, 2, 3), "n": np.array([16, 5], np.int32), "h": random(2, 2, 4), "c": random(2, 2, 4),
    }  # fmt: skip
    outputs = ["y", "last", "cell"]
    names = ["x", "w", "r", "b", "n", "h", "c", "p"]
    node = helper.make_node("LSTM", names, outputs, hidden_size=4, direction="bidirectional")
    compiled(model_of([node], inputs, outputs, constants), inputs, "tiny", 1)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("hidden", [pytest.param(32, marks=pytest.mark.slow), 20])
@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_scanned_values_stay_in_the_cores(direction: str, hidden: int, batch: int) -> None:
    """Only inputs and weights are read from DRAM, also where tiles have different sizes."""
    model, _ = layer("LSTM", direction, 40, hidden)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = batch
    inputs = {"x": random(40, batch, 12)}
    network, (loop,) = with_repeats(model, inputs, "edge", 1)
    assert buffer_of(loop.wholes[0]).space is Space.SRAM
    must = 4 * (40 * batch * 12 + 4 * hidden * (12 + hidden + 1) + hidden)
    read = collect(network.executable, network.timing)["bytes"]["dram_read"]
    # Short rows do not fill bursts of DRAM: the four gates of three units are 48 bytes, in two bursts of 32.
    assert must <= read <= 64 / 48 * must


def test_a_step_reads_its_own_row_and_no_other() -> None:
    """Each of 24 steps returns the row that it reads; the rows have different scales, which shows a wrong row."""
    nodes = [helper.make_node("Add", ["s0", "a0"], ["t0"]), helper.make_node("Identity", ["a0"], ["y0"])]
    node = scan(nodes, 1, 1, 1, scan_input_directions=[1])
    node.input[1] = "m"
    product = helper.make_node("MatMul", ["x", "w"], ["m"])
    inputs = {"i0": random(6), "x": random(24, 5) * np.arange(1, 25, dtype=np.float32)[:, None]}
    compiled(model_of([product, node], inputs, ["o0", "r0"], {"w": random(5, 6)}), inputs, "edge", 1, 2e-4)


def test_weights_of_the_next_layer_are_loaded_while_a_loop_runs() -> None:
    """They are requested before the loop, after the weights that the loop itself keeps."""
    nodes, constants = list[NodeProto](), {"axes": np.array([1], np.int64)}
    for number, name in enumerate("ab"):
        constants |= {f"w{name}": random(1, 128, 32), f"r{name}": random(1, 128, 32)}
        nodes.append(helper.make_node("LSTM", ["xab"[number], f"w{name}", f"r{name}"], [f"y{name}"], hidden_size=32))
        nodes.append(helper.make_node("Squeeze", [f"y{name}", "axes"], [name]))
    inputs = {"x": random(32, 1, 32)}
    _, (first, _) = with_repeats(model_of(nodes, inputs, ["b"], constants), inputs, "edge", 2)
    launch = first.parent_op()
    assert isinstance(launch, LaunchOp)
    tasks = list(launch.tasks)
    in_loop = [number for number, op in enumerate(launch.tasks.values()) if op.parent_op() is first]
    loads = [tasks.index(op.task_name) for op in launch.walk() if isinstance(op, LoadOp)]
    assert max(in_loop) < loads[-1]
    before = [
        tasks.index(op.task_name)
        for outer in launch.body.block.ops
        if outer.is_before_in_block(first)
        for op in outer.walk()
        if isinstance(op, LoadOp)
    ]
    assert before == sorted(before)
    assert max(before) == max(loads)


def test_layers_one_after_the_other() -> None:
    """The second layer scans the values that the first one stacks; they stay in the cores."""
    constants = {"w": random(1, 32, 6), "r": random(1, 32, 8), "w2": random(1, 24, 8), "r2": random(1, 24, 8)}
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=8),
        helper.make_node("Squeeze", ["y", "axes"], ["z"]),
        helper.make_node("GRU", ["z", "w2", "r2"], ["out"], hidden_size=8),
    ]
    inputs = {"x": random(20, 1, 6)}
    model = model_of(nodes, inputs, ["out"], {**constants, "axes": np.array([1], np.int64)})
    network, (first, _) = with_repeats(model, inputs, "edge", 2)
    assert all(buffer_of(value).space is Space.SRAM for value in first.wholes)
    read = collect(network.executable, network.timing)["bytes"]["dram_read"]
    must = 4 * (20 * 6 + sum(array.size for array in constants.values()))
    # Small weights are read in whole bursts, rows of the first layer not at all.
    assert must <= read < must + 4 * 20 * 8 + 1024


@pytest.mark.parametrize("hidden", [5, 7])
def test_rows_of_short_steps_stay_in_the_cores_until_the_loop_ends(hidden: int) -> None:
    """A step of such a layer takes less time than a store to DRAM, which would delay the next step."""
    model, inputs = layer("RNN", "reverse", 60, hidden, 3)
    network, (loop,) = with_repeats(model, inputs, "edge", 1)
    assert all(buffer_of(value).space is Space.SRAM for value in loop.wholes)
    assert network.timing.cycles < 60 * network.executable.chip.dram_latency


def scan(nodes: list[NodeProto], carried: int, scanned: int, stacked: int, **options: Any) -> NodeProto:
    """A Scan of vectors of 6 elements: carried s0, s1... become t0, t1...; a0, a1... are scanned, y0, y1... stacked."""
    names = {key: [f"{key}{number}" for number in range(6)] for key in "stay"}
    body = helper.make_graph(
        nodes,
        "body",
        [info(name, [6]) for name in (*names["s"][:carried], *names["a"][:scanned])],
        [info(name, [6]) for name in (*names["t"][:carried], *names["y"][:stacked])],
    )
    outer = [*(f"i{number}" for number in range(carried)), *(f"x{number}" for number in range(scanned))]
    given = [*(f"o{number}" for number in range(carried)), *(f"r{number}" for number in range(stacked))]
    return helper.make_node("Scan", outer, given, body=body, num_scan_inputs=scanned, **options)


def of_scan(node: NodeProto, steps: int) -> tuple[ModelProto, dict[str, Array]]:
    inputs = {
        name: random(6) + number if name[0] == "i" else random(steps, 6) for number, name in enumerate(node.input)
    }
    return model_of([node], inputs, list(node.output), {}), inputs


def test_carried_values_that_are_swapped() -> None:
    """(s0, s1) becomes (s1, s0 + a0): each value is read after the other one has its new value."""
    nodes = [helper.make_node("Identity", ["s1"], ["t0"]), helper.make_node("Add", ["s0", "a0"], ["t1"])]
    compiled(*of_scan(scan(nodes, 2, 1, 0), 21), "tiny", 1)


def test_a_carried_value_that_is_read_after_its_next_value_is_computed() -> None:
    nodes = [
        helper.make_node("Tanh", ["s0"], ["t0"]),
        helper.make_node("Mul", ["t0", "s0"], ["m"]),
        helper.make_node("Add", ["m", "a0"], ["y0"]),
    ]
    compiled(*of_scan(scan(nodes, 1, 1, 1), 30), "tiny", 1)


def test_a_carried_value_that_is_updated_in_place() -> None:
    nodes = [helper.make_node("Add", ["s0", "a0"], ["m"]), helper.make_node("Tanh", ["m"], ["t0"])]
    compiled(*of_scan(scan(nodes, 1, 1, 0), 40), "tiny", 1)


def test_a_backward_loop_that_stacks_two_values() -> None:
    nodes = [
        helper.make_node("Sub", ["a0", "s0"], ["t0"]),
        helper.make_node("Identity", ["t0"], ["y0"]),
        helper.make_node("Neg", ["t0"], ["y1"]),
    ]
    options = {"scan_input_directions": [1], "scan_output_directions": [0, 1]}
    compiled(*of_scan(scan(nodes, 1, 1, 2, **options), 12), "tiny", 1)


def test_a_loop_of_few_steps_is_unrolled() -> None:
    nodes = [helper.make_node("Add", ["s0", "a0"], ["t0"])]
    compiled(*of_scan(scan(nodes, 1, 1, 0), 4), "tiny", 0)


def test_values_that_are_scanned_along_an_inner_axis_are_transposed() -> None:
    """A transpose makes the values of a step contiguous, and the loop is kept."""
    nodes = [helper.make_node("Add", ["s0", "a0"], ["t0"])]
    node = scan(nodes, 1, 1, 0, scan_input_axes=[1])
    inputs = {"i0": random(6), "x0": random(6, 12)}
    compiled(model_of([node], inputs, ["o0"], {}), inputs, "tiny", 1)


@pytest.mark.slow
def test_a_loop_is_kept_or_unrolled_by_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs = layer("RNN", "forward", 9)
    looped = compiled(model, inputs, "edge", 1).timing.cycles
    monkeypatch.setattr(kept_loops, "FEWEST_STEPS", 10)
    unrolled = compiled(model, inputs, "edge", 0).timing.cycles
    monkeypatch.undo()
    assert meshloom.compile(model, "edge").timing.cycles == min(looped, unrolled)


def test_loops_stay_in_the_subgraphs_of_a_rule() -> None:
    """Each layer becomes a launch with a loop; compiling the module of level `subgraphs` again gives the same bytes."""
    constants = {"w": random(1, 48, 6), "r": random(1, 48, 12), "w2": random(1, 36, 12), "r2": random(1, 36, 12)}
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=12),
        helper.make_node("Squeeze", ["y", "axes"], ["z"]),
        helper.make_node("GRU", ["z", "w2", "r2"], ["out"], hidden_size=12),
    ]
    inputs = {"x": random(40, 1, 6)}
    model = model_of(nodes, inputs, ["out"], {**constants, "axes": np.array([1], np.int64)})
    rule = SubgraphOptions(*parse_subgraphs("fewest-bytes,parts=2"))
    found = compile_module(import_onnx(model), load_chip("tiny"), options=rule)
    launches = [op for op in found.module.walk() if isinstance(op, LaunchOp)]
    assert [sum(isinstance(op, RepeatOp) for op in one.walk()) for one in launches] == [1, 1]
    outputs = CompiledNetwork(found.executable).run(inputs, check=True).outputs
    np.testing.assert_allclose(outputs["out"], run_reference(model, inputs)["out"], rtol=2e-5, atol=2e-5)
    level = next(module for name, module in found.levels() if name == "subgraphs")
    again = compile_module(level.clone(), load_chip("tiny"))
    assert to_bytes(again.executable) == to_bytes(found.executable)


def test_a_loop_stays_a_loop_on_several_chips() -> None:
    """The loop is an operator of one stage, and its code does not grow with the steps."""
    sizes: list[int] = []
    for steps in (20, 100):
        model, inputs = layer("RNN", "forward", steps, 4, 3)
        network = meshloom.compile(model, chip="tiny", chips=2)
        outputs = network.run(inputs).outputs
        for name, expected in run_reference(model, inputs).items():
            np.testing.assert_allclose(outputs[name], expected, rtol=2e-5, atol=2e-5)
        sizes.append(sum(len(program.words) for chip in network.pipeline.chips for program in chip.programs))
    assert sizes[1] <= sizes[0] + 20


def pruned(array: Array, share: float) -> Array:
    """The array with this share of elements, the smallest ones, set to zero."""
    return np.where(np.abs(array) < np.quantile(np.abs(array), share), np.float32(0), array)


def test_encoded_weights_stay_in_the_cores_for_all_steps() -> None:
    """With nine of ten weights zero, the steps read encoded weights, which are loaded from DRAM once."""
    constants = {"w": pruned(random(1, 512, 96), 0.9), "r": pruned(random(1, 512, 128), 0.9)}
    inputs = {"x": random(64, 1, 96)}
    model = model_of([helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=128)], inputs, ["y"], constants)
    network = meshloom.compile(model, "edge", sparse=True)
    result = network.run(inputs, check=True)
    np.testing.assert_allclose(result.outputs["y"], run_reference(model, inputs)["y"], rtol=2e-5, atol=2e-5)
    assert sum(len(program.words) for program in network.executable.programs) < 1000
    dense = 4 * sum(array.size for array in constants.values())
    assert collect(network.executable, network.timing)["bytes"]["dram_read"] < dense / 2


@pytest.mark.slow
def test_channels_without_weights_before_and_after_a_loop() -> None:
    """Removing channels without weights before and after a loop does not change results."""
    first, last = random(12, 24), random(16, 8)
    first[:, 5:15] = 0
    last[:, 2:4] = 0
    last[9:14] = 0
    layer = {"w": pruned(random(1, 64, 24), 0.8), "r": pruned(random(1, 64, 16), 0.8)}
    layer["w"][:, :, 20:] = 0
    layer["r"][:, :, 3:6] = 0
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("LSTM", ["b", "w", "r"], ["y"], hidden_size=16),
        helper.make_node("Squeeze", ["y", "axes"], ["z"]),
        helper.make_node("MatMul", ["z", "last"], ["c"]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "end"], ["out"]),
    ]
    constants = {**layer, "first": first, "last": last, "end": random(8, 4), "axes": np.array([1], np.int64)}
    inputs = {"x": random(12, 1, 12)}
    model = model_of(nodes, inputs, ["out"], constants)
    outputs = meshloom.compile(model, "tiny", sparse=True).run(inputs).outputs
    np.testing.assert_allclose(outputs["out"], run_reference(model, inputs)["out"], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "hidden"),
    [
        pytest.param("LSTM", 100, marks=pytest.mark.slow),
        pytest.param("GRU", 100, marks=pytest.mark.slow),
        ("LSTM", 97),
        ("GRU", 61),
    ],
)
def test_any_size_is_cut_over_many_cores(kind: str, hidden: int) -> None:
    """A state of 97 elements is cut over 14 of 16 cores, one of 61 over 8: sizes need no divisors."""
    model, inputs = layer(kind, "forward", 24, hidden, 40)
    network, (loop,) = with_repeats(model, inputs, "edge", 1)
    assert min(len(op.tiling.data.cores) for op in loop.walk() if isinstance(op, ExecuteOp)) >= 8
    assert network.timing.cycles < 13_000
