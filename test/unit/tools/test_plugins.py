"""Tests of plug-ins: loaded by an option or as installed packages; each defect is an error of one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from meshloom.chips import load_chip
from onnx import TensorProto, helper

Run = Callable[..., "subprocess.CompletedProcess[str]"]
EXAMPLE = Path(__file__).parents[3] / "examples" / "plugin"
SATURATION = EXAMPLE / "saturation"


@pytest.fixture(autouse=True)
def model(tmp_path: Path) -> Path:
    """y = Saturate(x), an operator of the plug-in."""
    node = helper.make_node("Saturate", ["x"], ["y"], domain="com.example", low=-0.5, high=2.0)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = tmp_path / "net.onnx"
    made = helper.make_model(helper.make_graph([node], "net", [x], [y]), opset_imports=opsets, ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


def test_an_operator_of_a_plugin_on_its_chip(start: Run, tmp_path: Path) -> None:
    options = ["--plugin", SATURATION, "--chip", "quick", "-q"]
    assert start("meshloom-compile", "net.onnx", *options, "-o", "net.mlx").returncode == 0
    x = np.linspace(-2, 3, 8, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    ran = start("meshloom-run", "net.mlx", "--plugin", SATURATION, "--input", "x=x.npy", "--output", "out", "-q")
    assert ran.returncode == 0, ran.stderr
    assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), np.clip(x, -0.5, 2.0))


def test_an_installed_plugin_needs_no_option(start: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package on the path with the entry point of its pyproject.toml is loaded without an option."""
    site = tmp_path / "site"
    shutil.copytree(SATURATION, site / "saturation")
    info = site / "meshloom_saturation-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: meshloom-saturation\nVersion: 1.0\n")
    assert 'entry-points."meshloom.plugins"]\nsaturation = "saturation"' in (EXAMPLE / "pyproject.toml").read_text()
    (info / "entry_points.txt").write_text("[meshloom.plugins]\nsaturation = saturation\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    printed = start("meshloom-compile", "net.onnx", "--chip", "quick", "--print-pipeline")
    assert printed.returncode == 0, printed.stderr
    assert "find-saturation" in printed.stdout


def test_an_executable_for_a_chip_with_a_key_of_a_plugin_needs_the_plugin(start: Run, tmp_path: Path) -> None:
    """An executable that needs the plug-in only for a key of its chip (the network is a ReLU) is refused without it."""
    (tmp_path / "relu.mlir").write_text(
        'func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> (tensor<8xf32> {dataflow.name = "y"}) {\n'
        "  %y = dataflow.relu %x : (tensor<8xf32>) -> tensor<8xf32>\n"
        "  func.return %y : tensor<8xf32>\n}\n"
    )
    options = ["--plugin", SATURATION, "--chip", "quick", "-q", "-o", "relu.mlx"]
    compiled = start("meshloom-compile", "relu.mlir", *options)
    assert compiled.returncode == 0, compiled.stderr
    assert start("meshloom-run", "relu.mlx", "--plugin", SATURATION, "--random", "0", "-q").returncode == 0
    ran = start("meshloom-run", "relu.mlx", "--random", "0", "-q")
    assert ran.returncode == 2
    assert ran.stderr == (
        "error: relu.mlx holds the chip key 'has_clamp' of plug-in 'saturation': load it with --plugin\n"
    )


@pytest.mark.slow
def test_the_printed_list_gives_the_same_bytes(start: Run, tmp_path: Path) -> None:
    options = ["--plugin", SATURATION, "--chip", "quick"]
    assert start("meshloom-compile", "net.onnx", *options, "-q", "-o", "net.mlx").returncode == 0
    passes = start("meshloom-compile", "net.onnx", *options, "--print-pipeline").stdout.strip()
    opt = start("meshloom-opt", "net.onnx", "--plugin", SATURATION, "-p", passes, "-o", "net.mlir")
    assert opt.returncode == 0, opt.stderr
    assert start("meshloom-as", "net.mlir", "--plugin", SATURATION, "-o", "again.mlx").returncode == 0
    assert (tmp_path / "net.mlx").read_bytes() == (tmp_path / "again.mlx").read_bytes()


def test_a_mapping_method(start: Run, tmp_path: Path) -> None:
    """The method of the plug-in maps eight vertices to a mesh of two rows: from left to right, then back."""
    (tmp_path / "ring.graph").write_text("8 8\n" + "\n".join(f"{(i - 1) % 8 + 1} {(i + 1) % 8 + 1}" for i in range(8)))
    options = ["--mesh", "4x2", "--capacity", "1", "--method", "serpentine", "-q", "-o", "map.npy"]
    mapped = start("meshloom-map", "ring.graph", "--plugin", SATURATION, *options)
    assert mapped.returncode == 0, mapped.stderr
    assert np.load(tmp_path / "map.npy").tolist() == [0, 1, 2, 3, 7, 6, 5, 4]


BAD = [
    ("", "no_such_plugin", "plug-in 'no_such_plugin': there is no such module"),
    ("", "missing.py", "missing.py: no such file"),
    ("x = 1\ny = x / 0\n", "own.py", "own.py:2: ZeroDivisionError: division by zero"),
    ("def f(:\n", "own.py", "own.py:1: SyntaxError"),
    (
        "from meshloom import plugins\nplugins.add_chip('a.toml')\n",
        "own.py",
        "cannot read chip description a.toml",
    ),
    (
        "from meshloom import plugins\nfrom meshloom.analysis.placement.methods import as_planned\n"
        "plugins.add_placement_method('hops', as_planned)\n",
        "own.py",
        "there is a placement method 'hops' already: give it another name",
    ),
    *(
        (f"from meshloom import plugins\nplugins.add_chip_key(plugins.ChipKey({entry}))\n", "own.py", message)
        for entry, message in (
            ("'vpu_lanes', 4", "there is a chip key 'vpu_lanes' already: give it another name"),
            ("'Lanes', 4", "a name consists of lower-case letters, digits and underscores"),
            ("'lanes', [4]", "its default is [4], expected a number, text or bool"),
        )
    ),
    *(
        (
            "from meshloom import plugins\n"
            f"plugins.add_instruction(plugins.vector_instruction({entry}, 'D = A'), lambda a: a)\n",
            "own.py",
            message,
        )
        for entry, message in (
            ("'same', 0x20, 1", "opcode 0x20 is not reserved for plug-ins: choose 0xe0 to 0xef"),
            ("'max', 0xE1, 1", "there is an instruction 'max' already"),
            ("'Same', 0xE1, 1", "a mnemonic consists of lower-case letters, digits and single dots"),
            ("'same', 0xE1, 4", "it takes 1 to 3 sources and a factor of 1 or more"),
        )
    ),
]


@pytest.mark.parametrize(("text", "name", "message"), BAD, ids=[message[:30] for _, _, message in BAD])
def test_defects_of_plugins_are_errors_of_one_line(
    text: str, name: str, message: str, start: Run, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(text)
    ran = start("meshloom-compile", "net.onnx", "--plugin", name, "--chip", "tiny", "-o", "net.mlx")
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1
    assert message in ran.stderr
    assert not (tmp_path / "net.mlx").exists()


OWN = """
import numpy as np
from meshloom import plugins

DISTANCE = plugins.vector_instruction("distance", {code:#x}, 2, "D = |A - B|", factor={factor})
plugins.add_instruction(DISTANCE, lambda a, b: np.abs(a - b))
"""


def assembled(start: Run, folder: Path) -> None:
    """Assemble net.mlx, y = distance(x, 0.5) of 8 elements, from a listing in which a maximum is replaced."""
    (folder / "net.mlir").write_text(
        'func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> (tensor<8xf32> {dataflow.name = "y"}) {\n'
        "  %half = dataflow.constant dense<0.5> : tensor<f32>\n"
        "  %y = dataflow.maximum %x, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>\n"
        "  func.return %y : tensor<8xf32>\n}\n"
    )
    assert start("meshloom-compile", "net.mlir", "--chip", "tiny", "-q", "-o", "max.mlx").returncode == 0
    assert start("meshloom-objdump", "max.mlx", "-o", "net.lst").returncode == 0
    listing = (folder / "net.lst").read_text()
    assert listing.count("max f32") >= 1
    (folder / "net.lst").write_text(listing.replace("max f32", "distance f32"))
    done = start("meshloom-as", "net.lst", "--plugin", "own.py", "-o", "net.mlx")
    assert done.returncode == 0, done.stderr


def test_an_instruction_in_a_listing(start: Run, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN.format(code=0xE5, factor=1))
    assembled(start, tmp_path)
    x = np.linspace(-2, 3, 8, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    ran = start("meshloom-run", "net.mlx", "--plugin", "own.py", "--input", "x=x.npy", "--output", "out", "-q")
    assert ran.returncode == 0, ran.stderr
    assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), np.abs(x - np.float32(0.5)))


def cycles(start: Run, factor: int, folder: Path) -> int:
    (folder / "own.py").write_text(OWN.format(code=0xE5, factor=factor))
    assembled(start, folder)
    ran = start("meshloom-run", "net.mlx", "--plugin", "own.py", "--random", "0", "--stats", "stats.json", "-q")
    assert ran.returncode == 0, ran.stderr
    return int(json.loads((folder / "stats.json").read_text())["units"]["VPU"]["busy_cycles"])


@pytest.mark.slow
def test_an_instruction_has_the_cost_of_its_entry(start: Run, tmp_path: Path) -> None:
    """With factor 9, the instruction takes nine passes over 8 elements instead of one."""
    lanes = load_chip("tiny").vpu_lanes
    assert cycles(start, 9, tmp_path) - cycles(start, 1, tmp_path) == 8 * -(-8 // lanes)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (None, "net.mlx holds instructions 'distance' of plug-in 'own.py': load it with --plugin"),
        (OWN.format(code=0xE6, factor=1), "of another version of plug-in 'own.py': compile it again"),
        pytest.param(
            OWN.format(code=0xE5, factor=2),
            "of another version of plug-in 'own.py': compile it again",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_error_without_the_right_plugin_has_its_name(
    plugin: str | None, message: str, start: Run, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN.format(code=0xE5, factor=1))
    assembled(start, tmp_path)
    given: list[str] = []
    if plugin is not None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "own.py").write_text(plugin)
        given = ["--plugin", "other/own.py"]
    for tool in (["meshloom-run", "net.mlx", "--random", "0"], ["meshloom-objdump", "net.mlx"]):
        ran = start(*tool, *given)
        assert ran.returncode == 2
        assert ran.stderr.count("\n") == 1
        assert message in ran.stderr


def test_a_key_of_chips(start: Run, tmp_path: Path) -> None:
    """A chip whose description lacks the key computes the same with built-in instructions, without the plug-in."""
    options = ["--plugin", SATURATION, "-q", "-o", "net.mlx"]
    assert start("meshloom-compile", "net.onnx", "--chip", "tiny", *options).returncode == 0
    x = np.linspace(-2, 3, 8, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    ran = start("meshloom-run", "net.mlx", "--input", "x=x.npy", "--output", "out", "-q")
    assert ran.returncode == 0, ran.stderr
    assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), np.clip(x, -0.5, 2.0))


def test_an_unknown_key_of_a_chip(start: Run, tmp_path: Path) -> None:
    (tmp_path / "quick.toml").write_text((SATURATION / "quick.toml").read_text())
    ran = start("meshloom-compile", "net.onnx", "--chip", "quick.toml", "-o", "net.mlx")
    assert ran.returncode == 2
    assert "quick.toml: unknown key 'has_clamp' (if it is that of a plug-in, load this with --plugin)" in ran.stderr


CHIP_PASS = """
from dataclasses import dataclass
from meshloom import plugins

@dataclass(frozen=True)
class NameChipPass(plugins.ChipPass):
    name = "name-chip"

    def run(self, module, chip):
        print(f"for {chip.name}")

plugins.add_pass(NameChipPass, before="dataflow-roll-loops")
"""


def test_a_pass_in_the_default_list_gets_the_chip(start: Run, tmp_path: Path) -> None:
    """The printed list names the chip for the pass, as for those of the compiler; it is the first pass here."""
    (tmp_path / "added.py").write_text(CHIP_PASS)
    (tmp_path / "net.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    )
    options = ["--plugin", "added.py", "--chip", "tiny"]
    printed = start("meshloom-compile", "net.mlir", *options, "--print-pipeline")
    assert printed.stdout.startswith('name-chip{chip="tiny"},'), printed.stderr
    passed = start("meshloom-opt", "net.mlir", "--plugin", "added.py", "-p", printed.stdout.split(",", 1)[0])
    assert passed.stdout.startswith("for tiny"), passed.stderr
