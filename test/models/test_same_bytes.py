"""Every printed level, and the list of passes, gives the executable that the compiler gives: byte for byte."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from meshloom.support.errors import MeshloomError
from meshloom.tools import assemble, opt
from meshloom.tools import compile as compile_tool
from public_models import PUBLIC_MODELS

OPTIONS = {
    "dense": [],
    "sparse": ["--sparse"],
    "subgraphs": ["--subgraphs", "fewest-bytes,parts=3"],
    "budget": ["--budget", "0.7"],
}
QUICK = [
    ("rnet", "edge", "dense"),
    ("rnet", "tiny", "dense"),
    ("vad", "edge", "dense"),
    ("rnet", "edge", "sparse"),
    ("onet", "tiny", "subgraphs"),
    ("rnet", "tiny", "budget"),
]
ALL = [case for case in itertools.product(PUBLIC_MODELS, ("tiny", "edge", "grid"), OPTIONS) if case not in QUICK]


def run(main_of: object, *arguments: object) -> None:
    """A tool that ends well."""
    assert callable(main_of)
    assert main_of([str(argument) for argument in arguments]) == 0


def check(name: str, chip: str, how: str, folder: Path) -> None:
    model = PUBLIC_MODELS[name]
    shapes = [f"--shape={key}={'x'.join(map(str, shape))}" for key, shape in model.shapes.items()]
    options = [f"--chip={chip}", *OPTIONS[how]]
    stages, expected = folder / "stages", folder / "expected.mlx"
    run(compile_tool.main, model.path, *shapes, *options, "-q", "-o", expected, "--print-ir-after-all", stages)
    texts = sorted(stages.glob("*.mlir"))
    levels = {path.stem.partition("-")[2] for path in texts}
    assert levels >= {"import", "memory", "coreasm"} | ({"manycore"} if how != "budget" else set())
    for path in texts:
        again = folder / f"{path.stem}.mlx"
        above = path.stem.endswith(("import", "simplify"))  # what the options ask for has not been decided yet
        run(compile_tool.main, path, *(options if above else options[:1]), "-q", "-o", again)
        assert again.read_bytes() == expected.read_bytes(), path.name


def pipeline(chip: str, how: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    run(compile_tool.main, "any.onnx", f"--chip={chip}", *OPTIONS[how], "--print-pipeline")
    return capsys.readouterr().out.strip()


def check_passes(name: str, chip: str, how: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `meshloom-opt` and `meshloom-as`."""
    model = PUBLIC_MODELS[name]
    shapes = [f"--shape={key}={'x'.join(map(str, shape))}" for key, shape in model.shapes.items()]
    text, again = folder / "instructions.mlir", folder / "assembled.mlx"
    run(opt.main, model.path, *shapes, "-p", pipeline(chip, how, capsys), "-o", text)
    run(assemble.main, text, "-o", again)
    assert again.read_bytes() == (folder / "expected.mlx").read_bytes()


@pytest.mark.parametrize(("name", "chip", "how"), QUICK)
def test_levels_and_passes(name: str, chip: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(name, chip, how, tmp_path)
    check_passes(name, chip, how, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "chip", "how"), ALL)
def test_all_levels_and_passes(
    name: str, chip: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        check(name, chip, how, tmp_path)
        check_passes(name, chip, how, tmp_path, capsys)
    except MeshloomError as error:  # a budget that a network cannot keep
        pytest.fail(str(error))
