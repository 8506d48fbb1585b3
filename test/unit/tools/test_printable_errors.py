"""Tests that errors are printable in a terminal, whatever characters the names in files have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from meshloom.support.errors import printable
from meshloom.tools import assemble
from onnx import ModelProto, NodeProto, TensorProto, helper

ODD = "a\n\x0c\x1b[2J\u2028b"
ESCAPED = r"a\n\x0c\x1b[2J\u2028b"


def network(node: NodeProto, shape: list[int] | None = None) -> ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (node.input[0], node.output[0]))
    return helper.make_model(helper.make_graph([node], "net", [x], [y]), opset_imports=[helper.make_opsetid("", 13)])


@pytest.mark.parametrize(
    "made",
    [
        network(helper.make_node(ODD, ["x"], ["y"]), [2]),
        network(helper.make_node("Clip", ["x", "nothing"], ["y"], name=ODD), [2]),
        network(helper.make_node("Relu", [ODD], ["y"])),
    ],
    ids=["operator", "node", "input"],
)
def test_names_of_a_network(made: ModelProto, tmp_path: Path, run: Callable[..., object]) -> None:
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    done = vars(run("meshloom-compile", "net.onnx", "--chip=tiny", "-o", "net.mlx"))
    assert done["returncode"] == 2
    first, *others = done["stderr"].splitlines()
    assert first.startswith("error: net.onnx")
    assert others
    assert all(line.startswith("  ") for line in others)
    assert ESCAPED in done["stderr"]


def test_line_breaks_of_the_message_are_kept() -> None:
    assert printable("net.onnx cannot be imported:\n  operator é\n  node 2") == (
        "net.onnx cannot be imported:\n  operator é\n  node 2"
    )
    assert printable("input \ud800\t") == r"input \ud800\t"


def test_a_long_string_in_a_listing_is_shortened(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "net.lst"
    source.write_text(f'.meshloom isa 2\n.chip "{"x" * 5000}\t"\n')
    assert assemble.main([str(source), "-o", str(tmp_path / "net.mlx")]) == 2
    errors = capfd.readouterr().err
    assert ":2:" in errors
    assert "(before '" in errors
    assert len(errors.splitlines()[0]) < 500
