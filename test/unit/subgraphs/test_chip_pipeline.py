"""Tests of networks on several chips: results against ONNX Runtime, resident weights, and streams of inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dense_networks import dense_layers
from meshloom.chips import Chip, load_chip
from meshloom.emulator.executable.chip_pipeline import NETWORK, ChipPipeline, Feed
from meshloom.emulator.executable.chip_pipeline_file import decode_any, encode_chip_pipeline
from meshloom.emulator.executable.executable import from_bytes
from meshloom.emulator.run_chip_pipeline import schedule, stream_cycles
from meshloom.lowering.options.subgraph_options import SubgraphOptions, parse_subgraphs
from meshloom.support.errors import InputError
from meshloom.tools import compile as compile_tool
from meshloom.tools import objdump, run
from meshloom.tools.chips_api import CompiledPipeline
from meshloom.tools.oracle import Oracle, compare
from onnx import ModelProto, TensorProto, helper
from public_models import PUBLIC_MODELS

import meshloom

TINY = load_chip("tiny")


def on_chips(
    model: ModelProto | Path, chips: int, chip: Chip = TINY, options: SubgraphOptions | None = None
) -> CompiledPipeline:
    """The compiled network, after writing, reading and writing it again with the same bytes."""
    shapes = dict(PUBLIC_MODELS[model.stem].shapes) if isinstance(model, Path) else {}
    network = meshloom.compile(model, chip, shapes, subgraphs=options, chips=chips)
    data = b"".join(encode_chip_pipeline(network.pipeline))
    found = decode_any(data, "bytes")
    assert isinstance(found, ChipPipeline)
    assert b"".join(encode_chip_pipeline(found)) == data
    return CompiledPipeline(found, network.report)


def check(model: ModelProto | Path, network: CompiledPipeline) -> None:
    """Run with all checks, and compare the outputs with ONNX Runtime."""
    rng = np.random.default_rng(1)
    tensors = network.pipeline.input_tensors()
    inputs = {info.name: rng.standard_normal(info.shape).astype(np.float32) for info in tensors}
    assert network.inputs == {name: value.shape for name, value in inputs.items()}
    outputs = network.run(inputs, check=True).outputs
    oracle = Oracle(model if isinstance(model, Path) else model.SerializeToString())
    for name, value in oracle.run(inputs).items():
        assert compare(name, outputs[name], value).equal


@pytest.mark.parametrize("chips", [2, 4])
def test_layers_on_separate_chips(chips: int) -> None:
    """Four equal layers are distributed evenly; they are much larger than the values between them, two are outputs."""
    model = dense_layers([96] * 5, taps=(0, 1))
    network = on_chips(model, chips)
    check(model, network)
    assert network.report["note"] == ""
    assert len(network.pipeline.chips) == chips
    # Each layer is on one chip, with its weights.
    layer = (96 * 96 + 96) * 4
    assert [exe.weight_bytes // layer for exe in network.pipeline.chips] == [4 // chips] * chips
    whole = meshloom.compile(model, TINY).timing
    assert network.schedule.interval < 1.4 * whole.total_cycles / chips
    assert network.schedule.latency >= whole.cycles


def test_weights_that_exceed_the_dram_of_one_chip_are_resident_on_four() -> None:
    model = dense_layers([64] * 5)
    small = replace(TINY, name="small", dram_bytes=22_000)  # a layer has 16,640 bytes
    alone = meshloom.compile(model, small)
    assert alone.executable.host_weight_bytes > 0
    network = on_chips(model, 4, small)
    check(model, network)
    assert [exe.host_weight_bytes for exe in network.pipeline.chips] == [0] * 4
    assert network.schedule.interval < alone.timing.total_cycles / 4


def test_more_chips_than_tasks() -> None:
    model = dense_layers([128, 128, 128])
    network = on_chips(model, 7)
    check(model, network)
    assert network.report["note"] == "2 of 7 chips are used: the network has 2 tasks"


def test_more_chips_would_be_slower() -> None:
    """One chip is used if copies take longer than all of the work; any cut of two branches adds a copy."""
    model = dense_layers([8, 8, 8])
    model.graph.node[2].input[0] = "x"  # parallel to the first layer, not after it
    model.graph.node[-1].output[0] = "r"
    model.graph.node.append(helper.make_node("Add", ["r", "r0"], ["y"]))
    network = on_chips(model, 3, replace(TINY, name="far", host_latency=100_000))
    check(model, network)
    assert network.report["note"] == "1 of 3 chips is used: more would not be faster"


def test_cuts_between_the_subgraphs_of_a_rule() -> None:
    model = dense_layers([96] * 5)
    rule, _ = parse_subgraphs("fewest-bytes,parts=2")
    network = on_chips(model, 4, options=SubgraphOptions(rule, fuse="none"))
    check(model, network)
    assert network.report["note"] == "2 of 4 chips are used: the network has 2 subgraphs"
    assert [len(exe.launches) for exe in network.pipeline.chips] == [1, 1]


def _skip_network() -> ModelProto:
    """x -> a -> b -> c, and y = c + relu(a); the output z is x, the output k a constant, the input n has no reader."""
    layers = dense_layers([96] * 4)
    graph = layers.graph
    last = graph.node[-1].output[0]
    graph.node[-1].output[0] = "c"
    graph.node.append(helper.make_node("Add", ["c", "r0"], [last]))
    graph.node.append(helper.make_node("Identity", ["x"], ["z"]))
    graph.node.append(helper.make_node("Reshape", ["r1", "flat"], ["f"]))
    graph.initializer.append(helper.make_tensor("flat", TensorProto.INT64, [1], [-1]))
    graph.initializer.append(helper.make_tensor("k", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]))
    graph.input.append(helper.make_tensor_value_info("n", TensorProto.FLOAT, [5]))
    for name, shape in (("z", [2, 96]), ("f", [192]), ("k", [3])):
        graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return layers


def test_values_that_skip_a_chip_and_outputs_without_a_computation() -> None:
    model = _skip_network()
    network = on_chips(model, 3)
    check(model, network)
    first, _, last = network.pipeline.feeds
    assert Feed(NETWORK, "n") in first.values()
    assert {feed.chip for feed in last.values()} == {NETWORK, 0, 1}
    assert [name for name, _ in network.pipeline.outputs] == ["y", "z", "f", "k"]


@pytest.mark.slow
def test_a_public_model() -> None:
    model = PUBLIC_MODELS["pnet"]
    network = on_chips(model.path, 2)
    check(model.path, network)
    alone = meshloom.compile(model.path, TINY, dict(model.shapes)).timing
    assert len(network.schedule.cycles) == 2
    assert network.schedule.interval == max(network.schedule.cycles) < 0.8 * alone.total_cycles


@pytest.mark.slow
def test_never_slower_than_on_one_chip() -> None:
    """A network whose time is that of one layer's weights is not slower on three chips than on one."""
    model = PUBLIC_MODELS["rnet"]
    network = on_chips(model.path, 3)
    alone = meshloom.compile(model.path, TINY, dict(model.shapes)).timing
    assert network.schedule.interval <= alone.total_cycles


@pytest.fixture(scope="module")
def three() -> CompiledPipeline:
    return on_chips(_skip_network(), 3)


@pytest.mark.parametrize("seed", range(20))
def test_an_input_every_interval(three: CompiledPipeline, seed: int) -> None:
    """If an input enters every interval, each chip is idle when it arrives; entering earlier does not end earlier."""
    rng = np.random.default_rng(seed)
    cycles, inputs = rng.integers(1, 50, 3).tolist(), int(rng.integers(1, 6))
    when = schedule(three.pipeline.feeds, cycles)
    ends: list[list[int]] = []
    for number in range(inputs):
        starts = [number * when.interval + start for start in when.start]
        ends.append([start + own for start, own in zip(starts, cycles, strict=True)])
        for chip, feeds in enumerate(three.pipeline.feeds):
            assert number == 0 or starts[chip] >= ends[number - 1][chip]
            assert all(feed.chip == NETWORK or starts[chip] >= ends[number][feed.chip] for feed in feeds.values())
    assert max(ends[-1]) == when.total(inputs)
    assert stream_cycles(three.pipeline, [cycles] * inputs) <= when.total(inputs)
    assert stream_cycles(three.pipeline, [cycles]) == when.latency


def test_a_stream_of_inputs(three: CompiledPipeline) -> None:
    rng = np.random.default_rng(2)
    shapes = {info.name: info.shape for info in three.pipeline.input_tensors()}
    inputs = [{name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(3)]
    found = three.run_stream(inputs)
    for one, outputs in zip(inputs, found.outputs, strict=True):
        expected = Oracle(_skip_network().SerializeToString()).run(one)
        assert all(compare(name, outputs[name], value).equal for name, value in expected.items())
    assert three.schedule.latency < found.cycles < 3 * three.schedule.latency


def test_damage_is_detected(three: CompiledPipeline) -> None:
    data = b"".join(encode_chip_pipeline(three.pipeline))
    rng = np.random.default_rng(3)
    for at in [*range(0, 64, 7), *rng.integers(0, len(data), 40).tolist()]:
        wrong = bytearray(data)
        wrong[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(InputError, match=r"damaged|not a Meshloom|ELF|version"):
            decode_any(wrong, "file")
    with pytest.raises(InputError, match=r"truncated|damaged"):
        decode_any(data[:-1], "file")
    with pytest.raises(InputError, match="several chips"):
        from_bytes(data)


def test_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = tmp_path / "layers.onnx", tmp_path / "layers.mlx"
    model.write_bytes(dense_layers([96] * 3).SerializeToString())
    files = ["--log", str(tmp_path / "log"), "--report", str(tmp_path / "made.html")]
    assert compile_tool.main([str(model), "--chip", "tiny", "--chips", "2", "-o", str(out), *files]) == 0
    assert "layers.mlx: 2 tiny chips; one input every" in capsys.readouterr().out
    assert "2 chips, cut after" in (tmp_path / "log").read_text()
    files = ["--stats", str(tmp_path / "stats.json"), "--trace", str(tmp_path / "t.npz")]
    assert run.main([str(out), "--random", "0", "--check", str(model), "--validate", *files]) == 0
    assert "layers.mlx on 2 x tiny" in capsys.readouterr().out
    written = {path.name for path in tmp_path.iterdir()}
    assert {"made-chip0.html", "made-chip1.html", "t-chip0.npz", "t-chip1.npz", "stats.json"} <= written
    assert objdump.main([str(out), "--chip", "1", "-f"]) == 0
    assert ".meshloom isa" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--chips", "0"], "--chips 0: expected a number from 1 to 1024"),
        (["--chips", "2", "--budget", "0.5", "--subgraphs", "whole"], "leave out --subgraphs"),
    ],
)
def test_invalid_options(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = tmp_path / "layers.onnx", tmp_path / "layers.mlx"
    model.write_bytes(dense_layers([8, 8]).SerializeToString())
    assert compile_tool.main([str(model), "--chip", "tiny", "-o", str(out), *options]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_listings_are_of_one_chip(three: CompiledPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three.save(tmp_path / "three.mlx")
    assert isinstance(meshloom.load(tmp_path / "three.mlx"), CompiledPipeline)
    assert objdump.main([str(tmp_path / "three.mlx")]) == 2
    assert "is for 3 chips: choose one with --chip, from 0 to 2" in capsys.readouterr().err
    assert objdump.main([str(tmp_path / "three.mlx"), "--chip", "3"]) == 2
