"""Tests of the export to MLIR: `mlir-opt` reads modules printed for it, and verifies them with exported dialects."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from meshloom.tools.irdl.export import export_irdl
from meshloom.tools.irdl.generic_text import GenericPrinter
from meshloom.tools.irdl.names import can_declare
from meshloom.tools.opt import MeshloomOpt
from meshloom.tools.reference.docstrings import describe
from meshloom.tools.reference.example_ir import complete, context
from meshloom.tools.universe import DIALECTS, MESHLOOM
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.irdl.irdl import OperationOp
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser

ROOT = Path(__file__).parents[3]
VERSIONS = range(30, 18, -1)
MLIR_OPT = next(filter(None, map(shutil.which, ("mlir-opt", *(f"mlir-opt-{one}" for one in VERSIONS)))), None)
needs_mlir = pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed (Debian: mlir-22-tools)")


@pytest.fixture(scope="module")
def irdl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the exported dialects."""
    path = tmp_path_factory.mktemp("irdl") / "meshloom.irdl.mlir"
    path.write_text(export_irdl({name: MESHLOOM.all_dialects[name]() for name in DIALECTS}))
    return path


def generic(module: ModuleOp) -> str:
    text = StringIO()
    GenericPrinter(text, DIALECTS).print_op(module)
    return f"{text.getvalue()}\n"


def read_by_mlir(irdl: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    assert MLIR_OPT is not None
    command = [MLIR_OPT, f"--irdl-file={irdl}", "--allow-unregistered-dialect", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=100)


def test_all_operations_are_declared_except_known_ones(irdl: Path) -> None:
    module = Parser(context(), irdl.read_text()).parse_module()
    declared = [op.sym_name.data for op in module.walk() if isinstance(op, OperationOp)]
    operations = [op for name in DIALECTS for op in MESHLOOM.all_dialects[name]().operations]
    left_out = {op.name for op in operations if issubclass(op, IRDLOperation) and not can_declare(op)}
    assert len(declared) + len(left_out) == len(operations)
    # Terminators, and operations with values of several types in one list.
    assert left_out == {
        "dataflow.concat", "dataflow.loop", "dataflow.yield", "manycore.execute", "manycore.host_concat",
        "manycore.repeat", "manycore.stage", "manycore.subgraph", "manycore.task", "manycore.yield", "memory.copy",
        "memory.gather", "memory.global", "memory.load", "memory.recompute", "memory.store", "memory.yield",
    }  # fmt: skip


@needs_mlir
def test_mlir_reads_and_verifies_the_examples_of_all_definitions(irdl: Path) -> None:
    definitions = [
        one
        for name in DIALECTS
        for one in (*MESHLOOM.all_dialects[name]().operations, *MESHLOOM.all_dialects[name]().attributes)
    ]
    examples = dict.fromkeys(complete(example) for one in definitions for example in describe(one).examples)
    texts = [generic(Parser(context(), example).parse_module()) for example in examples]
    done = read_by_mlir(irdl, "// -----\n".join(texts), "--split-input-file")
    assert done.returncode == 0, done.stderr


@needs_mlir
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('%0 = "dataflow.neg"() : () -> tensor<4xf32>', "op expects exactly 1 operands, but got 0"),
        ('"dataflow.iota"() : () -> tensor<4xi64>', "'dataflow.iota' op attribute \"axis\" is expected"),
        ('"test.op"() : () -> !memory.buffer<[4 : i64], f32>', "expected 4 type arguments, but had 2"),
        ('"dataflow.none"() : () -> ()', "unregistered operation 'dataflow.none' found in dialect"),
    ],
)
def test_mlir_refuses_invalid_ir(irdl: Path, text: str, message: str) -> None:
    done = read_by_mlir(irdl, text)
    assert done.returncode != 0
    assert message in done.stderr


def stages(model: Sequence[str], chip: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """A network as text for MLIR at each level: operators, tasks, launches, instructions."""
    lists = (
        "canonicalize",
        f"dataflow-to-manycore,manycore-tile{{chip={chip}}}",
        f"dataflow-to-manycore,manycore-tile{{chip={chip}}},manycore-to-memory",
        f"dataflow-to-manycore,manycore-tile{{chip={chip}}},manycore-to-memory,memory-to-coreasm",
    )
    texts: list[str] = []
    for number, passes in enumerate(lists):
        path = folder / f"{number}.mlir"
        MeshloomOpt([*model, "-p", passes, "-t", "mlir-opt", "-o", str(path)]).run()
        texts.append(path.read_text())
    return texts


NETWORKS = {
    "rnet": ("rnet.onnx", "--shape", "input_2=1x24x24x3"),
    "pnet": ("pnet.onnx", "--shape", "input_1=1x48x48x3"),
    "vad-sequence": ("vad-sequence.onnx", "--shape", "input=8x576", "--shape", "h=1x1x128", "--shape", "c=1x1x128"),
}


@needs_mlir
@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
def test_mlir_reads_networks_at_all_levels(
    network: str, irdl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = NETWORKS[network]
    for text in stages([str(ROOT / "models" / name), *options], "edge", tmp_path, capsys):
        read = read_by_mlir(irdl, text)
        assert read.returncode == 0, read.stderr[:2000]
        bytecode = tmp_path / "module.mlirbc"
        assert read_by_mlir(irdl, text, "--emit-bytecode", "-o", str(bytecode)).returncode == 0
        assert read_by_mlir(irdl, "", str(bytecode)).stdout == read.stdout


@needs_mlir
def test_a_small_network_is_read_at_all_levels(irdl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ROOT / "docs" / "reference" / "passes" / "manycore-to-memory.mlir"
    for text in stages([str(model)], "tiny", tmp_path, capsys):
        read = read_by_mlir(irdl, text)
        assert read.returncode == 0, read.stderr[:2000]
        assert re.search(r'"(dataflow|manycore|memory|coreasm)\.', read.stdout)
