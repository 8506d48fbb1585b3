"""Tests of damaged files, read by the command-line tools: one error, no traceback, no partial file, no crash."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from meshloom.tools import assemble as assemble_tool
from meshloom.tools import compile as compile_tool
from meshloom.tools import map as map_tool
from meshloom.tools import objdump as objdump_tool
from meshloom.tools import opt as opt_tool
from meshloom.tools import plan as plan_tool
from meshloom.tools import run as run_tool
from meshloom.tools import topology as topology_tool
from onnx import TensorProto, helper, numpy_helper
from public_models import PUBLIC_MODELS

ROOT = Path(__file__).resolve().parents[2]
RNET = PUBLIC_MODELS["rnet"]

NETWORK = """builtin.module {
  func.func @main(%x: tensor<2x3xf32> {dataflow.name = "x"}) -> (tensor<2x4xf32> {dataflow.name = "y"}) {
    %w = dataflow.constant dense<0.5> : tensor<3x4xf32>
    %0 = dataflow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = dataflow.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = dataflow.reshape %1 : (tensor<2x4xf32>) -> tensor<8xf32>
    %3 = dataflow.reshape %2 : (tensor<8xf32>) -> tensor<2x4xf32>
    func.return %3 : tensor<2x4xf32>
  }
}
"""
TEXT = b'\x00\x7f\xff"{}[]()<>:=,.-+#%@!xX0123456789 \n\te'
"""Bytes with a meaning for parsers of text."""


@dataclass(frozen=True)
class Case:
    """A kind of file: a valid file, and the command that reads it."""

    name: str
    suffix: str
    good: bytes
    main: Callable[[Sequence[str]], int]
    arguments: Callable[[Path, Path], list[str]]
    """The command's arguments, given the file and the folder for outputs."""

    def damaged(self, count: int, seed: int) -> Iterator[bytes]:
        """Random damaged files: truncated, with flipped bits, replaced bytes, a repeated or a missing range."""
        random = np.random.default_rng(seed)
        for number in range(count):
            data = bytearray(self.good)
            at, end = sorted(int(n) for n in random.integers(len(data) + 1, size=2))
            # Half of the damage is in the first kilobytes, which contain headers and structure.
            place = int(random.integers(min(len(data), 4096) if number & 8 else len(data)))
            match number % 5:
                case 0:
                    del data[at:]
                case 1:
                    for _ in range(int(random.integers(1, 4))):
                        data[place] ^= 1 << int(random.integers(8))
                        place = int(random.integers(len(data)))
                case 2:
                    data[place] = TEXT[int(random.integers(len(TEXT)))]
                case 3:
                    data[at:at] = data[at : min(end, at + 64)]
                case _:
                    del data[at : min(end, at + 64)]
            yield bytes(data)


@pytest.fixture(scope="module")
def executable(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("executable")
    (folder / "net.mlir").write_text(NETWORK)
    arguments = [str(folder / "net.mlir"), "--chip", "tiny", "-o", str(folder / "net.mlx"), "-q"]
    assert compile_tool.main(arguments) == 0
    return (folder / "net.mlx").read_bytes()


@pytest.fixture(scope="module")
def listing(executable: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("listing")
    (folder / "net.mlx").write_bytes(executable)
    assert objdump_tool.main([str(folder / "net.mlx"), "-o", str(folder / "net.lst")]) == 0
    return (folder / "net.lst").read_bytes()


@pytest.fixture(scope="module")
def topologies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One small graph in each format, by extension."""
    folder = tmp_path_factory.mktemp("topologies")
    (folder / "net.graph").write_text("6 7\n2 3\n1 3 4\n1 2 5\n2 5 6\n3 4\n4\n")
    for suffix in (".npz", ".zip", ".mtx"):
        assert topology_tool.main(["convert", str(folder / "net.graph"), str(folder / f"net{suffix}")]) == 0
    return {path.suffix: path.read_bytes() for path in folder.iterdir()}


def cost_graph() -> bytes:
    """A cost graph of three operations, as JSON."""
    tensors = [
        {"id": number, "shape": [4], "size": 16, "kind": kind}
        for number, kind in enumerate(["input", "act", "act", "act"])
    ]
    ops = [
        {"id": n, "name": f"op{n}", "unit": unit, "ins": [n], "outs": [n + 1], "flops": 8, "dur_ns": 5, "phase": "fwd"}
        for n, unit in enumerate(["MPU", "VPU", "MPU"])
    ]
    return json.dumps({"tensors": tensors, "ops": ops}).encode()


def small_onnx() -> bytes:
    """A small ONNX network, because many damaged files are still compiled."""
    weights = numpy_helper.from_array(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "product"), helper.make_node("Relu", ["a"], ["y"], "act")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, [weights])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return made.SerializeToString()


def array_file() -> bytes:
    """The network's input as a `.npy` file."""
    file = BytesIO()
    np.save(file, np.arange(6, dtype=np.float32).reshape(2, 3))
    return file.getvalue()


@pytest.fixture
def case(
    request: pytest.FixtureRequest,
    executable: bytes,
    listing: bytes,
    topologies: dict[str, bytes],
    tmp_path: Path,
) -> Case:
    (tmp_path / "net.mlx").write_bytes(executable)
    network = tmp_path / "net.mlir"
    network.write_text(NETWORK)
    chip = (ROOT / "chips" / "tiny.toml").read_bytes()
    onnx, text = RNET.path.read_bytes(), NETWORK.encode()

    def build(source: Path, out: Path, chip: str | Path = "tiny") -> list[str]:
        return [str(source), "--chip", str(chip), "-o", str(out / "out.mlx"), "-q"]

    def run(source: Path, out: Path) -> list[str]:
        files = ["--stats", str(out / "stats.json"), "--output", str(out / "values")]
        return [str(source), "--random", "0", "-q", *files]

    def run_on(source: Path, out: Path) -> list[str]:
        return [str(tmp_path / "net.mlx"), "--input", f"x={source}", "-q", "--output", str(out / "values")]

    def plan(source: Path, out: Path) -> list[str]:
        return [str(source), "--units", "--preset", "fast", "--order", str(out / "order.json"), "-q"]

    def convert(source: Path, out: Path) -> list[str]:
        return ["convert", str(source), str(out / "out.npz")]

    cases = (
        Case("as", ".lst", listing, assemble_tool.main, lambda f, o: [str(f), "-o", str(o / "out.mlx")]),
        Case("npy", ".npy", array_file(), run_tool.main, run_on),
        Case("plan", ".json", cost_graph(), plan_tool.main, plan),
        Case(
            "map",
            ".npz",
            topologies[".npz"],
            map_tool.main,
            lambda f, o: [str(f), "--mesh", "2x2", "-o", str(o / "m.npy"), "-q"],
        ),
        *(
            Case(f"topology-{suffix[1:]}", suffix, data, topology_tool.main, convert)
            for suffix, data in topologies.items()
        ),
        Case("opt-onnx", ".onnx", onnx, opt_tool.main, lambda f, o: [str(f), "-o", str(o / "out.mlir")]),
        Case("compile-onnx", ".onnx", small_onnx(), compile_tool.main, build),
        Case("opt-mlir", ".mlir", text, opt_tool.main, lambda f, o: [str(f), "-o", str(o / "out.mlir")]),
        Case("compile-mlir", ".mlir", text, compile_tool.main, build),
        Case("chip", ".toml", chip, compile_tool.main, lambda f, o: build(network, o, f)),
        Case("run", ".mlx", executable, run_tool.main, run),
        Case("objdump", ".mlx", executable, objdump_tool.main, lambda f, o: [str(f), "-o", str(o / "out.lst")]),
    )
    return next(one for one in cases if one.name == request.param)


def starts_error(line: str) -> bool:
    """Whether a line of output is the first line of an error, with or without a location."""
    return re.match(r"(\S+:\d+:\d+: )?error: ", line) is not None


def check(
    case: Case, data: bytes, folder: Path, capfd: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, bytes | None]]:
    """Run the tool on a file, and check errors and files; the status, and the written files."""
    source, out = folder / f"damaged{case.suffix}", folder / "out"
    source.write_bytes(data)
    out.mkdir()
    try:
        status = case.main(case.arguments(source, out))
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    _, errors = capfd.readouterr()
    files = {
        str(path.relative_to(out)): path.read_bytes() if path.is_file() else None for path in sorted(out.rglob("*"))
    }
    for path in sorted(out.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    out.rmdir()
    assert status in (0, 1, 2), errors
    assert "Traceback" not in errors
    assert "internal error" not in errors
    lines = [line for line in errors.splitlines() if line.strip()]
    if status:
        # One error; a list of locations in a model is indented below it, a location in a text is shown with a caret.
        assert [starts_error(line) for line in lines] == [True] + [False] * (len(lines) - 1), errors
        shows_text = not lines[0].startswith("error: ")
        assert len(lines) <= 3 if shows_text else all(line.startswith("  ") for line in lines[1:]), errors
        assert len(lines[0]) < 2000
        assert not files
    return status, files


CASES = (
    "opt-onnx", "compile-onnx", "opt-mlir", "compile-mlir", "chip", "run", "objdump", "as", "npy", "plan", "map",
    "topology-npz", "topology-zip", "topology-graph", "topology-mtx",
)  # fmt: skip
LONG = ("plan", "map")
"""Kinds of files that are input of a search."""
LEAST = {
    "opt-onnx": 0.1,
    "compile-onnx": 0.1,
    "opt-mlir": 0.4,
    "compile-mlir": 0.4,
    "chip": 0.4,
    "run": 1,
    "objdump": 1,
    "as": 0.4,
    "npy": 0.4,
    "plan": 0.4,
    "map": 0.4,
    "topology-npz": 0.4,
    "topology-zip": 0.8,
    "topology-graph": 0.3,
    "topology-mtx": 0.3,
}
"""Least share of damaged files that is rejected: all with a checksum; other values and names may be valid."""
HARMLESS = ("topology-zip",)
"""The checksum excludes dates and attributes of members: a damaged file that is accepted gives the same results."""


def sweep(case: Case, count: int, seed: int, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rejected = changed = 0
    _, good = check(case, case.good, folder, capfd)
    for number, data in enumerate(case.damaged(count, seed)):
        if data == case.good:
            continue
        changed += 1
        try:
            status, files = check(case, data, folder, capfd)
            rejected += status != 0
            assert status or case.name not in HARMLESS or files == good, "the result is another one"
        except AssertionError as error:
            (kept := folder / f"kept{case.suffix}").write_bytes(data)
            raise AssertionError(f"{case.name}, damage {number} of seed {seed}, kept as {kept}: {error}") from error
    assert rejected >= LEAST[case.name] * changed


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow) if case in LONG else case for case in CASES],
    indirect=True,
)
def test_damaged_files(case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sweep(case, 25, 1, tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.campaign(500)
@pytest.mark.parametrize("case", CASES, indirect=True)
def test_many_damaged_files(case: Case, cases: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sweep(case, cases, 2, tmp_path, capfd)


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_the_undamaged_file_is_accepted(case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check(case, case.good, tmp_path, capfd)[0] == 0


@pytest.mark.parametrize("case", CASES, indirect=True)
@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 100, b"\xff" * 100, b"\n", b"\x7fELF", b"a" * 5000],
    ids=["empty", "zeros", "ones", "line", "elf", "letters"],
)
def test_files_of_another_kind(case: Case, content: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # An empty module is valid.
    expected = (0, 2) if case.name == "opt-mlir" and not content.strip() else (2,)
    assert check(case, content, tmp_path, capfd)[0] in expected


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_missing_file_and_folder(case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for source in (tmp_path / f"missing{case.suffix}", tmp_path):
        arguments = case.arguments(source, tmp_path)
        assert case.main(arguments) == 2
        _, errors = capfd.readouterr()
        assert errors.startswith("error: ")
        assert errors.count("\n") == 1


def test_a_value_used_before_it_is_defined(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "net.mlir"
    for wrong in (
        NETWORK.replace("reshape %2 : (tensor<8xf32>)", "reshape %3 : (tensor<2x4xf32>)"),
        NETWORK.replace("relu %0", "relu %3", 1),
    ):
        source.write_text(wrong)
        for main, arguments in ((opt_tool.main, []), (compile_tool.main, ["--chip", "tiny"])):
            assert main([str(source), *arguments, "-o", str(tmp_path / "out")]) == 2
            assert not (tmp_path / "out").exists()
            _, errors = capfd.readouterr()
            assert re.match(r"\S+net.mlir:\d+:\d+: error: operand 0 .* is used before", errors)
            assert errors.count("\n") == 3


def test_wrong_inputs(executable: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.mlx").write_bytes(executable)
    arrays = {
        "shape": np.zeros((3, 2), np.float32),
        "type": np.zeros((2, 3), np.float64),
        "text": np.array([["a", "b", "c"]] * 2),
        "scalar": np.float32(1),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "damaged.npy").write_bytes((tmp_path / "shape.npy").read_bytes()[:100])
    wrong = [[], ["--input", "x"], ["--input", "z=shape.npy"], ["--input", "x=missing.npy"]]
    wrong += [["--input", f"x={tmp_path / name}.npy"] for name in (*arrays, "damaged")]
    for options in wrong:
        stats = tmp_path / "stats.json"
        assert run_tool.main([str(tmp_path / "net.mlx"), *options, "--stats", str(stats), "-q"]) == 2, options
        _, errors = capfd.readouterr()
        assert errors.startswith("error: ")
        assert errors.count("\n") == 1
        assert not stats.exists()
