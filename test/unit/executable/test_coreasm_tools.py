"""The tools that print, assemble and compile modules of the `coreasm` dialect."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from meshloom.dialects.weight_references import externalise
from meshloom.emulator.executable.executable import Executable, to_bytes, write_executable
from meshloom.formats.weights import STORE
from meshloom.lowering.executable_to_coreasm import executable_to_coreasm
from meshloom.tools import assemble, objdump, opt
from meshloom.tools import compile as compile_tool

Make = Callable[[], Executable]


@pytest.fixture
def dumped(sample: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an executable `a.mlx` and its module `a.mlir`."""
    monkeypatch.setattr(STORE, "search_path", [])
    exe = sample()
    random = np.random.default_rng(0).integers(256, size=500, dtype=np.uint8)  # cannot be compressed
    exe.host_weights, exe.host_weights_address = random, 128
    write_executable(exe, tmp_path / "a.mlx")
    assert objdump.main([str(tmp_path / "a.mlx"), "--mlir", "-o", str(tmp_path / "a.mlir")]) == 0
    return tmp_path


def test_objdump_and_assemble_give_the_same_bytes(dumped: Path, sample: Make) -> None:
    """Data that are compressed in the file are in the text, others are references into the file."""
    text = (dumped / "a.mlir").read_text()
    assert 'coreasm.data host 0x80 {source = "a.mlx"' in text
    assert f'coreasm.bytes dram {sample().weights_address:#x} "{bytes(sample().weights).hex()}"' in text
    assert sorted(path.name for path in dumped.iterdir()) == ["a.mlir", "a.mlx"]
    for tool in (assemble, compile_tool):
        assert tool.main([str(dumped / "a.mlir"), "-o", str(dumped / "b.mlx")]) == 0
        assert (dumped / "b.mlx").read_bytes() == (dumped / "a.mlx").read_bytes()
        (dumped / "b.mlx").unlink()


def test_data_are_found_beside_the_text(dumped: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Data are found beside a module after both were copied to another folder, and beside a module written with -o."""
    other = tmp_path_factory.mktemp("other")
    for name in ("a.mlir", "a.mlx"):
        shutil.copy(dumped / name, other / name)
    assert opt.main([str(other / "a.mlir"), "-p", "coreasm-unpack", "-o", str(other / "unpacked.mlir")]) == 0
    assert assemble.main([str(other / "unpacked.mlir"), "-o", str(other / "b.mlx")]) == 0
    assert (other / "b.mlx").read_bytes() == (dumped / "a.mlx").read_bytes()


def test_a_module_in_another_folder_refers_to_the_data(dumped: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A module written to another folder refers to its data by path, even if a file there has the same name."""
    other = tmp_path_factory.mktemp("other")
    (other / "a.mlx").write_bytes(b"another")
    assert opt.main([str(dumped / "a.mlir"), "-o", str(other / "b.mlir")]) == 0
    STORE.search_path.clear()  # as in a new process
    assert assemble.main([str(other / "b.mlir"), "-o", str(other / "b.mlx")]) == 0
    assert (other / "b.mlx").read_bytes() == (dumped / "a.mlx").read_bytes()


def test_data_in_memory_are_written_to_a_side_file(
    sample: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exe = sample()
    module = executable_to_coreasm(exe)
    side = tmp_path / "m.mlir.weights"
    assert externalise(module, side, side.name) == exe.weight_bytes
    assert side.read_bytes() == exe.weights
    (tmp_path / "m.mlir").write_text(str(module))
    monkeypatch.setattr(STORE, "_memory", {})  # as in a new process
    assert assemble.main([str(tmp_path / "m.mlir"), "-o", str(tmp_path / "m.mlx")]) == 0
    assert (tmp_path / "m.mlx").read_bytes() == to_bytes(exe)


def test_same_name_in_two_folders(sample: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules in two folders whose data files have the same name each read their own file, in one process."""
    monkeypatch.setattr(STORE, "search_path", [])
    modules: dict[Path, Executable] = {}
    for number in range(2):
        exe = sample()
        exe.weights = bytes([number]) * 1280
        folder = tmp_path / str(number)
        folder.mkdir()
        write_executable(exe, folder / "a.mlx")
        assert objdump.main([str(folder / "a.mlx"), "--mlir", "-o", str(folder / "a.mlir")]) == 0
        modules[folder] = exe
    for folder, exe in [*modules.items(), *modules.items()]:
        assert assemble.main([str(folder / "a.mlir"), "-o", str(folder / "b.mlx")]) == 0
        assert (folder / "b.mlx").read_bytes() == to_bytes(exe)


def test_changed_or_missing_data_are_refused(dumped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (dumped / "a.mlir").read_text()
    (dumped / "c.mlir").write_text(text.replace('"a.mlx"', '"none.mlx"'))
    assert assemble.main([str(dumped / "c.mlir"), "-o", str(dumped / "b.mlx")]) == 2
    assert "none.mlx is missing" in capsys.readouterr().err
    changed = bytearray((dumped / "a.mlx").read_bytes())
    changed[-1] ^= 1
    (dumped / "a.mlx").write_bytes(changed)
    assert assemble.main([str(dumped / "a.mlir"), "-o", str(dumped / "b.mlx")]) == 2
    assert "has changed" in capsys.readouterr().err
    assert not (dumped / "b.mlx").exists()


@pytest.mark.parametrize(
    ("tool", "options", "message"),
    [
        (assemble, ["--weights", "a.mlx"], "--weights applies to listings only"),
        (compile_tool, ["--chip", "edge"], "is for chip 'tiny': it cannot be assembled for 'edge'"),
        (compile_tool, ["--sparse"], "is at level 'coreasm': --sparse applies to higher levels only"),
        (compile_tool, ["--budget", "0.5"], "--budget applies to higher levels only"),
    ],
)
def test_invalid_options_are_refused(
    dumped: Path, tool: object, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [str(dumped / "a.mlx") if option == "a.mlx" else option for option in options]
    assert tool.main([str(dumped / "a.mlir"), "-o", str(dumped / "b.mlx"), *options]) == 2  # pyright: ignore
    assert message in capsys.readouterr().err
    assert not (dumped / "b.mlx").exists()


def test_other_modules_are_refused(dumped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (dumped / "net.mlir").write_text("func.func @main() {\n  func.return\n}\n")
    assert assemble.main([str(dumped / "net.mlir"), "-o", str(dumped / "b.mlx")]) == 2
    assert "has no 'coreasm.controller'" in capsys.readouterr().err
    assert compile_tool.main([str(dumped / "net.mlir"), "-o", str(dumped / "b.mlx")]) == 2
    assert "does not name its chip" in capsys.readouterr().err
    assert objdump.main([str(dumped / "a.mlx"), "--mlir", "--no-weights"]) == 2
    assert "--mlir prints the whole executable" in capsys.readouterr().err
