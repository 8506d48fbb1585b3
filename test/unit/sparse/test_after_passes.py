"""Tests of `--sparse` with passes that make tasks or subgraphs: weights are encoded before these passes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.lowering.driver import compile_sparse
from meshloom.support.errors import InputError
from meshloom.tools import assemble, opt
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.compile import main
from meshloom.tools.oracle import Oracle, compare
from meshloom.tools.read_module import read_module
from meshloom.transforms.manycore_outline_subgraphs import ManycoreOutlineSubgraphsPass
from onnx import TensorProto, helper, numpy_helper

import meshloom

FOLLOW = (
    "canonicalize,dataflow-fold-affine,dataflow-block-outputs,dataflow-merge-constants,sparse-pack,sparse-to-dataflow"
)
"""The passes after `sparse-encode-if-faster` in the compiler's list."""
SUBGRAPHS = "manycore-outline-subgraphs{rule=fewest-bytes parts=2}"
WHOLE = "manycore-outline-to-fit{chip=tiny}"
PASSES = {
    "subgraphs": ("", SUBGRAPHS),
    "tasks": ("canonicalize,", "dataflow-to-manycore,manycore-tile{chip=tiny}"),
    "a network that fits": ("", WHOLE),
    "a rule": ("", 'manycore-outline-to-fit{chip=tiny subgraphs="fewest-bytes,parts=2"}'),
    "launches": ("", "memory-insert-offload{chip=tiny budget=110000}"),
    "a program": ("cse,", f"{SUBGRAPHS},manycore-autotune{{chip=tiny}},manycore-to-memory"),
    "instructions": ("", f"{WHOLE},manycore-autotune,manycore-to-memory,memory-to-coreasm"),
    "all in one": ("dataflow-fold-affine,", "meshloom{chip=tiny}"),
}
"""Pairs of passes on operators, and passes that make tasks or subgraphs of them."""

ROWS, W, V = 8, (256, 96), (96, 128)
DENSE = (W[0] * W[1] + V[0] * V[1]) * 4
"""Bytes of the network's weights, without encoding."""

OWN = """
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from meshloom.support.errors import ResourceError
from meshloom.transforms.manycore_outline_subgraphs import ManycoreOutlineSubgraphsPass


class Own(ModulePass):
    name = "own"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        {}
        ManycoreOutlineSubgraphsPass(rule=("fewest-bytes",), parts=2).apply(ctx, op)
"""
ENCODED = "any(one.name == 'sparse.panel_matmul' for one in op.walk())"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.onnx`: y = relu(x w - 8) v; the density of w is 0.1, few activations are nonzero."""
    generator = np.random.default_rng(0)
    w, v = (generator.standard_normal(shape).astype(np.float32) for shape in (W, V))
    w *= generator.random(W) < 0.1
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Sub", ["a", "eight"], ["b"]),
            helper.make_node("Relu", ["b"], ["c"]),
            helper.make_node("MatMul", ["c", "v"], ["y"]),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, W[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, V[1]])],
        [numpy_helper.from_array(a, name) for name, a in (("w", w), ("v", v), ("eight", np.array(8, np.float32)))],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(output: str, passes: str, *options: str) -> bytes:
    """The bytes of the executable."""
    assert main(["net.onnx", "--chip", "tiny", "-p", passes, *options, "-q", "-o", output]) == 0
    return Path(output).read_bytes()


def with_explicit_pass(before: str, after: str, options: str = "") -> bytes:
    return compiled("with_explicit_pass.mlx", f"{before}sparse-encode-if-faster{{chip=tiny{options}}},{FOLLOW},{after}")


def loaded(file: str) -> CompiledNetwork:
    network = meshloom.load(file)
    assert isinstance(network, CompiledNetwork)
    return network


def check_outputs(network: CompiledNetwork) -> None:
    """Compare with ONNX Runtime."""
    inputs = {"x": np.random.default_rng(1).standard_normal((ROWS, W[0])).astype(np.float32)}
    outputs = network.run(inputs, check=True).outputs
    assert compare("y", outputs["y"], Oracle("net.onnx").run(inputs)["y"]).equal


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.slow) if how in ("a rule", "all in one") else how for how in PASSES]
)
def test_the_same_bytes_as_with_the_explicit_pass(how: str) -> None:
    before, after = PASSES[how]
    assert compiled("net.mlx", before + after, "--sparse") == with_explicit_pass(before, after)
    network = loaded("net.mlx")
    # The density of w is 0.1: most of its bytes are not stored.
    assert network.executable.weight_bytes + network.executable.host_weight_bytes < DENSE / 2
    check_outputs(network)


@pytest.mark.parametrize("how", [pytest.param("subgraphs", marks=pytest.mark.slow), "tasks"])
def test_the_same_bytes_with_calibration(how: str) -> None:
    before, after = PASSES[how]
    found = compiled("net.mlx", before + after, "--sparse", "--calibrate", "random")
    assert found == with_explicit_pass(before, after, " calibrate=random")
    assert found != compiled("weights.mlx", before + after, "--sparse"), "activations decide nothing"
    check_outputs(loaded("net.mlx"))


def test_other_options_apply_to_the_encoding_and_to_later_passes() -> None:
    options = "--effort", "fast"
    found = compiled("net.mlx", "canonicalize,dataflow-to-manycore", "--sparse", *options)
    passes = f"canonicalize,sparse-encode-if-faster{{chip=tiny effort=fast}},{FOLLOW},dataflow-to-manycore"
    assert found == compiled("again.mlx", passes, *options)


def test_python_gives_the_same_bytes() -> None:
    expected = compiled("net.mlx", SUBGRAPHS, "--sparse")
    seen: list[str] = []
    texts = meshloom.compile("net.onnx", "tiny", sparse=True, passes=SUBGRAPHS, progress=seen.append)
    texts.save("texts.mlx")
    assert Path("texts.mlx").read_bytes() == expected
    names = ["import", "manycore-outline-subgraphs", "sparse-encode-if-faster"]
    assert seen[:3] == names
    follow = FOLLOW.split(",")
    assert [one for one in seen if one in follow][-len(follow) :] == follow
    assert seen.count("manycore-outline-subgraphs") == 2
    objects = [ManycoreOutlineSubgraphsPass(rule=("fewest-bytes",), parts=2)]
    meshloom.compile("net.onnx", load_chip("tiny"), sparse=True, passes=objects).save("objects.mlx")
    assert Path("objects.mlx").read_bytes() == expected


def test_python_calibrates_and_compiles_to_instructions() -> None:
    x = np.random.default_rng(3).standard_normal((ROWS, W[0])).astype(np.float32)
    np.save("x.npy", x)
    passes = "".join(PASSES["instructions"])
    network = meshloom.compile("net.onnx", "tiny", sparse=True, calibration={"x": x}, passes=passes)
    network.save("python.mlx")
    expected = compiled("net.mlx", passes, "--sparse", "--calibrate", "x=x.npy")
    assert Path("python.mlx").read_bytes() == expected
    check_outputs(network)


def test_python_takes_a_chip_without_a_name() -> None:
    chip = replace(load_chip("tiny"), name="mine")
    network = meshloom.compile("net.onnx", chip, sparse=True, passes=SUBGRAPHS)
    named = meshloom.compile("net.onnx", "tiny", sparse=True, passes=SUBGRAPHS)
    assert network.executable.weight_bytes == named.executable.weight_bytes
    assert network.timing.cycles == named.timing.cycles
    check_outputs(network)


@pytest.mark.parametrize(
    "how", ["subgraphs", *(pytest.param(one, marks=pytest.mark.slow) for one in ("tasks", "a network that fits"))]
)
def test_the_printed_list_gives_the_same_bytes(how: str, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = PASSES[how]
    expected = compiled("net.mlx", before + after, "--sparse")
    capsys.readouterr()
    assert main(["net.onnx", "--chip", "tiny", "-p", before + after, "--sparse", "--print-pipeline"]) == 0
    passes = capsys.readouterr().out.strip()
    assert passes.startswith(f"{before}sparse-encode-if-faster")
    assert passes.count("sparse-encode-if-faster") == 1
    assert opt.main(["net.onnx", "-p", passes, "-o", "net.mlir"]) == 0
    assert assemble.main(["net.mlir", "-o", "again.mlx"]) == 0
    assert Path("again.mlx").read_bytes() == expected


def test_passes_on_operators_precede_the_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["net.onnx", "--chip", "tiny", "-p", "cse", "--sparse", "--print-pipeline"]) == 0
    assert capsys.readouterr().out.startswith("cse,sparse-encode-if-faster")


def test_output_report_and_log(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--chip", "tiny", "--sparse", "-p", SUBGRAPHS, "-o", "net.mlx", "--report", "net.html", "--log", "log"]
    assert main(["net.onnx", *options, "--print-ir-after-all", "levels"]) == 0
    lines = capsys.readouterr().out.splitlines()
    reasons = lines[lines.index("weights that stay dense:") + 1 :]
    assert any(line.startswith("  none of them is zero: v") for line in reasons)
    assert "Sparse weights" in Path("net.html").read_text()
    assert "compiles to" in Path("log").read_text()
    stages = [path.stem.partition("-")[2] for path in sorted(Path("levels").glob("*.mlir"))]
    first = ["import", "sparse-encode-if-faster", "dataflow-block-outputs", "sparse-pack", "manycore-outline-subgraphs"]
    assert stages[:5] == first
    # Compilation continues from the printed level, with the same bytes as result.
    assert main(["levels/04-manycore-outline-subgraphs.mlir", "-q", "-o", "again.mlx"]) == 0
    assert Path("again.mlx").read_bytes() == Path("net.mlx").read_bytes()


def test_weights_that_stay_dense_are_printed_at_the_level_of_instructions(capsys: pytest.CaptureFixture[str]) -> None:
    passes = "".join(PASSES["instructions"])
    assert main(["net.onnx", "--chip", "tiny", "--sparse", "-p", passes, "-o", "net.mlx"]) == 0
    assert "weights that stay dense:\n  none of them is zero: v" in capsys.readouterr().out


def test_a_network_that_is_not_faster_stays_dense(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compile_sparse, "ACCEPT_RATIO", 1e-9)
    assert main(["net.onnx", "--chip", "tiny", "--sparse", "-p", SUBGRAPHS, "-o", "net.mlx"]) == 0
    assert "do not make the network faster" in capsys.readouterr().out
    found = Path("net.mlx").read_bytes()
    assert found == with_explicit_pass("", SUBGRAPHS)
    assert found == compiled(
        "dense.mlx",
        f"{FOLLOW.replace('-outputs', '-outputs{chip=tiny}').replace('-pack', '-pack{chip=tiny}')},{SUBGRAPHS}",
    )


def test_a_plugin_pass_that_makes_subgraphs() -> None:
    Path("own.py").write_text(OWN.format("pass"))
    expected = compiled("net.mlx", SUBGRAPHS, "--sparse")
    assert compiled("own.mlx", "own", "--sparse", "--load-pass-plugin", "own.py") == expected


def test_a_network_too_large_with_dense_weights_is_tried_with_encoded_ones() -> None:
    refusal = f"if not {ENCODED}: raise ResourceError('too large', 'DRAM', 2, 1)"
    Path("own.py").write_text(OWN.format(refusal))
    expected = compiled("net.mlx", SUBGRAPHS, "--sparse")
    assert compiled("own.mlx", "own", "--sparse", "--load-pass-plugin", "own.py") == expected
    assert main(["net.onnx", "--chip", "tiny", "-q", "-o", "no.mlx", "-p", "own", "--load-pass-plugin", "own.py"]) == 1


def test_a_reproducer_has_the_encoded_network(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.py").write_text(OWN.format(f"if {ENCODED}: raise KeyError('encoded')"))
    plugin = "--load-pass-plugin", "own.py"
    assert main(["net.onnx", "--chip", "tiny", "--sparse", "-q", "-o", "net.mlx", "-p", "own,cse", *plugin]) == 1
    error = capsys.readouterr().err
    found = re.search(r"pass 'own' failed: KeyError: 'encoded' \(reproducer: (.*?);", error)
    assert found is not None
    assert 'pipeline: "builtin.module(own,cse)"' in Path(found[1]).read_text()
    assert opt.main([found[1], "--run-reproducer", *plugin]) == 1
    assert "pass 'own' failed: KeyError: 'encoded'" in capsys.readouterr().err
    assert not Path("net.mlx").exists()


def test_a_reproducer_before_the_encoding_has_its_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*arguments: object) -> None:
        raise KeyError("panels")

    monkeypatch.setattr("meshloom.transforms.sparse_pack.pack_module", fails)
    monkeypatch.setattr("meshloom.lowering.driver.sparse_encode_if_faster.encode_if_faster", fails)
    monkeypatch.setattr("meshloom.tools.encoding_passes.encode_if_faster", fails)
    assert main(["net.onnx", "--chip", "tiny", "--sparse", "-q", "-o", "net.mlx", "-p", SUBGRAPHS]) == 1
    found = re.search(
        r"pass 'sparse-encode-if-faster' failed: KeyError: 'panels' \(reproducer: (.*?);", capsys.readouterr().err
    )
    assert found is not None
    assert opt.main([found[1], "--run-reproducer"]) == 1
    assert "pass 'sparse-encode-if-faster' failed" in capsys.readouterr().err


TASK_FILES = {
    "manycore.subgraph": SUBGRAPHS,
    "manycore.task": "dataflow-to-manycore",
    "manycore.launch": f"{WHOLE},manycore-autotune,manycore-to-memory",
}


@pytest.mark.parametrize("operation", TASK_FILES)
def test_a_module_of_tasks_or_subgraphs_is_refused(operation: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main(["net.onnx", "-p", TASK_FILES[operation], "-o", "low.mlir"]) == 0
    capsys.readouterr()
    module = read_module("low.mlir", {})
    with pytest.raises(InputError, match="--sparse encodes weights of operators"):
        meshloom.compile(module, "tiny", sparse=True)
    if operation == "manycore.launch":
        return
    with pytest.raises(InputError, match=operation):
        compile_sparse.compile_encoded(module, load_chip("tiny"), lambda one: one, lambda one: 0)
    assert main(["low.mlir", "--chip", "tiny", "--sparse", "-q", "-o", "net.mlx"]) == 2
    line = capsys.readouterr().err.splitlines()[0]
    assert f"the module is at level 'manycore' ('{operation}'): give the module at level 'dataflow'" in line
    assert not Path("net.mlx").exists()


def test_subgraphs_that_passes_inline_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main(["net.onnx", "-p", SUBGRAPHS, "-o", "low.mlir"]) == 0
    passes = f"manycore-inline-subgraphs,{SUBGRAPHS}"
    assert main(["low.mlir", "--chip", "tiny", "--sparse", "-q", "-p", passes, "-o", "net.mlx"]) == 0
    check_outputs(loaded("net.mlx"))
    assert loaded("net.mlx").executable.weight_bytes < DENSE / 2


def test_calibration_that_is_no_input_is_refused_before_the_pass(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.zeros((2, 2), np.float32))
    arguments = ["--chip", "tiny", "--sparse", "--calibrate", "x=x.npy", "-p", SUBGRAPHS, "-q", "-o", "net.mlx"]
    assert main(["net.onnx", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: pass 'sparse-encode-if-faster': ")
    assert not Path("net.mlx").exists()
