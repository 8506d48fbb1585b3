"""
Tests that only regular files are read: pipes and devices are refused immediately, whether the user or a file names
them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from meshloom.support.input_files import check_regular, read_regular
from meshloom.tools import assemble as assemble_tool
from meshloom.tools import compile as compile_tool
from meshloom.tools import map as map_tool
from meshloom.tools import objdump as objdump_tool
from meshloom.tools import opt as opt_tool
from meshloom.tools import plan as plan_tool
from meshloom.tools import run as run_tool
from meshloom.tools import sparsity as sparsity_tool
from meshloom.tools import topology as topology_tool
from meshloom.tools.oracle import Oracle
from onnx import TensorProto, helper

DAMAGED = Path(__file__).resolve().parents[2] / "data" / "damaged"
NETWORK = """
func.func @main(%x: tensor<2x3xf32> {dataflow.name = "x"}) -> tensor<2x3xf32> {
  %0 = dataflow.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""
WEIGHT = """
func.func @main() -> tensor<2xf32> {
  %0 = dataflow.weight @w {source = "pipe", offset = 0 : i64, bytes = 8 : i64, sha256 = "HASH"} : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
""".replace("HASH", "0" * 64)

Main = Callable[[Sequence[str]], int]

NAMED_BY_THE_USER: dict[str, tuple[Main, list[str]]] = {
    "compile onnx": (compile_tool.main, ["pipe.onnx", "--chip", "tiny", "-o", "out.mlx"]),
    "compile mlir": (compile_tool.main, ["pipe.mlir", "--chip", "tiny", "-o", "out.mlx"]),
    "compile chip": (compile_tool.main, ["net.mlir", "--chip", "pipe.toml", "-o", "out.mlx"]),
    "calibrate": (
        compile_tool.main,
        ["net.mlir", "--chip", "tiny", "--sparse", "--calibrate", "x=pipe.npy", "-o", "out.mlx"],
    ),
    "opt onnx": (opt_tool.main, ["pipe.onnx"]),
    "opt mlir": (opt_tool.main, ["pipe.mlir"]),
    "run": (run_tool.main, ["pipe.mlx"]),
    "run input": (run_tool.main, ["net.mlx", "--input", "x=pipe.npy"]),
    "run check onnx": (run_tool.main, ["net.mlx", "--random", "0", "--check", "pipe.onnx"]),
    "run check mlir": (run_tool.main, ["net.mlx", "--random", "0", "--check", "pipe.mlir"]),
    "objdump": (objdump_tool.main, ["pipe.mlx"]),
    "as": (assemble_tool.main, ["pipe.lst", "-o", "out.mlx"]),
    "as weights": (assemble_tool.main, ["net.lst", "--weights", "pipe.bin", "-o", "out.mlx"]),
    "plan": (plan_tool.main, ["pipe.json", "--units"]),
    "sparsity": (sparsity_tool.main, ["pipe.onnx"]),
    "map npz": (map_tool.main, ["pipe.npz", "--mesh", "2x2", "-o", "out.npy"]),
    **{
        f"topology {kind}": (topology_tool.main, ["info", f"pipe.{kind}"])
        for kind in ("npz", "zip", "graph", "mtx", "onnx", "nir")
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a compiled network, and links to a pipe without a writer, one for each extension."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for kind in ("onnx", "mlir", "toml", "npy", "mlx", "lst", "bin", "json", "npz", "zip", "graph", "mtx", "nir"):
        Path(f"pipe.{kind}").symlink_to("pipe")
    Path("net.mlir").write_text(NETWORK)
    assert compile_tool.main(["net.mlir", "--chip", "tiny", "-o", "net.mlx", "-q"]) == 0
    assert objdump_tool.main(["net.mlx", "-o", "net.lst"]) == 0
    yield tmp_path
    assert not Path("out.mlx").exists()


@pytest.mark.parametrize("case", NAMED_BY_THE_USER)
def test_a_pipe_named_by_the_user(case: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main, arguments = NAMED_BY_THE_USER[case]
    assert main(arguments) == 2
    errors = capfd.readouterr().err.strip()
    assert errors.endswith("is a pipe: only regular files are read"), errors
    assert "\n" not in errors


def test_external_data_in_a_pipe(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copy(DAMAGED / "external_data_pipe.onnx", "net.onnx")
    for main, arguments in (
        (opt_tool.main, ["net.onnx"]),
        (opt_tool.main, ["net.onnx", "--parameters"]),
        (sparsity_tool.main, ["net.onnx", "--prune", "0.5", "-o", "out.onnx"]),
        (run_tool.main, ["net.mlx", "--random", "0", "--check", "net.onnx"]),
    ):
        assert main(arguments) == 2
        assert "external data of the model: pipe is a pipe" in capfd.readouterr().err
    with pytest.raises(InputError, match="pipe is a pipe"):
        import_onnx(onnx.ModelProto.FromString(Path("net.onnx").read_bytes()))
    with pytest.raises(InputError, match="pipe is a pipe"):
        Oracle(Path("net.onnx"))


def external(name: str) -> TensorProto:
    """A tensor of two floats in the file `pipe`."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="pipe")
    return tensor


def test_external_data_in_attributes_branches_and_functions(folder: Path) -> None:
    f32 = TensorProto.FLOAT
    output = [helper.make_tensor_value_info("y", f32, [2])]
    constant = helper.make_node("Constant", [], ["y"], value=external("c"))
    branch = helper.make_graph([constant], "branch", [], output)
    condition = [helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    body = helper.make_function("own", "Two", [], ["y"], [constant], [helper.make_opsetid("", 17)])
    graphs = {
        "attribute": helper.make_graph([constant], "g", [], output),
        "branch": helper.make_graph(
            [helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], "g", condition, output
        ),
        "function": helper.make_graph([helper.make_node("Two", [], ["y"], domain="own")], "g", [], output),
    }
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    for kind, graph in graphs.items():
        functions = [body] if kind == "function" else []
        model = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
        with pytest.raises(InputError, match="pipe is a pipe"):
            import_onnx(model)


def test_weights_of_textual_ir_and_of_listings(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("weight.mlir").write_text(WEIGHT)
    assert opt_tool.main(["weight.mlir", "-t", "interpret"]) == 2
    assert "pipe is a pipe" in capfd.readouterr().err
    lines = Path("net.lst").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(".weights"))
    lines[at:] = [f'.weights 0x0 bytes 8 sha256 "{"0" * 64}" file "pipe"']
    Path("net.lst").write_text("\n".join(lines) + "\n")
    assert assemble_tool.main(["net.lst", "-o", "out.mlx"]) == 2
    assert "pipe is a pipe" in capfd.readouterr().err


def test_devices_folders_and_links(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/dev/zero is a device: only regular files are read"):
        check_regular("/dev/zero")
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    assert read_regular(tmp_path / "link") == b"abc"


def test_an_array_smaller_than_its_header_declares(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 20, 1 << 12)}
    with Path("x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    assert run_tool.main(["net.mlx", "--input", "x=x.npy"]) == 2
    assert "x.npy is not a valid .npy file" in capfd.readouterr().err
