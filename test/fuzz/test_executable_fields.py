"""
Tests of executables in which each number of the tables is set to invalid values, with a correct checksum.

The reader rejects the file, or the emulator runs it or reports an error of its own. No size in the file makes it
allocate more memory than the machine has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from meshloom.emulator.executable import file
from meshloom.emulator.executable.executable import Executable, from_bytes, to_bytes
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.lowering.linker.listing import listing
from meshloom.support.errors import MeshloomError
from meshloom.tools import objdump as objdump_tool
from meshloom.tools import run as run_tool
from meshloom.tools.api import compile
from meshloom.tools.read_module import read_module
from meshloom.tools.tensor_files import random_inputs

EXTREMES = (-1, 0, 1, 3, 255, 1 << 16, (1 << 31) - 1, 1 << 32, 1 << 40, 1 << 48, (1 << 63) - 1)
SHAPES = ((), (0,), (1 << 40, 0), (0, 1 << 62), (1,) * 300, (1 << 31,), (2, 2, 2))
NETWORK = """
func.func @main(%x: tensor<2x3xf32> {dataflow.name = "x"}) -> (tensor<2x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<3x4xf32>
  %0 = dataflow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
"""


@pytest.fixture(scope="module")
def executable(tmp_path_factory: pytest.TempPathFactory) -> Executable:
    path = tmp_path_factory.mktemp("network") / "net.mlir"
    path.write_text(NETWORK)
    return compile(read_module(path, {}), "tiny").executable


def headers(exe: Executable) -> Iterator[Executable]:
    """Executables with other addresses and sizes of the whole file."""
    for name in ("weights_address", "dram_bytes_used", "host_weights_address", "host_bytes_used"):
        yield from (replace(exe, **{name: value}) for value in EXTREMES if value >= 0)


def tensors(exe: Executable) -> Iterator[Executable]:
    """Executables with other numbers in the tensor table."""
    for at, tensor in enumerate(exe.tensors):
        near = [tensor.nbytes + step for step in (-4, -1, 1, 4)]
        changed = [replace(tensor, **{n: v}) for n in ("dram_address", "nbytes", "host_address") for v in EXTREMES]
        changed += [replace(tensor, nbytes=size) for size in near]
        changed += [replace(tensor, dtype=code) for code in range(17)]
        changed += [replace(tensor, shape=shape, nbytes=size) for shape in SHAPES for size in (0, tensor.nbytes, 8)]
        for one in changed:
            yield replace(exe, tensors=[*exe.tensors[:at], one, *exe.tensors[at + 1 :]])


def chips(exe: Executable) -> Iterator[Executable]:
    """Executables with other numbers in the chip's description."""
    for field in fields(exe.chip):
        if type(getattr(exe.chip, field.name)) is int:
            for value in EXTREMES:
                yield replace(exe, chip=replace(exe.chip, **{field.name: value}))


def controller(exe: Executable) -> Iterator[Executable]:
    """Executables with other numbers in the controller's words, the only ones that access host memory."""
    for name in ("op", "imm", "addr", "desc"):
        for at in np.ndindex(exe.controller[name].shape):
            for value in (0, 1, 255, 1 << 15, (1 << 32) - 1):
                if value <= np.iinfo(exe.controller[name].dtype).max:
                    words = exe.controller.copy()
                    words[name][at] = value
                    yield replace(exe, controller=words)


PARTS = {"headers": headers, "tensors": tensors, "chips": chips, "controller": controller}


def unchanged(exe: Executable) -> Executable:
    """A replacement for the writer's check, which rejects some chips."""
    return exe


def image(exe: Executable) -> bytes | None:
    """The file of an executable, unchecked; None if the format cannot represent its numbers."""
    with patch.object(file, "check_executable"), patch.object(file, "_normal", unchanged):
        try:
            return to_bytes(exe)
        except (OverflowError, ValueError, file.struct.error):
            return None


@pytest.mark.parametrize("part", PARTS)
def test_every_number_is_checked(part: str, executable: Executable) -> None:
    refused = 0
    for changed in PARTS[part](executable):
        if (data := image(changed)) is None:
            continue
        try:
            exe = from_bytes(data)
            assert "\n".join(listing(exe))
            results = run_functional(exe, random_inputs(exe.inputs, 0), check=True)
            assert {t.name: t.shape for t in exe.outputs} == {n: v.shape for n, v in results.outputs.items()}
            run_timing(exe)
        except MeshloomError:
            refused += 1
    assert refused


def test_an_output_whose_bytes_are_not_whole_elements(
    executable: Executable, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tensors = tuple(replace(one, nbytes=35) if one.name == "y" else one for one in executable.tensors)
    data = image(replace(executable, tensors=tensors))
    assert data is not None
    path = tmp_path / "damaged.mlx"
    path.write_bytes(data)
    for tool, options in ((run_tool, ["--random", "0"]), (objdump_tool, [])):
        assert tool.main([str(path), *options]) == 2
        assert "tensor 'y': an output of 8 elements takes 32 bytes, not 35" in capfd.readouterr().err
