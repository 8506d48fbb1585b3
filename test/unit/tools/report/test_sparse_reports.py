"""Sections on sparse weights: the same numbers as the terminal's table, the statistics, and counting."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from meshloom.analysis.sparse.layer_cost import Layer
from meshloom.chips import load_chip
from meshloom.tools.compile import main as compile_main
from meshloom.tools.report.sparse_layers import SparseLayer, sparse_section
from meshloom.tools.run import main as run_main
from meshloom.tools.sparsity import main as sparsity_main
from onnx import TensorProto, helper, numpy_helper

from .pages import parsed, rows, section

ROWS, INPUTS, OUTPUTS = 16, 512, 256


@pytest.fixture
def pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product with weights of which one in ten is not zero, and one with dense weights."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    sparse = np.where(generator.random((INPUTS, OUTPUTS)) < 0.1, generator.standard_normal((INPUTS, OUTPUTS)), 0)
    dense = generator.standard_normal((OUTPUTS, 8))
    nodes = [helper.make_node("MatMul", ["x", "v"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["y"])]
    graph = helper.make_graph(
        nodes, "pruned",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, INPUTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, 8])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in (("v", sparse), ("w", dense))],
    )  # fmt: skip
    path = tmp_path / "pruned.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    )
    return path


def test_layers_as_in_the_table_of_the_terminal(pruned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sparsity_main([str(pruned), "--report", "weights.html"]) == 0
    _, *lines, total = capsys.readouterr().out.splitlines()
    root = parsed(Path("weights.html").read_text())
    found = rows(root, "sparse-weights")
    assert [(row[0], row[3]) for row in found] == [tuple(line.split()[column] for column in (0, 4)) for line in lines]
    assert found[0][3].startswith("stride")
    assert found[1][2:5] == ["f32", "dense", "100.0%"]
    assert total.split()[1] == str(4 * (INPUTS * OUTPUTS + OUTPUTS * 8))
    assert "520 KiB" in "".join(section(root, "sparse-weights").itertext())
    assert not list(section(root, "sparse-weights").iter("circle")), "a curve needs a chip"


def test_reports_of_a_compilation_and_a_run(pruned: Path) -> None:
    options = ["--chip", "edge", "--sparse", "-q", "-o", "net.mlx"]
    assert compile_main([str(pruned), *options, "--report", "compile.html"]) == 0
    root = parsed(Path("compile.html").read_text())
    found = rows(root, "sparse-weights")
    share = np.count_nonzero(
        numpy_helper.to_array(onnx.ModelProto.FromString(pruned.read_bytes()).graph.initializer[0])
    ) / (INPUTS * OUTPUTS)
    assert found[0][4] == f"{100 * share:.1f}%"
    assert float(found[0][-1].removesuffix("\N{MULTIPLICATION SIGN}")) > 1
    assert list(section(root, "sparse-weights").iter("circle"))
    assert run_main(["net.mlx", "--random", "0", "-q", "--report", "run.html", "--stats", "stats.json"]) == 0
    figures = json.loads(Path("stats.json").read_text())["sparse"]
    root = parsed(Path("run.html").read_text())
    text = "".join(section(root, "sparse-products").itertext())
    assert f"skipped: {figures['skipped']:,}" in text
    (row,) = rows(root, "sparse-products")
    declared, counted = (int(cell.replace(",", "")) for cell in row[1:3])
    assert declared == pytest.approx(counted, rel=0.05)


def test_without_the_option_there_is_no_section(pruned: Path) -> None:
    assert compile_main([str(pruned), "--chip", "edge", "-q", "-o", "net.mlx", "--report", "compile.html"]) == 0
    sections = [one.attrib["id"] for one in parsed(Path("compile.html").read_text()).iter("section")]
    assert "sparse-weights" not in sections


def test_where_dense_weights_were_taken_the_page_says_so() -> None:
    layer = SparseLayer("w", (8, 4), "f32", 0.5, None, 128, 128, 10.0, 10.0, Layer(1, 4, 8, 4))
    chip = load_chip("edge")
    assert "it was compiled with dense weights" in str(sparse_section([layer], chip, taken=False).note)
    assert "it was compiled with dense weights" not in str(sparse_section([layer], chip).note)
