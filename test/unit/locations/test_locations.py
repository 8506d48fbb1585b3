"""Locations of operations and of errors."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from meshloom.dialects.dataflow import NegOp, ReluOp
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.locations import at, error_location, fused, is_known, keeps_location, located, named
from meshloom.support.errors import InputError, MeshloomError, ResourceError
from meshloom.tools import compile as compile_tool
from meshloom.tools import opt as opt_tool
from meshloom.tools.diagnostics import report
from meshloom.tools.source_text import excerpt, remember
from xdsl.dialects.builtin import UNKNOWN_LOC, f32
from xdsl.ir import Block, SSAValue

ROOT = Path(__file__).parents[3]


def value() -> SSAValue:
    return Block(arg_types=[tensor(f32, (4,))]).args[0]


def test_operations_get_the_location_of_the_innermost_origin() -> None:
    with at(named("outer")):
        outer = ReluOp(value())
        with at(outer), at(named("inner")):
            inner = ReluOp(value())
        with at(UNKNOWN_LOC):
            as_around = ReluOp(value())
        after = ReluOp.create(operands=[value()], result_types=[tensor(f32, (4,))])
    assert [op.location for op in (outer, inner, as_around, after)] == [
        named("outer"), named("inner"), named("outer"), named("outer")
    ]  # fmt: skip
    assert not is_known(ReluOp(value()).location)


def test_operations_made_from_several_have_fused_locations() -> None:
    first, second, same = (ReluOp(value()) for _ in range(3))
    first.location = same.location = named("a")
    second.location = named("b")
    assert str(fused(op.location for op in (first, second, same))) == 'loc(fused["a", "b"])'
    assert fused([UNKNOWN_LOC, named("a")]) == named("a")
    assert fused([]) == UNKNOWN_LOC

    @keeps_location
    def rewritten(number: int, ops: list[ReluOp]) -> NegOp:
        return NegOp(ops[number].operand)

    assert rewritten(0, [first, same]).location == named("a")
    assert rewritten(0, [first, second]).location == fused([named("a"), named("b")])


def test_names_that_are_not_utf8_are_valid_locations() -> None:
    assert named(b"a\xffb") == named("a\N{REPLACEMENT CHARACTER}b")


def test_errors_have_the_location_of_the_innermost_operation() -> None:
    op = ReluOp(value())
    op.location = named("here")
    with pytest.raises(MeshloomError) as caught, at(named("around")), at(op):
        raise ResourceError("too large", "DRAM", 2, 1)
    assert error_location(caught.value) == named("here")
    assert report(str(caught.value), caught.value) == 'loc("here"): error: too large'
    # Also for an error that is raised from it, and for one that another process sent.
    with pytest.raises(InputError) as outer:
        raise InputError("no") from caught.value
    assert error_location(outer.value) == named("here")
    for error in (caught.value, located(InputError("no"), op)):
        assert error_location(pickle.loads(pickle.dumps(error))) == named("here")
    with pytest.raises(InputError) as nowhere:
        raise InputError("no")
    assert report("no", nowhere.value) == "error: no"


def test_lines_of_the_text_are_shown_with_a_caret() -> None:
    remember("a.mlir", "one\n\ttwo \x07 x\n" + "y" * 1000 + "z" + "y" * 1000, lines_before=10)
    assert excerpt("a.mlir", 11, 2) == "one\n ^"
    assert excerpt("a.mlir", 12, 8) == " two   x\n       ^"  # control characters are shown as blanks
    shown, caret = (excerpt("a.mlir", 13, 1001) or "\n").split("\n")
    assert len(shown) < 200
    assert shown[len(caret) - 1] == "z"
    for name, line, column in (("a.mlir", 10, 1), ("a.mlir", 14, 1), ("a.mlir", 11, 0), ("b.mlir", 1, 1)):
        assert excerpt(name, line, column) is None


def test_errors_in_parts_of_a_file_name_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %x : tensor<4xf32>\n}\n"
    wrong = '%0 = "test.op"() : () -> tensor<3xf32>\n%1 = dataflow.relu %0 : (tensor<3xf32>) -> tensor<4xf32>\n'
    path = tmp_path / "parts.mlir"
    path.write_text(f"{good}// -----\n{good}// -----\n{wrong}")
    assert opt_tool.main([str(path), "--split-input-file"]) == 2
    place, line, caret = capsys.readouterr().err.splitlines()
    assert place.startswith(f"{path}:10:6: error: ")
    assert (line, caret) == (wrong.splitlines()[1], "     ^")


def test_stages_and_files_carry_the_names_of_nodes(tmp_path: Path) -> None:
    model, shape = str(ROOT / "models" / "pnet.onnx"), ["--shape", "input_1=1x12x12x3"]
    stages = tmp_path / "stages"
    options = ["--chip", "edge", "-q", "--print-ir-after-all", str(stages)]
    assert compile_tool.main([model, *shape, *options, "-o", str(tmp_path / "a.mlx")]) == 0
    assert opt_tool.main([model, *shape, "-o", str(tmp_path / "net.mlir")]) == 0
    first = min(stages.iterdir()).read_text()
    assert first.rstrip() == (tmp_path / "net.mlir").read_text().rstrip()
    assert 'loc("conv2d_1")' in first
    # Locations do not change the executable.
    assert compile_tool.main([str(tmp_path / "net.mlir"), "--chip", "edge", "-q", "-o", str(tmp_path / "b.mlx")]) == 0
    assert (tmp_path / "a.mlx").read_bytes() == (tmp_path / "b.mlx").read_bytes()
