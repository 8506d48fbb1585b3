"""Tests of sparse formats of plug-ins: they are chosen, packed, loaded, multiplied and read as built-in ones."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SATURATION = Path(__file__).parents[3] / "examples" / "plugin" / "saturation"
PLUGIN = ["--plugin", SATURATION]

# The plug-in as one file, so that tests can edit it.
OWN = f"""{(SATURATION / "two_level.py").read_text()}
from meshloom import plugins
plugins.add_sparse_format(TwoLevelKind())
"""

CONNECTED = """
func.func @main(%x: tensor<4x64xf32> {dataflow.name = "x"}, %w: tensor<16x64xf32> {dataflow.name = "w"},
    %c: tensor<4x64xi1, #sparse.index<two_level>> {dataflow.name = "c"})
    -> (tensor<4x16xf32> {dataflow.name = "y"}, tensor<4x64xf32, #sparse.index<two_level>> {dataflow.name = "kept"}) {
  %a = sparse.compact %x by %c
      : tensor<4x64xf32>, tensor<4x64xi1, #sparse.index<two_level>> -> tensor<4x64xf32, #sparse.index<two_level>>
  %b = sparse.encode %w : tensor<16x64xf32> -> tensor<16x64xf32, #sparse.index<two_level, threshold = 0.7, group = 2>>
  %y = sparse.matmul %a, %b transpose_b
      : (tensor<4x64xf32, #sparse.index<two_level>>,
         tensor<16x64xf32, #sparse.index<two_level, threshold = 0.7, group = 2>>) -> tensor<4x16xf32>
  func.return %y, %a : tensor<4x16xf32>, tensor<4x64xf32, #sparse.index<two_level>>
}
"""


@pytest.fixture
def weights(tmp_path: Path) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The weights of net.onnx, y = x @ weights: small integers; a tenth of the runs of eight inputs is nonzero."""
    generator = np.random.default_rng(0)
    runs = np.repeat(generator.random((32, 32)) < 0.1, 8, axis=1)
    values = np.ascontiguousarray((runs * generator.integers(1, 9, runs.shape)).T.astype(np.float32))
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [4, 256]), ("y", [4, 32]))
    )
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "net", [x], [y], [numpy_helper.from_array(values, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    return values


@pytest.mark.usefixtures("weights")
def test_sizes_include_the_format_of_the_plugin(start: Run) -> None:
    """32 fibers of 32 runs take a bit for each run, a byte for each stored run, and four bytes for each element."""
    shown = start("meshloom-sparsity", "net.onnx", *PLUGIN)
    assert shown.returncode == 0, shown.stderr
    stored = 96
    assert f"two_level        32768   {32 * 32 // 8 + stored + stored * 8 * 4}" in shown.stdout


@pytest.mark.slow
def test_known_weights(weights: np.ndarray[tuple[int, int], np.dtype[np.float32]], start: Run, tmp_path: Path) -> None:
    options = [*PLUGIN, "--chip", "quick", "--sparse", "-q"]
    compiled = start("meshloom-compile", "net.onnx", *options, "-o", "net.mlx")
    assert compiled.returncode == 0, compiled.stderr
    x = np.random.default_rng(1).integers(-4, 5, (4, 256)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ran = start("meshloom-run", "net.mlx", *PLUGIN, "--input", "x=x.npy", "--output", "out", "--validate", "-q")
    assert ran.returncode == 0, ran.stderr
    assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), x @ weights)


@pytest.mark.slow
@pytest.mark.usefixtures("weights")
def test_listings_and_errors_without_the_plugin(start: Run, tmp_path: Path) -> None:
    options = [*PLUGIN, "--chip", "quick", "--sparse", "-q"]
    assert start("meshloom-compile", "net.onnx", *options, "-o", "net.mlx").returncode == 0
    assert start("meshloom-objdump", "net.mlx", *PLUGIN, "-o", "net.lst").returncode == 0
    assert "matmul.w f32" in (tmp_path / "net.lst").read_text()
    assert start("meshloom-as", "net.lst", *PLUGIN, "-o", "again.mlx").returncode == 0
    assert (tmp_path / "net.mlx").read_bytes() == (tmp_path / "again.mlx").read_bytes()
    for tool in (["meshloom-run", "net.mlx", "--random", "0"], ["meshloom-objdump", "net.mlx"]):
        without = start(*tool)
        assert without.returncode == 2
        assert without.stderr == (
            "error: net.mlx holds the sparse format 'two_level' of plug-in 'saturation': load it with --plugin\n"
        )


@pytest.mark.slow
def test_operands_encoded_at_run_time(start: Run, tmp_path: Path) -> None:
    """Operands are compacted, encoded and multiplied on the chip; an encoded output is a valid input."""
    (tmp_path / "net.mlir").write_text(CONNECTED)
    compiled = start("meshloom-compile", "net.mlir", *PLUGIN, "--chip", "quick", "-q", "-o", "net.mlx")
    assert compiled.returncode == 0, compiled.stderr
    ran = start("meshloom-run", "net.mlx", *PLUGIN, "--random", "0", "--check", "net.mlir", "--output", "out", "-q")
    assert ran.returncode == 0, ran.stderr
    kept = np.load(tmp_path / "out" / "kept.npz")
    dense = np.load(tmp_path / "out" / "kept.npy")
    assert np.array_equal(kept["values"], dense[dense != 0])
    runs = np.packbits(dense != 0, axis=1, bitorder="little").reshape(-1)
    assert np.array_equal(kept["index"], np.concatenate([np.packbits(runs != 0, bitorder="little"), runs[runs != 0]]))
    # The stored connections as a separate input: the same index, with ones as values.
    np.savez(tmp_path / "c.npz", index=kept["index"], values=np.ones(len(kept["values"]), np.bool_))
    np.save(tmp_path / "x.npy", dense)
    given = ["--input", "x=x.npy", "--input", "c=c.npz", "--random", "3"]
    ran = start("meshloom-run", "net.mlx", *PLUGIN, *given, "--output", "again", "-q")
    assert ran.returncode == 0, ran.stderr
    assert np.array_equal(np.load(tmp_path / "again" / "kept.npy"), dense)
    np.savez(tmp_path / "c.npz", index=kept["index"][:-1], values=np.ones(len(kept["values"]), np.bool_))
    ran = start("meshloom-run", "net.mlx", *PLUGIN, *given, "-q")
    assert ran.returncode == 2
    assert "damaged two_level index" in ran.stderr


@pytest.mark.slow
def test_another_version_of_the_format(start: Run, tmp_path: Path) -> None:
    """An executable is refused if the plug-in's format has changed, here the order of bits in a run."""
    (tmp_path / "net.mlir").write_text(CONNECTED)
    (tmp_path / "own.py").write_text(OWN)
    options = ["--plugin", "own.py", "--chip", "tiny", "-q", "-o", "net.mlx"]
    assert start("meshloom-compile", "net.mlir", *options).returncode == 0
    (tmp_path / "own.py").write_text(OWN.replace('"little"', '"big"'))
    ran = start("meshloom-run", "net.mlx", "--plugin", "own.py", "--random", "0")
    assert ran.returncode == 2
    assert "holds the sparse format 'two_level' of another version of plug-in 'own.py'" in ran.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"two_level"', '"stride"', "there is a sparse format 'stride' already: give it another name"),
        ('"two_level"', '"Two"', "a name consists of lower-case letters, digits and underscores"),
        (
            "code: ClassVar[int] = 1",
            "code: ClassVar[int] = 16",
            "number 16 is not reserved for plug-ins: choose 1 to 15",
        ),
    ],
)
def test_errors_of_formats(old: str, new: str, message: str, start: Run, tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text(CONNECTED)
    (tmp_path / "own.py").write_text(OWN.replace(old, new))
    ran = start("meshloom-opt", "net.mlir", "--plugin", "own.py")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert message in ran.stderr
