"""Executables of `Loop` whose number of iterations is known at run time only, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError, MeshloomError
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.chips_api import CompiledPipeline
from meshloom.tools.oracle import Oracle
from meshloom.tools.run import main as run_main
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, load_model_from_string, numpy_helper

import meshloom

SIZE = 16
Limit = Literal["input", "computed"] | int | None
Condition = Literal["holds", "computed", "input"]


def tensor(name: str, kind: int = TensorProto.FLOAT, shape: list[int] | None = None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [1, SIZE] if shape is None else shape)


def network(limit: Limit, condition: Condition, stacked: bool = True) -> bytes:
    """
    A loop of y = tanh(y w) that collects y of all iterations.

    A computed condition holds while an element exceeds 0.3; a computed limit is n + m.
    """
    weights = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32) / 5
    ends = "Greater" if condition == "computed" else "Identity"
    body = [
        helper.make_node("MatMul", ["before", "w"], ["product"]),
        helper.make_node("Tanh", ["product"], ["after"]),
        helper.make_node("ReduceMax", ["after"], ["largest"], keepdims=0),
        helper.make_node(ends, ["largest", "level"] if ends == "Greater" else ["going"], ["goes_on"]),
        helper.make_node("Identity", ["after"], ["row"]),
    ]
    boolean, integer = TensorProto.BOOL, TensorProto.INT64
    takes = [tensor("number", integer, []), tensor("going", boolean, []), tensor("before")]
    gives = [tensor("goes_on", boolean, []), tensor("after"), *([tensor("row")] if stacked else [])]
    inputs, nodes, weight_list = [tensor("x")], list[NodeProto](), [numpy_helper.from_array(weights, "w")]
    weight_list.append(numpy_helper.from_array(np.array(0.3, np.float32), "level"))
    count = ""
    if isinstance(limit, int):
        weight_list.append(numpy_helper.from_array(np.array(limit), "limit"))
        count = "limit"
    elif limit is not None:
        inputs.append(tensor("n", integer, []))
        count = "n"
    if limit == "computed":
        inputs.append(tensor("m", integer, [1]))
        nodes.append(helper.make_node("Add", ["n", "m"], ["sum"]))
        count = "sum"
    if condition == "input":
        inputs.append(tensor("go", boolean, []))
    first = "go" if condition == "input" else ""
    graph = helper.make_graph(body, "body", takes, gives)
    results = ["y", "all"] if stacked else ["y"]
    nodes.append(helper.make_node("Loop", [count, first, "x"], results, name="steps", body=graph))
    outputs = [tensor("y"), *([helper.make_tensor_value_info("all", TensorProto.FLOAT, None)] if stacked else [])]
    main = helper.make_graph(nodes, "network", inputs, outputs, weight_list)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(main, opset_imports=opsets, ir_version=8).SerializeToString()


def inputs_of(scale: float = 1.0, **others: Any) -> dict[str, Any]:
    x = np.random.default_rng(1).standard_normal((1, SIZE)).astype(np.float32) * np.float32(scale)
    return {"x": x} | {name: np.array(value) for name, value in others.items()}


Checked = Callable[[Mapping[str, Any]], tuple[int, int]]


def checked(model: bytes, compiled: CompiledNetwork | CompiledPipeline, validate: bool = False) -> Checked:
    """A function that runs the network, compares it with ONNX Runtime, and returns the collected rows and cycles."""
    oracle = Oracle(model)

    def run(inputs: Mapping[str, Any]) -> tuple[int, int]:
        result = compiled.run(inputs, check=validate)
        expected = oracle.run(dict(inputs))
        assert set(result.outputs) == set(expected)
        for name, value in expected.items():
            assert result.outputs[name].shape == value.shape
            np.testing.assert_allclose(result.outputs[name], value, rtol=1e-4, atol=1e-6)
        return len(result.outputs.get("all", ())), result.cycles

    return run


def test_cycles_follow_the_count() -> None:
    model = network("input", "holds")
    run = checked(model, meshloom.compile(model, "tiny", max_steps=12))
    found = [run(inputs_of(n=n)) for n in range(-1, 13)]
    rows, cycles = [rows for rows, _ in found], [cycles for _, cycles in found[1:]]
    assert rows == [0, *range(13)]
    assert cycles[0] == found[0][1]
    assert len(set(np.diff(cycles).tolist())) == 1


@pytest.mark.parametrize(("scale", "rows"), [(0.1, 1), (1.0, 7)])
def test_the_condition_ends_the_loop(scale: float, rows: int) -> None:
    model = network(50, "computed")
    run = checked(model, meshloom.compile(model, "edge"), validate=True)
    assert run(inputs_of(scale))[0] == rows


def test_count_and_conditions_whichever_comes_first() -> None:
    model = network("computed", "input")
    run = checked(model, meshloom.compile(model, "tiny", max_steps=9), validate=True)
    assert run(inputs_of(n=4, m=[3], go=True))[0] == 7
    assert run(inputs_of(n=4, m=[3], go=False))[0] == 0
    model = network("input", "computed")
    run = checked(model, meshloom.compile(model, "tiny", max_steps=9))
    assert [run(inputs_of(n=n))[0] for n in (0, 2, 9)] == [0, 2, 7]


@pytest.mark.parametrize("options", [{"chips": 2}, {"budget": 2048}, {"budget": 2048, "chips": 2}], ids=str)
def test_count_and_conditions_on_chips_and_with_memory_saving(options: dict[str, Any]) -> None:
    model = network("computed", "computed")
    compiler = cast("Callable[..., CompiledNetwork | CompiledPipeline]", meshloom.compile)
    run = checked(model, compiler(model, "tiny", max_steps=9, **options))
    assert [run(inputs_of(n=n, m=[1]))[0] for n in (0, 2, 8)] == [1, 3, 7]


def test_a_loop_without_a_count_ends_within_the_most_steps() -> None:
    model = network(None, "computed")
    run = checked(model, meshloom.compile(model, "tiny", max_steps=7))
    assert run(inputs_of())[0] == 7
    shorter = meshloom.compile(model, "tiny", max_steps=6)
    with pytest.raises(MeshloomError, match=r"'loop.r'.*the condition of a loop still holds"):
        shorter.run(inputs_of())


def test_a_count_over_the_bound_is_refused() -> None:
    model = network("input", "holds")
    compiled = meshloom.compile(model, "tiny", max_steps=12)
    message = "input 'n' is 13: the network was compiled for at most 12 steps; compile it with --max-steps 13"
    with pytest.raises(InputError, match=message):
        compiled.run(inputs_of(n=13))
    compiled = meshloom.compile(network("computed", "holds"), "tiny", max_steps=12)
    with pytest.raises(MeshloomError, match="is to run 13 times: expected 0 to 12"):
        compiled.run(inputs_of(n=12, m=[1]))


def test_a_loop_that_collects_no_rows() -> None:
    model = network("input", "holds", stacked=False)
    run = checked(model, meshloom.compile(model, "edge", max_steps=100))
    few, many = (run(inputs_of(n=n))[1] for n in (2, 100))
    assert many > 9 * few


def counted(body: list[NodeProto], state: list[int], rows: bool, weights: dict[str, tuple[int, ...]]) -> bytes:
    """A loop of `n` iterations, with `body` from `before` to `after`, and to `row` if it collects `rows`."""
    random = np.random.default_rng(0)
    constants = [
        numpy_helper.from_array((random.standard_normal(shape) / 4).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    constants.append(numpy_helper.from_array(np.array([1]), "axes"))
    boolean, integer = TensorProto.BOOL, TensorProto.INT64
    body = [*body, helper.make_node("Identity", ["going"], ["goes_on"])]
    takes = [tensor("number", integer, []), tensor("going", boolean, [])]
    gives = [tensor("goes_on", boolean, [])]
    results, outputs = list[str](), list[ValueInfoProto]()
    if state:
        takes.append(tensor("before", shape=state))
        gives.append(tensor("after", shape=state))
        results.append("last")
        outputs.append(tensor("last", shape=state))
    if rows:
        gives.append(tensor("row"))
        results.append("all")
        outputs.append(helper.make_tensor_value_info("all", TensorProto.FLOAT, None))
    graph = helper.make_graph(body, "body", takes, gives)
    node = helper.make_node("Loop", ["n", "", *(["x"] if state else [])], results, name="steps", body=graph)
    inputs = [tensor("n", integer, []), tensor("x", shape=state or None), tensor("m", integer, [])]
    main = helper.make_graph([node], "network", inputs, outputs, constants)
    return helper.make_model(main, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def test_a_loop_that_carries_no_state() -> None:
    body = [helper.make_node("Cast", ["number"], ["f"], to=1), helper.make_node("Mul", ["x", "f"], ["row"])]
    model = counted(body, [], True, {})
    run = checked(model, meshloom.compile(model, "tiny", max_steps=9), validate=True)
    assert [run(inputs_of(n=n, m=0))[0] for n in (0, 1, 9)] == [0, 1, 9]


def test_a_recurrent_layer_in_a_loop() -> None:
    """The layer's loop is unrolled, so that the outer one remains."""
    body = [
        helper.make_node("RNN", ["before", "w", "r"], ["y"], hidden_size=8),
        helper.make_node("Squeeze", ["y", "axes"], ["after"]),
    ]
    model = counted(body, [5, 1, 8], False, {"w": (1, 8, 8), "r": (1, 8, 8)})
    run = checked(model, meshloom.compile(model, "tiny", max_steps=8), validate=True)
    x = np.random.default_rng(1).standard_normal((5, 1, 8)).astype(np.float32)
    cycles = [run({"x": x, "n": np.array(n), "m": np.array(0)})[1] for n in (0, 1, 2, 8)]
    assert cycles[0] < cycles[1] < cycles[2] < cycles[3]


def test_a_loop_by_values_in_another_loop_is_refused() -> None:
    inner = helper.make_graph(
        [helper.make_node("Tanh", ["t"], ["t2"]), helper.make_node("Identity", ["g"], ["g2"])],
        "inner",
        [tensor("j", TensorProto.INT64, []), tensor("g", TensorProto.BOOL, []), tensor("t")],
        [tensor("g2", TensorProto.BOOL, []), tensor("t2")],
    )
    model = counted([helper.make_node("Loop", ["m", "", "before"], ["after"], body=inner)], [1, SIZE], False, {})
    with pytest.raises(InputError, match="known at run time only, so it cannot be executed in another loop: give a"):
        meshloom.compile(model, "tiny", max_steps=9)


def test_errors_of_import() -> None:
    with pytest.raises(
        InputError, match=r"the number of iterations is known only at run time: .*--max-steps N(.|\n)*--value n"
    ):
        import_onnx(network("input", "holds"))
    with pytest.raises(InputError, match="the number of iterations is known only at run time"):
        import_onnx(network(1 << 60, "computed"))
    with pytest.raises(InputError, match="--max-steps 0: expected 1 to 4096"):
        import_onnx(network("input", "holds"), most_steps=0)
    with pytest.raises(InputError, match="max_steps is of type str"):
        meshloom.compile(network("input", "holds"), "tiny", max_steps="all")  # pyright: ignore[reportArgumentType]


def test_operations_on_collected_rows_are_refused() -> None:
    model = load_model_from_string(network("input", "holds"))
    model.graph.node.append(helper.make_node("ReduceMean", ["all"], ["mean"], axes=[0]))
    model.graph.output.append(helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, 1, SIZE]))
    with pytest.raises(InputError, match="an operand has as many rows as a loop has steps"):
        import_onnx(model.SerializeToString(), most_steps=12)


def test_the_tool_compares_results_and_refuses_large_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, executable = tmp_path / "loop.onnx", tmp_path / "loop.mlx"
    model.write_bytes(network("input", "computed"))
    meshloom.compile(model, "tiny", max_steps=20).save(executable)
    for n in (3, 21):
        np.save(tmp_path / f"{n}.npy", np.array(n))
    given = [str(executable), "--random", "0", "--check", str(model), "--input"]
    assert run_main([*given, f"n={tmp_path / '3.npy'}"]) == 0
    assert "OK: all outputs equal" in capsys.readouterr().out
    assert run_main([*given, f"n={tmp_path / '21.npy'}"]) == 2
    assert "compile it with --max-steps 21" in capsys.readouterr().err
