"""Tests of passes defined by users: `--load-pass-plugin`, `passes=` of the Python API, and the printed list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from meshloom.dialects.coreasm.isa import MNEMONICS
from meshloom.emulator.executable.executable import Executable
from meshloom.support.errors import InputError, MeshloomError
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.compile import main as compile_main
from meshloom.tools.opt import main as opt_main
from meshloom.tools.oracle import Oracle, compare
from meshloom.tools.pass_plugins import load_passes
from onnx import TensorProto, helper, numpy_helper

import meshloom

EXAMPLE = Path(__file__).parents[3] / "examples" / "divide_by_root.py"
OWN = ["--load-pass-plugin", str(EXAMPLE), "-p", "divide-by-root"]
RANDOM = np.random.default_rng(0)
INPUTS = {"x": RANDOM.standard_normal((8, 64)).astype(np.float32)}


def norm() -> bytes:
    """y = x / sqrt(mean(x * x) + eps)"""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["mean"], axes=[1]),
        helper.make_node("Add", ["mean", "eps"], ["variance"]),
        helper.make_node("Sqrt", ["variance"], ["root"]),
        helper.make_node("Div", ["x", "root"], ["y"]),
    ]
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 64]) for name in ("x", "y")]
    eps = numpy_helper.from_array(np.array(1e-5, np.float32), "eps")
    graph = helper.make_graph(nodes, "norm", tensors[:1], tensors[1:], [eps])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `norm.onnx`."""
    monkeypatch.chdir(tmp_path)
    Path("norm.onnx").write_bytes(norm())
    return tmp_path


def mnemonics(exe: Executable) -> set[str | None]:
    return {MNEMONICS[int(word["op"])] for program in exe.programs for word in program.words}


def loaded(file: str) -> CompiledNetwork:
    found = meshloom.load(file)
    assert isinstance(found, CompiledNetwork)
    return found


def test_a_rewrite_of_operators_changes_the_instructions_and_keeps_the_values() -> None:
    assert compile_main(["norm.onnx", "--chip", "tiny", "-q", "-o", "plain.mlx"]) == 0
    assert compile_main(["norm.onnx", "--chip", "tiny", "-q", "-o", "own.mlx", *OWN]) == 0
    plain, own = loaded("plain.mlx"), loaded("own.mlx")
    assert {"div", "sqrt"} <= mnemonics(plain.executable)
    assert not {"div", "sqrt"} & mnemonics(own.executable)
    assert "rsqrt" in mnemonics(own.executable)
    result = own.run(INPUTS, check=True)
    assert compare("y", result.outputs["y"], Oracle(norm()).run(INPUTS)["y"]).equal
    x = INPUTS["x"].astype(np.float64)
    np.testing.assert_allclose(result.outputs["y"], x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5), rtol=1e-5)
    assert result.cycles < plain.run(INPUTS).cycles


def test_python_takes_passes_as_objects() -> None:
    assert compile_main(["norm.onnx", "--chip", "tiny", "-q", "-o", "own.mlx", *OWN]) == 0
    seen: list[str] = []
    own = load_passes([EXAMPLE], {})["divide-by-root"]()()
    meshloom.compile("norm.onnx", "tiny", passes=[own], progress=seen.append).save("again.mlx")
    assert Path("again.mlx").read_bytes() == Path("own.mlx").read_bytes()
    assert seen[:2] == ["import", "divide-by-root"]


def test_python_takes_passes_as_text_down_to_instructions(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_main(["norm.onnx", "--chip", "tiny", "--print-pipeline"]) == 0
    pipeline = capsys.readouterr().out.strip()
    meshloom.compile("norm.onnx", "tiny").save("plain.mlx")
    meshloom.compile("norm.onnx", "tiny", passes=pipeline).save("by_list.mlx")
    assert Path("by_list.mlx").read_bytes() == Path("plain.mlx").read_bytes()


def test_the_printed_list_has_the_users_pass_and_gives_the_same_bytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compile_main(["norm.onnx", "--chip", "tiny", "-q", "-o", "own.mlx", *OWN]) == 0
    assert compile_main(["norm.onnx", "--chip", "tiny", "--print-pipeline"]) == 0
    plain = capsys.readouterr().out.strip()
    assert compile_main(["norm.onnx", "--chip", "tiny", "--print-pipeline", *OWN]) == 0
    pipeline = capsys.readouterr().out.strip()
    assert pipeline == f"divide-by-root,{plain}"
    # The user's pass may also follow passes of the compiler.
    after = plain.replace("dataflow-fold-affine", "dataflow-fold-affine,divide-by-root")
    for number, text in enumerate([pipeline, after]):
        assert opt_main(["norm.onnx", *OWN[:2], "-p", text, "--check-semantics", "-o", f"{number}.mlir"]) == 0
        assert compile_main([f"{number}.mlir", "-q", "-o", f"{number}.mlx"]) == 0
        assert Path(f"{number}.mlx").read_bytes() == Path("own.mlx").read_bytes()


def test_a_root_with_other_readers_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.mlir").write_text("""
        func.func @main(%x: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
          %root = dataflow.sqrt %v : (tensor<4xf32>) -> tensor<4xf32>
          %y = dataflow.div %x, %root : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          func.return %y, %root : tensor<4xf32>, tensor<4xf32>
        }
    """)
    assert opt_main(["two.mlir", *OWN, "--check-semantics"]) == 0
    printed = capsys.readouterr().out
    assert "dataflow.sqrt" in printed
    assert "dataflow.div" in printed


PASS = """
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

class Own(ModulePass):
    name = "{}"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        {}
"""
BAD: list[tuple[str, str, int]] = [
    (PASS.format("own", "pass") + "\nx = 1 / 0", "own.py:12: ZeroDivisionError: division by zero", 2),
    ("import nothing_of_this_name", "own.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'", 2),
    ("\n\ndef", "own.py:3: SyntaxError: invalid syntax", 2),
    ("from meshloom.transforms.coreasm_pack import CoreasmPackPass", "own.py defines no pass", 2),
    (PASS.format("canonicalize", "pass"), "own.py: a pass 'canonicalize' exists already: rename Own", 2),
    (PASS.format("own", "pass") + "\nclass Other(Own): ...", "own.py: two passes have the name 'own'", 2),
    (PASS.format("onw", "pass"), "unknown pass 'own'; did you mean 'onw'?", 2),
    (PASS.format("own", "raise KeyError('k')"), "pass 'own' failed: KeyError: 'k' (reproducer: ", 1),
]


@pytest.mark.parametrize(("text", "message", "status"), BAD, ids=lambda value: str(value)[-30:])
@pytest.mark.parametrize("tool", [opt_main, compile_main])
def test_a_file_that_cannot_be_used_is_one_error_and_no_output(
    text: str, message: str, status: int, tool: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.py").write_text(text)
    chip = ["--chip", "tiny", "-q"] if tool is compile_main else []
    arguments = ["norm.onnx", *chip, "-o", "out", "--load-pass-plugin", "own.py", "-p", "own"]
    assert tool(arguments) == status
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("path", "message"), [("none.py", "none.py: no such file"), (".", ".: is a folder"), ("/dev/zero", "a device")]
)
def test_a_path_that_is_no_file(path: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_passes([path], {})


def test_a_plugin_without_a_pass_to_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_main(["norm.onnx", "--chip", "tiny", "-o", "out.mlx", *OWN[:2]]) == 2
    assert "list the ones to run with -p" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        (5, "passes is of type int, expected text as for -p, or a list of passes"),
        ([5], "an element of passes is of type int, expected a pass"),
        (["cse"], "an element of passes is of type str"),
        ("onw", "unknown pass 'onw'"),
    ],
)
def test_python_refuses_objects_that_are_no_passes(passes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cast("Any", meshloom).compile("norm.onnx", "tiny", passes=passes)


def test_python_reports_the_pass_that_failed() -> None:
    Path("own.py").write_text(PASS.format("own", "raise KeyError('k')"))
    own = load_passes(["own.py"], {})["own"]()()
    with pytest.raises(MeshloomError, match="pass 'own' failed: KeyError: 'k'"):
        meshloom.compile("norm.onnx", "tiny", passes=[own])
