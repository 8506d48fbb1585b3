"""Tests of compression to each format in executables: results against the interpreter, and peaks of DRAM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.memory import formats
from meshloom.emulator.reports.device_memory import device_memory
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.compile import main as compile_main
from meshloom.tools.read_module import read_module
from xdsl.dialects.builtin import ModuleOp

ROWS, WIDTH, COPIES = 64, 48, 5
TYPE = f"tensor<{ROWS}x{WIDTH}xf32>"
BYTES = ROWS * WIDTH * 4


def values() -> np.ndarray:
    """Random bit patterns in one half, normally distributed numbers in the other."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, (ROWS // 2, WIDTH), np.uint64).astype(np.uint32).view(np.float32)
    return np.concatenate([bits, rng.standard_normal((ROWS // 2, WIDTH)).astype(np.float32)])


def kept(path: Path, format: formats.FloatFormat, count: int, swapped: bool = False) -> ModuleOp:
    """Computes `count` tensors one by one, keeps each in the format until all are computed, and adds them up."""
    stash, away = (f"!memory.stash<{TYPE}, {space}, {format.name}>" for space in ("dram", "host"))
    sum = ""
    lines = [f'func.func @main(%x: {TYPE} {{dataflow.name = "x"}})']
    lines.append(f'    -> ({TYPE} {{dataflow.name = "y"}}) {{')
    lines.append(f"  %h0 = dataflow.neg %x : ({TYPE}) -> {TYPE}")
    for n in range(count):
        lines += [
            f"  %h{n + 1} = dataflow.mul %h{n}, %x : ({TYPE}, {TYPE}) -> {TYPE}",
            f"  %c{n}, %t{n} = memory.compress %h{n} : {TYPE} to {stash}",
        ]
        if swapped:
            lines.append(f"  %o{n}, %u{n} = memory.swap_out %c{n} : {stash} to {away}")
    for n in range(count):
        narrow = f"%c{n}"
        if swapped:
            lines.append(f"  %i{n}, %v{n} = memory.swap_in %o{n} : {away} to {stash}")
            narrow = f"%i{n}"
        after = f" after(%q{n - 1})" if n else ""
        lines.append(f"  %y{n}, %w{n} = memory.decompress {narrow}{after} : {stash} to {TYPE}")
        sum = "%y0"
        if n:
            sum, before = f"%z{n}", f"%z{n - 1}" if n > 1 else "%y0"
            lines.append(f"  {sum} = dataflow.add {before}, %y{n} : ({TYPE}, {TYPE}) -> {TYPE}")
        lines.append(f"  %q{n} = memory.completion {sum} : {TYPE}")
    lines.append(f"  func.return {sum} : {TYPE}")
    path.write_text("\n".join([*lines, "}"]))
    return read_module(path, {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache of compiled launches."""
    return tmp_path_factory.mktemp("cache")


def compiled(module: ModuleOp, folder: Path) -> CompiledNetwork:
    return compile(module, "tiny", subgraphs=SubgraphOptions(cache=folder))


@pytest.mark.parametrize("swapped", [False, True], ids=["in DRAM", "at the host"])
@pytest.mark.parametrize("format", formats.FLOATS)
def test_results_equal_those_of_the_interpreter(
    format: formats.FloatFormat, swapped: bool, folder: Path, tmp_path: Path
) -> None:
    for count in (1, 3):
        module = kept(tmp_path / "kept.mlir", format, count, swapped)
        inputs = {"x": values()}
        expected = run_main(module, inputs)["y"]
        result = compiled(module, folder).run(inputs, check=True).outputs["y"]
        np.testing.assert_array_equal(result, expected)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result)[number], np.signbit(expected)[number])
        if count == 1:
            # The error is within the bound of the format, too.
            within = np.abs(values()) <= format.largest
            exact = values()[within].astype(np.float64)
            error = np.abs(-exact - result[within])
            assert (error <= np.maximum(format.relative_error * np.abs(exact), format.least / 2)).all()


@pytest.mark.parametrize(
    "format",
    [formats.FLOATS[0], *(pytest.param(format, marks=pytest.mark.slow) for format in formats.FLOATS[1:])],
)
def test_peak_falls_by_the_factor_of_compression(format: formats.FloatFormat, folder: Path, tmp_path: Path) -> None:
    """Two programs differ in the number of compressed tensors: their peaks differ by the bytes of these tensors."""
    peaks: list[int] = []
    for count in (3, 3 + COPIES):
        network = compiled(kept(tmp_path / "kept.mlir", format, count), folder)
        memory = device_memory(network.executable, network.timing)
        assert memory is not None
        assert memory.peak == network.report["memory"]["peak_bytes"]
        peaks.append(memory.peak)
    assert peaks[1] - peaks[0] == COPIES * BYTES * format.nbytes // 4


def test_cores_convert_with_one_instruction_an_element(folder: Path, tmp_path: Path) -> None:
    """Conversions to and from f24 and f8 are casts of the vector unit."""
    from meshloom.lowering.linker.listing import listing

    for format in (formats.F24, formats.F8E4M3, formats.F8E5M2):
        text = "\n".join(listing(compiled(kept(tmp_path / "kept.mlir", format, 1), folder).executable))
        assert f"mov f32 -> {format.name} " in text
        assert f"mov {format.name} -> f32 " in text


def test_an_unknown_format_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(tmp_path / "kept.mlir", formats.F16, 1)
    options = ["--chip", "tiny", "--budget", "1e6", "--save", "compress", "--compress-to", "f12", "-q"]
    assert compile_main([str(tmp_path / "kept.mlir"), *options, "-o", str(tmp_path / "kept.mlx")]) == 2
    assert "--compress-to f12: expected one of f16, bf16, f24, f8e4m3, f8e5m2" in capsys.readouterr().err
    assert not (tmp_path / "kept.mlx").exists()
