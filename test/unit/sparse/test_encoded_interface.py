"""Tests of encoded inputs and outputs of executables, from the command line and from Python, and of their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.lowering.ir.module_text import module_of_text
from meshloom.support.errors import InputError, MeshloomError
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.run import main as run
from numpy.typing import NDArray

import meshloom

DATA = Path(__file__).parents[2] / "data/sparse"
BOTH_WAYS = """
func.func @main(%x: tensor<3x7xf32, #sparse.index<stride, bits = 2>> {dataflow.name = "x"})
    -> (tensor<3x7xf32, #sparse.index<stride, bits = 2>> {dataflow.name = "y"}) {
  %d = sparse.decode %x : tensor<3x7xf32, #sparse.index<stride, bits = 2>> -> tensor<3x7xf32>
  %r = dataflow.relu %d : (tensor<3x7xf32>) -> tensor<3x7xf32>
  %y = sparse.encode %r : tensor<3x7xf32> -> tensor<3x7xf32, #sparse.index<stride, bits = 2>>
  func.return %y : tensor<3x7xf32, #sparse.index<stride, bits = 2>>
}
"""


def numbers(shape: tuple[int, ...], seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(scope="module")
def network() -> CompiledNetwork:
    return meshloom.compile(module_of_text(BOTH_WAYS), chip="tiny", effort="fast")


def test_connection_data_as_an_input() -> None:
    """An input is compacted by connection data that is another input (claims 18 and 21)."""
    text = (DATA / "encoded_argument.mlir").read_text()
    compiled = meshloom.compile(module_of_text(text), chip="edge", effort="fast")
    x, c = numbers((4, 64)), np.random.default_rng(1).random((4, 64)) < 0.3
    assert np.array_equal(compiled.run({"x": x, "c": c}, check=True).outputs["y"], np.where(c, x, np.float32(0)))


def test_thresholded_neurons_and_weights() -> None:
    """Group pruning, and a product of operands encoded at run time with thresholds, equal NumPy's product."""
    text = (DATA / "thresholded_neurons.mlir").read_text()
    compiled = meshloom.compile(module_of_text(text), chip="edge", effort="fast")
    x, w = numbers((4, 64)), numbers((16, 64), 1)
    groups = x.reshape(8, 32)
    pruned = np.where(((np.abs(groups) <= 1).sum(axis=1) > 20)[:, None], 0, groups).reshape(4, 64)
    left = np.where(np.abs(pruned) > np.float32(0.5), pruned, 0).astype(np.float64)
    right = np.where(np.abs(w) > np.float32(0.7), w, 0).astype(np.float64)
    found = compiled.run({"x": x, "w": w}, check=True)
    np.testing.assert_allclose(found.outputs["y"], left @ right.T, rtol=1e-5, atol=1e-5)
    # Pairs of stored elements include those with fillers of strides.
    least = int(((left != 0).astype(int) @ (right != 0).T.astype(int)).sum())
    assert least <= found.stats["sparse"]["pairs"] < least + (left != 0).sum()
    assert found.stats["sparse"]["skipped"] == 4 * 64 * 16 - found.stats["sparse"]["pairs"]


def test_an_encoded_output_is_a_valid_input(network: CompiledNetwork) -> None:
    x = numbers((3, 7))
    once = network.run({"x": x}, check=True)
    assert np.array_equal(once.outputs["y"], np.maximum(x, 0))
    again = network.run({"x": once.encoded["y"]})
    assert np.array_equal(again.outputs["y"], once.outputs["y"])
    # The index has a count of 3 bits for each of 3 fibers, then strides of 2 bits.
    assert len(once.encoded["y"].index) == 2 + -(-2 * len(once.encoded["y"].values) // 8)


def test_files(network: CompiledNetwork, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Inputs are read from dense `.npy` or from `.npz` with index and values; outputs are written as both."""
    exe, x = tmp_path / "net.mlx", numbers((3, 7))
    network.save(exe)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "judge.mlir").write_text(BOTH_WAYS)
    judge = ["--check", str(tmp_path / "judge.mlir")]
    assert run([str(exe), "--input", f"x={tmp_path}/x.npy", "--output", f"{tmp_path}/one", *judge]) == 0
    assert np.array_equal(np.load(tmp_path / "one/y.npy"), np.maximum(x, 0))
    assert run([str(exe), "--input", f"x={tmp_path}/one/y.npz", "--output", f"{tmp_path}/two", *judge]) == 0
    assert np.array_equal(np.load(tmp_path / "two/y.npy"), np.maximum(x, 0))
    assert (tmp_path / "one/y.npz").read_bytes() == (tmp_path / "two/y.npz").read_bytes()
    with np.load(tmp_path / "one/y.npz") as found:
        members = {name: found[name] for name in found.files}
    bad: dict[str, dict[str, Any]] = {
        "expected arrays 'index' and 'values'": {"index": members["index"]},
        "'index' is int64[5], expected a row of uint8": {**members, "index": np.arange(5)},
        "input 'x': values of type float64: expected a row of float32": {**members, "values": np.zeros(3)},
        "input 'x': damaged": {**members, "values": members["values"][:-1]},
    }
    capsys.readouterr()
    for message, arrays in bad.items():
        np.savez(tmp_path / "bad.npz", **arrays)
        assert run([str(exe), "--input", f"x={tmp_path}/bad.npz"]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "bad.npz").write_bytes((tmp_path / "one/y.npz").read_bytes()[:40])
    assert run([str(exe), "--input", f"x={tmp_path}/bad.npz"]) == 2
    assert "is not a valid .npz file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((3, 8), np.float32), r"input 'x' has shape \[3, 8\], expected \[3, 7\]"),
        (np.zeros((3, 7), np.int32), "input 'x' has type int32, expected f32"),
    ],
)
def test_arrays_of_wrong_shape_or_type(network: CompiledNetwork, value: NDArray[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        network.run({"x": value})


def test_another_index_is_refused(network: CompiledNetwork) -> None:
    other = BOTH_WAYS.replace("stride, bits = 2", "direct")
    found = meshloom.compile(module_of_text(other), chip="tiny", effort="fast").run({"x": numbers((3, 7))})
    with pytest.raises(
        InputError, match=r"input 'x': it has a direct index .*expected f32 \[3, 7\] with a stride2 index"
    ):
        network.run({"x": found.encoded["y"]})


def test_damaged_notes(network: CompiledNetwork, tmp_path: Path) -> None:
    note = network.executable.notes["encoded"]
    try:
        for damage in ("{", "[]", note.replace("[3, 7]", "[3, 9]"), note.replace('"x"', '"z"')):
            network.executable.notes["encoded"] = damage
            with pytest.raises(MeshloomError, match="the note 'encoded'"):
                network.save(tmp_path / "damaged.mlx")
    finally:
        network.executable.notes["encoded"] = note


def test_two_chips() -> None:
    """Inputs and outputs are encoded on several chips, too."""
    compiled = meshloom.compile(module_of_text(BOTH_WAYS), chip="tiny", effort="fast", chips=2)
    x = numbers((3, 7))
    found = compiled.run({"x": x}, check=True)
    assert np.array_equal(found.outputs["y"], np.maximum(x, 0))
    assert np.array_equal(found.encoded["y"].values[found.encoded["y"].values != 0], x[x > 0])


REFUSED = {
    "threshold = 0.1 of f64 elements: an instruction holds it as f32": ("4x6xf64", "4x6xf64", 0.1),
    "threshold = 128.0 of i8 elements: an instruction holds none above 127": ("4x6xi8", "4x6xi8", 128.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_thresholds_that_instructions_cannot_represent(message: str) -> None:
    given, kept, threshold = REFUSED[message]
    encoded = f"tensor<{kept}, #sparse.index<direct, threshold = {threshold}>>"
    text = f"""
        func.func @main(%x: tensor<{given}>) -> tensor<{given}> {{
          %a = sparse.encode %x : tensor<{given}> -> {encoded}
          %y = sparse.decode %a : {encoded} -> tensor<{given}>
          func.return %y : tensor<{given}>
        }}"""
    with pytest.raises(InputError, match=message):
        meshloom.compile(module_of_text(text), chip="tiny")


def test_tensors_without_elements_are_no_encoded_inputs() -> None:
    text = """
        func.func @main(%c: tensor<4x0xi1, #sparse.index<direct>> {dataflow.name = "c"}) -> tensor<4x0xi1> {
          %y = sparse.decode %c : tensor<4x0xi1, #sparse.index<direct>> -> tensor<4x0xi1>
          func.return %y : tensor<4x0xi1>
        }"""
    with pytest.raises(InputError, match=r"'c' of type .* has no elements: it cannot be encoded"):
        meshloom.compile(module_of_text(text), chip="tiny")
