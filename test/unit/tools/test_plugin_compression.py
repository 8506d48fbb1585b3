"""Tests of formats of plug-ins for compressed tensors: planned, converted by cores, of the declared size."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SATURATION = Path(__file__).parents[3] / "examples" / "plugin" / "saturation"
PLUGIN = ["--plugin", SATURATION]
TENSOR = "tensor<16x24xf32>"
STASH, AWAY = (f"!memory.stash<{TENSOR}, {space}, byte_to_six>" for space in ("dram", "host"))

KEPT = f"""
func.func @main(%x: {TENSOR} {{dataflow.name = "x"}}) -> ({TENSOR} {{dataflow.name = "y"}}) {{
  %h = dataflow.neg %x : ({TENSOR}) -> {TENSOR}
  %c, %t = memory.compress %h : {TENSOR} to {STASH}
  %o, %u = memory.swap_out %c : {STASH} to {AWAY}
  %i, %v = memory.swap_in %o : {AWAY} to {STASH}
  %y, %w = memory.decompress %i : {STASH} to {TENSOR}
  func.return %y : {TENSOR}
}}
"""


def chain(count: int) -> str:
    """A chain of products that are clipped to 0 to 6, and are read again in the opposite order."""
    type = "tensor<64x64xf32>"
    arguments = ", ".join(f'%{name}: {type} {{dataflow.name = "{name}"}}' for name in "xw")
    lines = [f'func.func @main({arguments}) -> ({type} {{dataflow.name = "y"}}) {{']
    for name, value in (("low", "0.0"), ("high", "6.0")):
        lines.append(f"  %{name} = dataflow.constant dense<{value}> : tensor<f32>")
    last = "%x"
    for n in range(count):
        lines += [
            f"  %m{n} = dataflow.matmul {last}, %w : ({type}, {type}) -> {type}",
            f"  %a{n} = dataflow.maximum %m{n}, %low : ({type}, tensor<f32>) -> {type}",
            f"  %h{n} = dataflow.minimum %a{n}, %high : ({type}, tensor<f32>) -> {type}",
        ]
        last = f"%h{n}"
    for n in reversed(range(count - 1)):
        lines.append(f"  %s{n} = dataflow.matmul {last}, %h{n} : ({type}, {type}) -> {type}")
        last = f"%s{n}"
    return "\n".join([*lines, f"  func.return {last} : {type}", "}"])


def test_values_are_rounded_as_the_format_declares(start: Run, tmp_path: Path) -> None:
    """Values between steps, half-way between them, and out of range are rounded as the format declares."""
    (tmp_path / "net.mlir").write_text(KEPT)
    x = np.random.default_rng(0).normal(0, 4, (16, 24)).astype(np.float32)
    x[0, :6] = [np.inf, -np.inf, 0.0, -0.0, 1e-9, -3.0]
    x[1] = -(np.arange(24) + 0.5) * 6 / 255
    np.save(tmp_path / "x.npy", x)
    compiled = start("meshloom-compile", "net.mlir", *PLUGIN, "--chip", "tiny", "-q", "-o", "net.mlx")
    assert compiled.returncode == 0, compiled.stderr
    # The conversions are built-in instructions of the chip: the executable runs without the plug-in.
    ran = start("meshloom-run", "net.mlx", "--input", "x=x.npy", "--output", "out", "--validate", "-q")
    assert ran.returncode == 0, ran.stderr
    expected = np.clip(np.rint(-x * np.float32(255 / 6)), 0, 255).astype(np.float32) * np.float32(6 / 255)
    assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), expected)


@pytest.mark.slow
def test_a_budget_is_kept_with_the_format(start: Run, tmp_path: Path) -> None:
    """
    Tensors of 16,384 bytes are compressed to 4,096 to keep a budget; the results are those of the planned module.

    The rounded values are sums of integers, so that the order of additions does not change the rounding.
    """
    (tmp_path / "net.mlir").write_text(chain(6))
    random = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", random.integers(0, 7, (64, 64)).astype(np.float32))
    np.save(tmp_path / "w.npy", random.integers(-1, 2, (64, 64)).astype(np.float32))
    options = "kinds=compress format=byte_to_six launch-bytes=49200 budget=80000"
    passes = f"memory-insert-offload{{chip=tiny {options}}}"
    planned = start("meshloom-opt", "net.mlir", *PLUGIN, "-p", passes, "-o", "saved.mlir")
    assert planned.returncode == 0, planned.stderr
    text = (tmp_path / "saved.mlir").read_text()
    assert text.count("memory.compress") == text.count("memory.decompress") >= 2
    compiled = start("meshloom-compile", "saved.mlir", *PLUGIN, "--chip", "tiny", "-o", "net.mlx")
    assert compiled.returncode == 0, compiled.stderr
    inputs = ["--input", "x=x.npy", "--input", "w=w.npy"]
    ran = start("meshloom-run", "net.mlx", *PLUGIN, *inputs, "--check", "saved.mlir", "-q")
    assert ran.returncode == 0, ran.stderr


def test_without_the_plugin(start: Run, tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text(KEPT)
    ran = start("meshloom-opt", "net.mlir")
    assert ran.returncode == 2
    assert "expected f16, bf16, f24, f8e4m3, f8e5m2" in ran.stderr
