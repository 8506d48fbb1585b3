"""
Tests of files that tools write: completely or not at all, and never over an input, another result, a link or a device.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from meshloom.support.errors import InputError, MeshloomError
from meshloom.support.files import all_or_none, write_atomically
from meshloom.tools import assemble, compile, map, objdump, opt, plan, run
from meshloom.tools.cli import check_folders, make_parser


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("far") / "file")
    write_atomically(link, "text")
    assert link.is_symlink()
    assert (tmp_path / "far" / "file").read_text() == "text"
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["file"]


def test_a_link_to_a_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder")
    with pytest.raises(MeshloomError, match="cannot write"):
        write_atomically(link, "text")
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]


def test_files_appear_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "two").write_text("before")

    def write() -> None:
        with all_or_none():
            write_atomically(tmp_path / "one", "text")
            write_atomically(tmp_path / "two", "after")
            write_atomically(tmp_path / "no folder" / "three", "text")

    with pytest.raises(MeshloomError, match=r"cannot write .*three"):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["two"]
    assert (tmp_path / "two").read_text() == "before"
    with all_or_none():
        write_atomically(tmp_path / "one", "text")
        write_atomically(tmp_path / "two", "after")
        assert not (tmp_path / "one").exists()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "text", "two": "after"}


def test_no_statistics_are_written_if_the_trace_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.mlir").write_text(
        "func.func @main(%x : tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}\n"
    )
    net = str(tmp_path / "net.mlx")
    assert compile.main([str(tmp_path / "net.mlir"), "--chip", "tiny", "-o", net, "-q"]) == 0
    stats, trace = tmp_path / "stats.json", tmp_path / ("t" * 254)
    assert run.main([net, "--random", "0", "--stats", str(stats), "--trace", str(trace)]) == 1
    assert "cannot write" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.mlir", "net.mlx"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "text")
    reader.join()
    assert got == ["text"]
    assert pipe.is_fifo()


def test_results_must_have_different_files(tmp_path: Path) -> None:
    one, null = tmp_path / "one", Path("/dev/null")
    check_folders(one, tmp_path / "two", None, null, null, inputs=[tmp_path / "three", None])
    with pytest.raises(InputError, match="one cannot be written, it is given for two outputs"):
        check_folders(one, tmp_path / "." / "one")
    with pytest.raises(InputError, match="one cannot be written, it is also an input"):
        check_folders(one, inputs=[one])
    with pytest.raises(InputError, match="there is no folder"):
        check_folders(tmp_path / "no" / "file")
    with pytest.raises(InputError, match="is a folder"):
        check_folders(tmp_path)


def test_tools_do_not_overwrite_their_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").write_text("kept")
    for main, arguments in (
        (assemble.main, ["in", "-o", "in"]),
        (objdump.main, ["in", "-o", "in"]),
        (objdump.main, ["in", "-o", "x", "--weights-file", "x"]),
        (map.main, ["in", "--mesh", "2x2", "-o", "in"]),
        (map.main, ["in", "--mesh", "2x2", "-o", "x", "--text", "x"]),
        (plan.main, ["in", "--units", "--stats", "in"]),
    ):
        assert main(arguments) == 2, arguments
        error = capsys.readouterr().err
        assert "cannot be written" in error
        assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert Path("in").read_text() == "kept"


def test_numbers_beyond_64_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("ring.npz", indptr=[0, 2, 4, 6], indices=[1, 2, 0, 2, 0, 1])
    common = ["ring.npz", "--mesh", "2x2", "-o", "map.npy"]
    for option in ("--capacity", "--max-vertices", "--max-edges"):
        assert map.main([*common, option, str(10**30)]) == 2
        assert "at most 2^62" in capsys.readouterr().err
    assert map.main([*common, "--array", "2x1", "--link-cost", str(10**30)]) == 2
    assert "expected at most 1,048,576 hops" in capsys.readouterr().err
    assert not Path("map.npy").exists()


def test_a_negative_seed_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.mlir"
    source.write_text("builtin.module {}")
    assert opt.main([str(source), "--check-semantics", "--seed", "-1"]) == 2
    assert capsys.readouterr().err == "error: --seed -1: expected 0 or more\n"


def test_an_interrupt_within_kernels(tmp_path: Path) -> None:
    source = """
import signal, sys
import numpy as np
from numba import njit
from meshloom.support.files import open_atomically
from meshloom.tools.cli import run_tool

signal.signal(signal.SIGINT, signal.default_int_handler)

@njit
def kernel(values):
    return values[::-1].copy(), values.sum()

def body():
    values = np.arange(1000)
    kernel(values)
    with open_atomically("out"):
        print("begun", flush=True)
        while True:
            kernel(values)

sys.exit(run_tool(body))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "error: interrupted\n")
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_examples_in_a_help_text_are_aligned() -> None:
    text = make_parser("tool", "Does.", "\n  tool one\n  tool two\n").format_help()
    assert "examples:\n  tool one\n  tool two\n" in text


def test_a_dash_stands_for_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.mlir").write_text("builtin.module {\n}\n")
    assert opt.main(["empty.mlir", "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("builtin.module")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.mlir"]
