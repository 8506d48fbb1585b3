"""Tests of `--sparse` with a budget: only compiled variants that keep the budget are candidates."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.lowering.driver.compile_sparse import compile_encoded
from meshloom.support.errors import BudgetError
from meshloom.support.warn import MeshloomWarning, warn
from meshloom.tools.compile import main
from meshloom.tools.dense_weights import dense_weights_text
from meshloom.tools.oracle import Oracle, compare
from meshloom.tools.read_module import read_module
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import meshloom


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A matrix product with weights of density 0.1."""
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((512, 128)) * (generator.random((512, 128)) < 0.1)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 512])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 128])],
        [numpy_helper.from_array(weights.astype(np.float32), "w")],
    )
    path = tmp_path / "net.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("needed", [(14592, 14600, 28864), (28864, 14592, 14600), (28864, 28865, 14592)])
def test_a_refusal_states_a_budget_sufficient_for_one_variant(model: Path, needed: tuple[int, ...]) -> None:
    """
    The bytes in the error are sufficient for one variant, and one byte less is not.

    The variants are two encoded networks and the dense one, which need different budgets.
    """
    module, chip = read_module(model, {}), load_chip("tiny")

    def compile_with(budget: int) -> int:
        left = iter(needed)

        def compile(one: ModuleOp) -> int:
            own = next(left)
            if budget < own:
                raise BudgetError(budget, "launch 'y' alone needs much", own)
            return own

        return compile_encoded(module.clone(), chip, compile, lambda one: one).compilation

    with pytest.raises(BudgetError, match=f"{min(needed)} bytes are enough") as caught:
        compile_with(1000)
    assert compile_with(caught.value.enough) == min(needed)
    with pytest.raises(BudgetError):
        compile_with(caught.value.enough - 1)


def test_a_recommended_budget_is_accepted(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With launches of any size, nothing is split, and the dense network needs the largest budget."""
    options = [str(model), "--chip", "tiny", "--sparse", "-q", "-o", str(model.with_suffix(".mlx"))]
    options += ["--launch-bytes", "1000000", "--save", "recompute"]
    budget, tries = 1000, 0
    while main([*options, "--budget", str(budget)]) == 2:
        found = re.search(r"(\d+) bytes are enough", capsys.readouterr().err)
        assert found is not None
        budget, tries = int(found[1]), tries + 1
        assert tries == 1
    assert tries == 1


@pytest.fixture
def short_model(tmp_path: Path) -> Path:
    """A product that needs much less memory with encoded weights: a share of it is too little for the dense weights."""
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((100, 64)) * (generator.random((100, 64)) < 0.1)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 100])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])],
        [numpy_helper.from_array(weights.astype(np.float32), "w")],
    )
    path = tmp_path / "short.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [pytest.param(["--sparse"], id="sparse"), pytest.param([], id="dense")])
@pytest.mark.parametrize("share", ["0.8", "0.6"])
def test_a_budget_recommended_for_a_share_is_accepted(
    short_model: Path, share: str, sparse: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A share is a different number of bytes for encoded and dense networks, as they need different amounts."""
    options = [str(short_model), "--chip", "tiny", *sparse, "-q", "-o", str(short_model.with_suffix(".mlx"))]
    options += ["--launch-bytes", "20000", "--budget"]
    if main([*options, share]) == 0:
        return
    found = re.search(r"(\d+) bytes are enough", capsys.readouterr().err)
    assert found is not None
    enough = int(found[1])
    assert [main([*options, str(budget)]) for budget in (enough, enough + 1, 2 * enough)] == [0, 0, 0]


def test_an_encoded_network_is_taken_if_only_it_keeps_the_budget(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With launches of any size, nothing is split; the dense weights alone have 262,144 bytes."""
    program = model.with_suffix(".mlx")
    options = ["--chip", "tiny", "-o", str(program), "--budget", "40000", "--launch-bytes", "1000000"]
    assert main([str(model), *options]) == 2
    capsys.readouterr()
    assert main([str(model), *options, "--sparse"]) == 0
    assert "dense" not in capsys.readouterr().out
    x = np.random.default_rng(1).standard_normal((1, 512)).astype(np.float32)
    network = meshloom.load(program)
    found = network.run({"x": x}).outputs["y"]
    assert compare("y", found, Oracle(model).run({"x": x})["y"]).equal


def test_dense_weights_are_taken_if_only_they_keep_the_budget(model: Path) -> None:
    """The dense network is taken if only it keeps the budget, as with a share, and the reason is stated."""
    needed = iter((2000, 2000, 100))

    def compile(one: ModuleOp) -> int:
        own = next(needed)
        if own > 1000:
            raise BudgetError(1000, "launch 'y' alone needs much", own)
        return own

    found = compile_encoded(read_module(model, {}), load_chip("tiny"), compile, lambda one: one)
    assert (found.compilation, found.taken) == (100, False)
    text = dense_weights_text(found)
    assert (
        "nothing is encoded: with encoded weights or activations, a budget of 1000 bytes of DRAM is too small" in text
    )


def test_warnings_about_rejected_variants_are_not_shown(model: Path) -> None:
    """Only warnings about the fastest variant, the second of three, are shown."""
    cycles = iter((300, 100, 200))

    def compile(one: ModuleOp) -> int:
        own = next(cycles)
        warn(f"a note about {own} cycles")
        return own

    with pytest.warns(MeshloomWarning) as noted:
        found = compile_encoded(read_module(model, {}), load_chip("tiny"), compile, lambda one: one)
    assert found.compilation == 100
    assert [str(note.message) for note in noted] == ["a note about 100 cycles"]
